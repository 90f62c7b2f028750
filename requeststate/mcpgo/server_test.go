package mcpgo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
)

const (
	frozen   = `{"code":-32603,"message":"Invalid or expired requestState"}`
	internal = `{"code":-32603,"message":"Internal error"}`
)

// newServer serves the world's handler behind the middleware, with prompts and a resource.
func newServer(t *testing.T, w *mrtrtest.World, opts ...mcpgo.Option) *server.MCPServer {
	opts = append(opts, mcpgo.SingleUse(mrtrtest.SingleUse...), mcpgo.SingleRedemption(mrtrtest.SingleRedemption...),
		mcpgo.WithLogger(w.Logger))
	protect, err := mcpgo.Protect(w.Sealer, bearerUser, opts...)
	require.NoError(t, err)
	s := server.NewMCPServer("test", "1", server.WithRecovery(), protect, server.WithElicitation(),
		server.WithToolCapabilities(true), server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, true))
	for _, name := range mrtrtest.Tools {
		s.AddTool(mcp.NewTool(name), tool(w))
	}
	s.AddPrompt(mcp.NewPrompt("plain"), prompt(w))
	s.AddResource(mcp.NewResource("test://r", "r"), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text := "read"
		if len(r.Params.InputResponses) > 0 || r.Params.RequestState != "" {
			text = "read with answers"
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://r", Text: text}}, nil
	})
	return s
}

type userKey struct{}

// bearerUser takes the bearer token for the name of a user; in the process there is no header, and the context has it.
func bearerUser(ctx context.Context, r mcpgo.Request) (string, error) {
	if user, ok := ctx.Value(userKey{}).(string); ok {
		return user, nil
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), nil
}

func tool(w *mrtrtest.World) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := req.Params
		out, err := w.Handle(ctx, mrtrtest.Input{Tool: p.Name, Arguments: p.RawArguments, State: p.RequestState,
			Answers: func() map[string]string { return actions(p.InputResponses) }})
		if err != nil {
			return nil, err
		}
		if out.Ask != nil {
			return questions(out).ToolResult(), nil
		}
		res := mcp.NewToolResultText(out.Text)
		res.RequestState = out.State
		return res, nil
	}
}

func prompt(w *mrtrtest.World) server.PromptHandlerFunc {
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		p := req.Params
		out, err := w.Handle(ctx, mrtrtest.Input{Tool: p.Name, State: p.RequestState,
			Answers: func() map[string]string { return actions(p.InputResponses) }})
		if err != nil {
			return nil, err
		}
		if out.Ask != nil {
			return questions(out).PromptResult(), nil
		}
		return mcp.NewGetPromptResult(out.Text, nil), nil
	}
}

func actions(answers mcp.InputResponses) map[string]string {
	all := make(map[string]string)
	for key := range answers {
		all[key] = "another kind"
		if e := server.ElicitationResponse(answers, key); e != nil {
			all[key] = string(e.Action)
		}
	}
	return all
}

func questions(out mrtrtest.Output) *server.InputRequestBuilder {
	b := server.NewInputRequestBuilder(out.State)
	for key, kind := range out.Ask {
		switch kind {
		case mrtr.Elicitation:
			b.Elicit(key, mcp.ElicitationParams{Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
		case mrtr.Roots:
			b.Roots(key)
		}
	}
	return b
}

// httpServer serves clients of all protocol versions.
type httpServer struct{ *httptest.Server }

func serveHTTP(t *testing.T, s *server.MCPServer) httpServer {
	h := httptest.NewServer(server.NewStreamableHTTPServer(s))
	t.Cleanup(h.Close)
	return httpServer{h}
}

func (h httpServer) Do(ctx context.Context, user, method string, params map[string]any) (mrtrtest.Response, error) {
	return mrtrtest.Post(ctx, h.URL, user, method, params)
}

func (h httpServer) Legacy(ctx context.Context, user string, params map[string]any) (r mrtrtest.Response, err error) {
	headers := map[string]string{}
	if user != "" {
		headers["Authorization"] = "Bearer " + user
	}
	t, err := transport.NewStreamableHTTP(h.URL, transport.WithHTTPHeaders(headers), transport.WithHTTPBasicClient(&http.Client{}))
	if err != nil {
		return r, err
	}
	return oldClient(ctx, client.NewClient(t, accepting, client.WithLegacyProtocolOnly()), params)
}

// memoryServer is a server in the process of its client.
type memoryServer struct {
	*server.MCPServer
	ids atomic.Int64
}

func (m *memoryServer) Do(ctx context.Context, user, method string, params map[string]any) (mrtrtest.Response, error) {
	ctx = context.WithValue(ctx, userKey{}, user)
	request := transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(m.ids.Add(1)), Method: method,
		Params: mrtrtest.Modern(params, nil)}
	return send(ctx, transport.NewInProcessTransport(m.MCPServer), request)
}

func (m *memoryServer) Legacy(ctx context.Context, user string, params map[string]any) (r mrtrtest.Response, err error) {
	c, err := client.NewInProcessClientWithOptions(m.MCPServer, accepting, client.WithLegacyProtocolOnly())
	if err != nil {
		return r, err
	}
	return oldClient(context.WithValue(ctx, userKey{}, user), c, params)
}

type accepts struct{}

func (accepts) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}}, nil
}

var accepting = client.WithElicitationHandler(accepts{})

// oldClient calls a tool as a client of 2025-11-25 that accepts everything it is asked.
func oldClient(ctx context.Context, c *client.Client, params map[string]any) (r mrtrtest.Response, err error) {
	if err := c.Start(ctx); err != nil {
		return r, err
	}
	defer c.Close()
	var initialize mcp.InitializeRequest
	initialize.Params.ProtocolVersion = "2025-11-25"
	initialize.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(ctx, initialize); err != nil {
		return r, err
	}
	return send(ctx, c.GetTransport(), transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1000)),
		Method: "tools/call", Params: params})
}

func send(ctx context.Context, t transport.Interface, request transport.JSONRPCRequest) (r mrtrtest.Response, err error) {
	res, err := t.SendRequest(ctx, request)
	if err != nil {
		return r, err
	}
	r.Result = res.Result
	if res.Error != nil {
		r.Error, err = json.Marshal(res.Error)
	}
	return r, err
}
