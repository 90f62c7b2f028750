package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// What both halves of the fleet agree on, besides the keys and the store.
const (
	audience = "https://giftcards.example/mcp"
	issuer   = "https://login.example"
)

// state is what round 1 leaves for round 2, whichever server that is.
type state struct {
	Asked string `json:"asked"` // the server that asked
}

var redeemTool = &mcp.Tool{
	Name:        "redeem",
	Description: "Redeem a gift card after the user has confirmed it",
	InputSchema: json.RawMessage(`{"type":"object","required":["card","amount"],
		"properties":{"card":{"type":"string"},"amount":{"type":"integer"}}}`),
}

var confirmation = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)

// newGoServer is the Go half: an MCP server over HTTP whose sealer is bound to the caller, the request and one
// redemption.
func newGoServer(sealer requeststate.Sealer) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "fleet-go", Version: "1"}, nil)
	server.AddTool(redeemTool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := redeem(ctx, sealer, req)
		if err != nil {
			code, message, data := requeststate.RPCError(err)
			// Bare, not wrapped: the SDK looks for this very type.
			return nil, &jsonrpc.Error{Code: int64(code), Message: message, Data: data}
		}
		return result, nil
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return auth.RequireBearerToken(verify, nil)(h)
}

// verify is the example's login: the bearer token is the user's name. A real server verifies an access token here.
func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
}

func redeem(ctx context.Context, sealer requeststate.Sealer, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	bind := []requeststate.Binding{
		requeststate.Principal(issuer, req.Extra.TokenInfo.UserID),
		requeststate.ToolCall(req.Params.Name, req.Params.Arguments),
		requeststate.SingleRedemption(),
	}
	if req.Params.RequestState == "" { // answers without a token are not answers to a question of ours
		token, err := requeststate.SealJSON(ctx, sealer, state{Asked: "go"}, bind...)
		if err != nil {
			return nil, err
		}
		ask := &mcp.ElicitParams{Message: "Redeem the card?", Mode: "form", RequestedSchema: confirmation}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": ask}, RequestState: token}, nil
	}
	s, opened, err := requeststate.OpenJSON[state](ctx, sealer, req.Params.RequestState, bind...)
	if err != nil {
		return nil, err
	}
	answer, ok := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return text("not redeemed"), nil
	}
	if err := opened.Redeem(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	var card struct {
		Card   string
		Amount int64
	}
	if err := json.Unmarshal(req.Params.Arguments, &card); err != nil {
		return nil, errors.New("arguments that the schema should have refused")
	}
	// The effect. It runs once for each flow, whichever server it ends at.
	return text(fmt.Sprintf("redeemed %d from %s (asked by %s, redeemed by go)", card.Amount, card.Card, s.Asked)), nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
