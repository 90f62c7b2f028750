package mcpgo_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
)

type plan struct{ Amount int }

// Typed state goes through a token, and a state of other fields asks again.
func TestTypedState(t *testing.T) {
	type later struct{ Total int }
	redeployed := false
	w := mrtrtest.NewWorld(t)
	m := serve(t, w, "plain", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if redeployed {
			if _, ok := mcpgo.State[later](ctx); ok {
				t.Error("a state of another type")
			}
		} else if s, ok := mcpgo.State[plan](ctx); ok {
			assert.Equal(t, plan{42}, s)
		}
		if answer := server.ElicitationResponse(r.Params.InputResponses, "confirm"); answer != nil {
			return mcp.NewToolResultText("done"), nil
		}
		return ask().ToolResult(), mcpgo.SetState(ctx, plan{42})
	})
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	token := a.First("plain")
	assert.Contains(t, string(a.Retry("plain", token).Result), "done")
	redeployed = true
	assert.Contains(t, string(a.Retry("plain", token).Result), "input_required")
}

func ask() *server.InputRequestBuilder {
	return server.NewInputRequestBuilder("").Elicit("confirm", mcp.ElicitationParams{Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object"}`)})
}

// A transaction spends in place of the store, once per flow.
func TestRedeemWith(t *testing.T) {
	spent := map[string]bool{}
	w := mrtrtest.NewWorld(t)
	m := serve(t, w, "plain", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.ElicitationResponse(r.Params.InputResponses, "confirm")
		switch {
		case answer == nil:
			return ask().ToolResult(), nil
		case answer.Action != mcp.ElicitationResponseActionAccept:
			return mcp.NewToolResultText("declined"), mcpgo.Waive(ctx)
		}
		err := mcpgo.RedeemWith(ctx, func(_ context.Context, use requeststate.Use) error {
			if spent[use.ID] {
				return requeststate.ErrConsumed
			}
			spent[use.ID] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		ctx, cancel := mcpgo.Effect(ctx, time.Minute)
		defer cancel()
		return mcp.NewToolResultText("done"), ctx.Err()
	}, mcpgo.SingleRedemption("plain"))
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	token := a.First("plain")
	assert.Contains(t, string(a.Retry("plain", token).Result), "done")
	assert.Equal(t, frozen, string(a.Retry("plain", token).Error))
	assert.Len(t, spent, 1)
}

// A changed question is asked again.
func TestQuestionVersion(t *testing.T) {
	version := "1"
	w := mrtrtest.NewWorld(t)
	m := serve(t, w, "plain", func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mcpgo.QuestionVersion(ctx, version)
		if len(r.Params.InputResponses) > 0 {
			return mcp.NewToolResultText("done"), nil
		}
		return ask().ToolResult(), nil
	})
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	token := a.First("plain")
	assert.Contains(t, string(a.Retry("plain", token).Result), "done")
	version = "2"
	assert.Contains(t, string(a.Retry("plain", token).Result), "input_required")
}

// Each kind of answer that an old client gives passes, as the SDK's bridge makes it: also an empty list of roots.
func TestAnswersOfTheBridge(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	rounds := 0
	m := serve(t, w, "plain", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds++
		if len(r.Params.InputResponses) == 3 {
			return mcp.NewToolResultText("done"), nil
		}
		return ask().Roots("roots").Sample("sample", mcp.CreateMessageParams{MaxTokens: 1}).ToolResult(), nil
	})
	c, err := client.NewInProcessClientWithOptions(m.MCPServer, client.WithLegacyProtocolOnly(), accepting,
		client.WithRootsHandler(accepts{}), client.WithSamplingHandler(accepts{}))
	require.NoError(t, err)
	r, err := oldClient(context.WithValue(t.Context(), userKey{}, "alice"), c, map[string]any{"name": "plain"})
	require.NoError(t, err)
	assert.Contains(t, string(r.Result), "done", "%s", r.Error)
	assert.Equal(t, 2, rounds)
}

func (accepts) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{}, nil
}

func (accepts) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "m", SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant,
		Content: mcp.TextContent{Type: "text", Text: "yes"}}}, nil
}

// AllowUnaskedAnswers is the SDK's own behaviour, and still verifies a token.
func TestAllowUnaskedAnswers(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	a := &mrtrtest.Attacker{T: t, World: w, Server: serve(t, w, "plain", tool(w), mcpgo.AllowUnaskedAnswers()), User: "alice"}
	assert.Contains(t, string(a.Retry("plain", "").Result), "done")
	assert.Equal(t, frozen, string(a.Retry("plain", "forged").Error))
}

// A prompt asks and is answered like a tool.
func TestPrompts(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	m := &memoryServer{MCPServer: newServer(t, w)}
	a := &mrtrtest.Attacker{T: t, World: w, Server: m, User: "alice"}
	params := map[string]any{"name": "plain", "arguments": map[string]any{"to": "bob"}}
	token := a.Token(m.call(t, "prompts/get", params))
	params["requestState"], params["inputResponses"] = token, mrtrtest.Answer("accept")
	assert.Contains(t, string(m.call(t, "prompts/get", params).Result), "done")
	params["arguments"] = map[string]any{"to": "eve"}
	assert.Equal(t, frozen, string(m.call(t, "prompts/get", params).Error))
}
