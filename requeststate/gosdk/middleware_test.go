package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// direct is the innermost handler, without the SDK around it.
func direct(w *mrtrtest.World) mcp.MethodHandler {
	return func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		return tool(w)(ctx, req.(*mcp.CallToolRequest))
	}
}

// wireError is what the client gets of err. It must be bare: the SDK knows no wrapped one.
func wireError(t *testing.T, err error) string {
	t.Helper()
	require.Error(t, err)
	require.IsType(t, (*jsonrpc.Error)(nil), err)
	text, err := json.Marshal(err)
	require.NoError(t, err)
	return string(text)
}

func protected(t *testing.T, w *mrtrtest.World, next mcp.MethodHandler, opts ...gosdk.Option) mcp.MethodHandler {
	protect, err := gosdk.Middleware(w.Sealer, append(opts, gosdk.WithLogger(w.Logger))...)
	require.NoError(t, err)
	return protect(next)
}

func TestOtherMethodsAreUntouched(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	req := &mcp.ListToolsRequest{Params: &mcp.ListToolsParams{}}
	var got mcp.Request
	handle := protected(t, w, func(_ context.Context, _ string, r mcp.Request) (mcp.Result, error) {
		got = r
		return nil, errors.New("as it is")
	}, gosdk.SingleUse("no such tool"))
	_, err := handle(t.Context(), "tools/list", req)
	require.EqualError(t, err, "as it is")
	assert.Same(t, req, got)
}

func TestNothingIsChangedInPlace(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	shared := &mcp.ReadResourceResult{
		InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, RequestState: mrtrtest.StateText,
		Cacheable: mcp.Cacheable{TTLMs: 60_000, CacheScope: "public"},
	}
	handle := protected(t, w, func(context.Context, string, mcp.Request) (mcp.Result, error) { return shared, nil })
	req := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{
		URI: "card://1", InputResponses: mcp.InputResponseMap{"roots": &mcp.ListRootsResult{}},
	}}
	res, err := handle(t.Context(), "resources/read", req)
	require.NoError(t, err)
	got := res.(*mcp.ReadResourceResult)
	assert.NotContains(t, got.RequestState, mrtrtest.StateText)
	assert.Equal(t, mcp.Cacheable{TTLMs: 0, CacheScope: "private"}, got.Cacheable)

	assert.Equal(t, mrtrtest.StateText, shared.RequestState)
	assert.Equal(t, 60_000, shared.TTLMs)
	assert.Len(t, req.Params.InputResponses, 1)
}

// strange is a result that some middleware made up.
type strange struct {
	mcp.ResultBase
	State string
}

func TestUnknownTypesAreRefused(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	handle := protected(t, w, func(context.Context, string, mcp.Request) (mcp.Result, error) { return &strange{}, nil })
	_, err := handle(t.Context(), "tools/call", request(nil, "", nil))
	assert.JSONEq(t, internal, wireError(t, err))

	_, err = handle(t.Context(), "tools/call", &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{}})
	assert.JSONEq(t, internal, wireError(t, err))
	_, err = handle(t.Context(), "resources/read", &mcp.ReadResourceRequest{})
	assert.JSONEq(t, internal, wireError(t, err))
}

func TestErrorsOfHandlers(t *testing.T) {
	own := &jsonrpc.Error{Code: -32001, Message: "my own"}
	failed := func(err error) *mcp.CallToolResult {
		var r mcp.CallToolResult
		r.SetError(err)
		return &r
	}
	for name, test := range map[string]struct {
		res  *mcp.CallToolResult
		err  error
		want string // the error on the wire; empty: passed on as it was
	}{
		"its own":                 {nil, own, ""},
		"a rejection":             {nil, fmt.Errorf("opening: %w", requeststate.ErrConsumed), frozen},
		"an outage":               {nil, requeststate.ErrUnavailable, internal},
		"a rejection as a result": {failed(requeststate.ErrStale), nil, frozen},
		"its own as a result":     {failed(errors.New("no such card")), nil, ""},
		"nothing at all":          {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			handle := protected(t, w, func(context.Context, string, mcp.Request) (mcp.Result, error) {
				return test.res, test.err
			})
			res, err := handle(t.Context(), "tools/call", request(nil, "", nil))
			if test.want != "" {
				assert.JSONEq(t, test.want, wireError(t, err))
				return
			}
			assert.Equal(t, test.err, err)
			assert.Equal(t, mcp.Result(test.res), res)
		})
	}
}

func TestAllowUnaskedAnswers(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	handle := protected(t, w, direct(w), gosdk.AllowUnaskedAnswers())
	answers := mcp.InputResponseMap{"confirm": &mcp.ElicitResult{Action: "accept"}}
	_, err := handle(t.Context(), "tools/call", request(nil, "", answers))
	require.NoError(t, err)
	assert.EqualValues(t, 1, w.Effects.Load(), "as the SDK alone would")
	_, err = handle(t.Context(), "tools/call", request(nil, "forged", answers))
	assert.JSONEq(t, frozen, wireError(t, err), "a token is verified all the same")
}

// What is added later runs outside.
func TestOrderOfMiddleware(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	var inside, outside string
	spy := func(to *string) mcp.Middleware {
		return func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if r, ok := res.(*mcp.CallToolResult); ok {
					*to = r.RequestState
				}
				return res, err
			}
		}
	}
	s := mcp.NewServer(implementation, nil)
	s.AddTool(&mcp.Tool{Name: "plain", InputSchema: anyObject}, tool(w))
	protect, err := gosdk.Middleware(w.Sealer)
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect, spy(&inside))
	s.AddReceivingMiddleware(spy(&outside))
	_, err = serveMemory(t, s).Do(t.Context(), "", "tools/call", map[string]any{"name": "plain"})
	require.NoError(t, err)
	assert.Contains(t, inside, mrtrtest.StateText)
	assert.NotContains(t, outside, mrtrtest.StateText)
	assert.NotEmpty(t, outside)
}

func TestTTLPerName(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	s := mcp.NewServer(implementation, nil)
	s.AddTool(&mcp.Tool{Name: "plain", InputSchema: anyObject}, tool(w))
	protect, err := gosdk.Middleware(w.Sealer, gosdk.TTL(time.Minute, "plain"))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	a := &mrtrtest.Attacker{T: t, World: w, Server: serveMemory(t, s)}
	token := a.First("plain")
	w.Advance(time.Minute)
	assert.Equal(t, frozen, string(a.Retry("plain", token).Error))
}
