package gosdk_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// client is the SDK's own, which accepts everything.
func client(t *testing.T, s *mcp.Server, opts *mcp.ClientSessionOptions) *mcp.ClientSession {
	there, here := mcp.NewInMemoryTransports()
	serving, err := s.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = serving.Close() })
	c := mcp.NewClient(implementation, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	session, err := c.Connect(t.Context(), here, opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestTheSDKsClient(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	session := client(t, newServer(t, w), nil)
	for _, name := range []string{"plain", "once", "redeem", "three", "versioned", "busy"} {
		before := w.Effects.Load()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"card": "c-1"}})
		require.NoError(t, err, name)
		assert.False(t, res.IsError, name)
		assert.EqualValues(t, 1, w.Effects.Load()-before, name)
	}
	res, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "plain", Arguments: map[string]string{"a": "b"}})
	require.NoError(t, err)
	assert.Equal(t, "done", res.Description)
}

// resource asks once and redeems.
func resource(w *mrtrtest.World) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.Params.InputResponses["confirm"] == nil {
			return &mcp.ReadResourceResult{
				InputRequests: sure(), RequestState: mrtrtest.StateText,
			}, nil
		}
		if req.Params.RequestState != mrtrtest.StateText {
			return nil, errors.New("not the state that was set")
		}
		if err := gosdk.Redeem(ctx); err != nil {
			return nil, err
		}
		w.Effects.Add(1)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "done"}}}, nil
	}
}

func TestResources(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	s := mcp.NewServer(implementation, &mcp.ServerOptions{
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs, c.CacheScope = 60_000, "public" },
	})
	s.AddResource(&mcp.Resource{URI: "card://1", Name: "1"}, resource(w))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "gift://{id}", Name: "gift"}, resource(w))
	protect, err := gosdk.Middleware(w.Sealer, gosdk.SingleRedemption("card://1", "gift://{id}"))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	server := serveHTTP(t, s)
	for i, uri := range []string{"card://1", "gift://7"} {
		do := func(p map[string]any) mrtrtest.Response {
			p["uri"] = uri
			r, err := server.Do(t.Context(), "alice", "resources/read", p)
			require.NoError(t, err)
			assert.NotContains(t, string(r.Result), mrtrtest.StateText)
			return r
		}
		a := &mrtrtest.Attacker{T: t, World: w}
		asked := do(map[string]any{})
		assert.Contains(t, string(asked.Result), `"ttlMs":0,"cacheScope":"private"`)
		retry := map[string]any{"requestState": a.Token(asked), "inputResponses": mrtrtest.Answer("accept")}
		assert.Contains(t, string(do(retry).Result), "done")
		assert.Equal(t, frozen, string(do(retry).Error))
		assert.EqualValues(t, i+1, w.Effects.Load())
	}
	r, err := server.Do(t.Context(), "alice", "resources/read", map[string]any{"uri": "card://2"})
	require.NoError(t, err)
	assert.NotNil(t, r.Error, "an unknown resource is the SDK's business")
}

type step struct {
	Amount int64 `json:"amount"`
}

type laterStep struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// typed asks with a state of type T and completes with it.
func typed[T any](set T) mcp.ToolHandlerFor[any, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		state, ok := gosdk.State[T](ctx)
		if !ok || req.Params.InputResponses["confirm"] == nil {
			err := gosdk.SetState(ctx, set)
			return &mcp.CallToolResult{InputRequests: sure()}, nil, err
		}
		return nil, state, nil
	}
}

func TestTypedState(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	s := mcp.NewServer(implementation, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, typed(step{Amount: 9007199254740993}))
	protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	a := &mrtrtest.Attacker{T: t, World: w, Server: serveMemory(t, s)}
	token := a.First("typed")
	assert.Contains(t, string(a.Retry("typed", token).Result), `{"amount":9007199254740993}`)

	mcp.AddTool(s, &mcp.Tool{Name: "typed"}, typed(laterStep{Amount: 1, Currency: "EUR"})) // a redeploy with another shape
	again := a.Token(a.Retry("typed", token))
	assert.Contains(t, string(a.Retry("typed", again).Result), `"currency":"EUR"`)

	for _, version := range []string{older, modern} { // the state stays in the process for an old client
		res, err := client(t, s, &mcp.ClientSessionOptions{ProtocolVersion: version}).
			CallTool(t.Context(), &mcp.CallToolParams{Name: "typed"})
		require.NoError(t, err, version)
		assert.Contains(t, res.Content[0].(*mcp.TextContent).Text, "EUR", version)
	}
}

