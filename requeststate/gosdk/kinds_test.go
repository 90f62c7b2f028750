package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// Each kind of question takes its own kind of answer, whichever of the SDK's types it comes as.
func TestKindsOfAnswers(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	ask := mcp.InputRequestMap{
		"elicit": &mcp.ElicitParams{}, "sample": &mcp.CreateMessageParams{},
		"sample with tools": &mcp.CreateMessageWithToolsParams{}, "roots": &mcp.ListRootsParams{},
	}
	sample := []string{"*mcp.CreateMessageResult", "*mcp.CreateMessageWithToolsResult"}
	fit := map[string][]string{
		"elicit": {"*mcp.ElicitResult"}, "sample": sample, "sample with tools": sample, "roots": {"*mcp.ListRootsResult"},
	}
	answers := []mcp.InputResponse{
		&mcp.ElicitResult{}, &mcp.CreateMessageResult{}, &mcp.CreateMessageWithToolsResult{}, &mcp.ListRootsResult{},
	}
	var got mcp.InputResponseMap
	handle := protected(t, w, func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		got = req.(*mcp.CallToolRequest).Params.InputResponses
		return &mcp.CallToolResult{InputRequests: ask}, nil
	})
	res, err := handle(t.Context(), "tools/call", request(nil, "", nil))
	require.NoError(t, err)
	token := res.(*mcp.CallToolResult).RequestState
	for asked := range ask {
		for _, answer := range answers {
			sent := mcp.InputResponseMap{asked: answer, "other": answer}
			_, err := handle(t.Context(), "tools/call", request(nil, token, sent))
			require.NoError(t, err)
			if slices.Contains(fit[asked], fmt.Sprintf("%T", answer)) {
				assert.Equal(t, mcp.InputResponseMap{asked: answer}, got, asked)
			} else {
				assert.Empty(t, got, "%T to %s", answer, asked)
			}
		}
	}
}

// A server whose lists fail cannot be checked, so it does not serve.
func TestListsThatFail(t *testing.T) {
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		w := mrtrtest.NewWorld(t)
		s := mcp.NewServer(implementation, nil)
		protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleUse("no such tool"))
		require.NoError(t, err)
		s.AddReceivingMiddleware(protect, func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
				if m == method {
					return nil, errors.New("no lists today")
				}
				return next(ctx, m, req)
			}
		})
		r, err := serveMemory(t, s).Do(t.Context(), "", "tools/call", map[string]any{"name": "plain"})
		require.NoError(t, err)
		assert.Equal(t, internal, string(r.Error))
		assert.Contains(t, w.Log(), "no lists today")
	}
}
