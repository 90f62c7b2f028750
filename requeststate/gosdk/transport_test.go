package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// httpServer is a server over streamable HTTP: stateless for modern clients, with sessions for old ones.
type httpServer struct {
	stateless, sessions *httptest.Server
}

func serveHTTP(t *testing.T, s *mcp.Server) *httpServer {
	get := func(*http.Request) *mcp.Server { return s }
	start := func(stateless bool) *httptest.Server {
		opts := &mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: stateless, PropagateRequestCancellation: true}
		server := httptest.NewServer(authenticated(mcp.NewStreamableHTTPHandler(get, opts)))
		t.Cleanup(server.Close)
		return server
	}
	return &httpServer{stateless: start(true), sessions: start(false)}
}

// authenticated verifies the bearer token if there is one. The token is the user's name.
func authenticated(h http.Handler) http.Handler {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		info := &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}
		return info, nil
	}
	known := auth.RequireBearerToken(verify, nil)(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			h.ServeHTTP(w, r)
			return
		}
		known.ServeHTTP(w, r)
	})
}

func (s *httpServer) Do(
	ctx context.Context, user, method string, params map[string]any,
) (mrtrtest.Response, error) {
	return mrtrtest.Post(ctx, s.stateless.URL, user, method, params)
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *httpServer) Legacy(ctx context.Context, user string, params map[string]any) (mrtrtest.Response, error) {
	client := &http.Client{Transport: bearer(user)}
	return oldClient(ctx, &mcp.StreamableClientTransport{Endpoint: s.sessions.URL, HTTPClient: client}, params)
}

// memoryServer is a server over the SDK's in-memory transport. The user is in the metadata.
type memoryServer struct {
	server *mcp.Server
	conn   mcp.Connection
	ids    atomic.Int64

	mu      sync.Mutex
	waiting map[any]chan *jsonrpc.Response
}

const userKey = "example.com/user"

func serveMemory(t *testing.T, s *mcp.Server) *memoryServer {
	there, here := mcp.NewInMemoryTransports()
	session, err := s.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	conn, err := here.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	m := &memoryServer{server: s, conn: conn, waiting: make(map[any]chan *jsonrpc.Response)}
	go m.read()
	return m
}

func (m *memoryServer) read() {
	for {
		msg, err := m.conn.Read(context.Background())
		if err != nil {
			return
		}
		if res, ok := msg.(*jsonrpc.Response); ok {
			m.mu.Lock()
			m.waiting[res.ID.Raw()] <- res
			m.mu.Unlock()
		}
	}
}

func (m *memoryServer) Do(
	ctx context.Context, user, method string, params map[string]any,
) (r mrtrtest.Response, err error) {
	return m.send(ctx, method, mrtrtest.Modern(params, map[string]any{userKey: user}))
}

// send sends params as they are.
func (m *memoryServer) send(ctx context.Context, method string, params map[string]any) (r mrtrtest.Response, err error) {
	id, err := jsonrpc.MakeID(float64(m.ids.Add(1)))
	if err != nil {
		return r, err
	}
	text, err := json.Marshal(params)
	if err != nil {
		return r, err
	}
	answer := make(chan *jsonrpc.Response, 1)
	m.mu.Lock()
	m.waiting[id.Raw()] = answer
	err = m.conn.Write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: text})
	m.mu.Unlock()
	if err != nil {
		return r, err
	}
	select {
	case res := <-answer:
		r.Result = res.Result
		if res.Error != nil {
			r.Error, err = json.Marshal(res.Error)
		}
		return r, err
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		cancelled, _ := json.Marshal(map[string]any{"requestId": id.Raw()})
		err = m.conn.Write(context.WithoutCancel(ctx), &jsonrpc.Request{Method: "notifications/cancelled", Params: cancelled})
		return r, errors.Join(ctx.Err(), err)
	}
}

func (m *memoryServer) Legacy(
	ctx context.Context, user string, params map[string]any,
) (r mrtrtest.Response, err error) {
	there, here := mcp.NewInMemoryTransports()
	session, err := m.server.Connect(ctx, there, nil)
	if err != nil {
		return r, err
	}
	defer session.Close()
	p := map[string]any{"_meta": map[string]any{userKey: user}}
	for k, v := range params {
		p[k] = v
	}
	return oldClient(ctx, here, p)
}

// metaUser is for gosdk.WithPrincipal: the in-memory transport has no authentication.
func metaUser(_ context.Context, req mcp.Request) (string, error) {
	user, _ := req.GetParams().GetMeta()[userKey].(string)
	return user, nil
}