func TestBothStates(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	handle := protected(t, w, func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "x"}, gosdk.SetState(ctx, step{})
	})
	_, err := handle(t.Context(), "tools/call", request(nil, "", nil))
	assert.JSONEq(t, internal, wireError(t, err))
	assert.Contains(t, w.Log(), "SetState")
}

// A stateless server cannot ask an old client, and a client that initializes with a version it should not know is
// taken at its word by the SDK. Neither sees plain state.
func TestVersionsThatClientsClaim(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	server := serveHTTP(t, newServer(t, w))
	asked := 0
	c := mcp.NewClient(implementation, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	transport := &mcp.StreamableClientTransport{
		Endpoint: server.stateless.URL, HTTPClient: &http.Client{Transport: bearer("alice")}, DisableStandaloneSSE: true,
	}
	session, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: older})
	require.NoError(t, err)
	defer session.Close()
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "redeem"})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), mrtrtest.StateText)
	assert.Zero(t, asked)
	assert.Zero(t, w.Effects.Load())
}

func TestRedeemWhereItCannot(t *testing.T) {
	ctx := t.Context()
	require.Error(t, gosdk.Redeem(ctx), "no middleware")
	require.Error(t, gosdk.Waive(ctx))
	require.Error(t, gosdk.SetState(ctx, 1))
	require.False(t, gosdk.QuestionVersion(ctx, "1"))

	for name, call := range map[string]func(context.Context) error{
		"first call": gosdk.Redeem,
		"another way": func(ctx context.Context) error {
			return gosdk.RedeemWith(ctx, func(context.Context, requeststate.Use) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			s := mcp.NewServer(implementation, nil)
			s.AddTool(&mcp.Tool{Name: "redeem", InputSchema: anyObject},
				func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if call(ctx) == nil {
						w.Effects.Add(1)
					}
					return &mcp.CallToolResult{}, nil
				})
			protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleRedemption("redeem"))
			require.NoError(t, err)
			s.AddReceivingMiddleware(protect)
			r, err := serveMemory(t, s).Do(t.Context(), "", "tools/call", map[string]any{"name": "redeem"})
			require.NoError(t, err)
			assert.Equal(t, internal, string(r.Error))
			assert.Contains(t, w.Log(), "Redeem on a first call")
			assert.Zero(t, w.Effects.Load())
		})
	}
}

// A session can begin as an old one and become a modern one by asking server/discover. The SDK goes by the session, and so
// does the middleware; what one request claims changes nothing.
func TestSessionThatChangesItsVersion(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	m := serveMemory(t, newServer(t, w, gosdk.WithPrincipal(metaUser)))
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	initialize := map[string]any{
		"protocolVersion": older, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "old", "version": "1"},
	}
	r, err := m.send(t.Context(), "initialize", initialize)
	require.NoError(t, err)
	require.NotNil(t, r.Result, "%s", r.Error)

	for _, name := range []string{"busy", "leaky", "plain"} { // the request says that it is modern
		r, err = m.Do(t.Context(), "alice", "tools/call", map[string]any{"name": name})
		require.NoError(t, err)
		assert.NotNil(t, r.Error, name)
		assert.NotContains(t, string(r.Error), mrtrtest.StateText)
	}
	r, err = m.Do(t.Context(), "alice", "server/discover", nil)
	require.NoError(t, err)
	require.NotNil(t, r.Result, "%s", r.Error)
	token := a.First("redeem")
	require.NotNil(t, a.Retry("redeem", token).Result)
	assert.Equal(t, frozen, string(a.Retry("redeem", token).Error))
}
