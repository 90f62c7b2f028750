// Command deploy is mcp-go's own idea of a deployment that asks first, attacked without protection and with it.
//
//	go run ./examples/deploy
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	protect, err := protection(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	nothing := func(context.Context) error { return nil }
	fmt.Fprintln(out, "The SDK alone")
	attack(ctx, client{newServer(nothing), out})
	fmt.Fprintln(out, "With mcpgo.Protect and Redeem")
	attack(ctx, client{newServer(mcpgo.Redeem, protect), out})
	return nil
}

// protection is the one line, and the sealer it needs.
func protection(logs *slog.Logger) (server.ServerOption, error) {
	key, err := requeststate.GenerateKey() // a server in production reads it: requeststate.ParseKey
	if err != nil {
		return nil, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	store, err := replay.NewMemory()
	if err != nil {
		return nil, err
	}
	sealer, err := aead.New(ring, requeststate.WithAudience("deploy"), requeststate.WithReplayStore(store))
	if err != nil {
		return nil, err
	}
	return mcpgo.Protect(sealer, user, mcpgo.SingleRedemption("deploy"), mcpgo.WithLogger(logs))
}

type userKey struct{}

// user is who calls. Behind HTTP it would be what the verified bearer token says.
func user(ctx context.Context, _ mcpgo.Request) (string, error) {
	name, _ := ctx.Value(userKey{}).(string)
	return name, nil
}

func newServer(redeem func(context.Context) error, opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("deploy", "1.0.0", opts...)
	s.AddTool(mcp.NewTool("deploy", mcp.WithString("environment", mcp.Required())), deployer(redeem))
	return s
}

// deployer asks before it acts, and resumes from the state that it handed out.
func deployer(redeem func(context.Context) error) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer := server.ElicitationResponse(r.Params.InputResponses, "confirm")
		switch {
		case answer == nil:
			environment := r.GetString("environment", "")
			question := mcp.ElicitationParams{Message: "Deploy to " + environment + "?",
				RequestedSchema: map[string]any{"type": "object"}}
			return server.NewInputRequestBuilder(environment).Elicit("confirm", question).ToolResult(), nil
		case answer.Action != mcp.ElicitationResponseActionAccept:
			return mcp.NewToolResultText("not deployed"), mcpgo.Waive(ctx)
		}
		if err := redeem(ctx); err != nil { // once per approval, just before the effect
			return nil, err
		}
		return mcp.NewToolResultText("deployed to " + r.Params.RequestState), nil
	}
}

// attack asks once, and then answers as an honest client and as others.
func attack(ctx context.Context, c client) {
	alice, bob := context.WithValue(ctx, userKey{}, "alice"), context.WithValue(ctx, userKey{}, "bob")
	state := c.call(alice, "alice asks for staging", "staging", "", false)
	c.call(alice, "alice accepts, state edited to production", "staging", "production", true)
	c.call(alice, "alice accepts, arguments changed", "production", state, true)
	c.call(bob, "bob accepts with alice's state", "staging", state, true)
	c.call(alice, "alice accepts what nobody asked", "staging", "", true)
	c.call(alice, "alice accepts", "staging", state, true)
	c.call(alice, "alice accepts once more", "staging", state, true)
}

// client sends what it likes, in the process of its server.
type client struct {
	*server.MCPServer
	out io.Writer
}

// call calls deploy, prints what came back, and returns the requestState.
func (c client) call(ctx context.Context, what, environment, state string, accept bool) string {
	params := map[string]any{
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "client", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
		},
		"name": "deploy", "arguments": map[string]any{"environment": environment},
	}
	if state != "" {
		params["requestState"] = state
	}
	if accept {
		params["inputResponses"] = map[string]any{"confirm": map[string]any{"action": "accept", "content": map[string]any{}}}
	}
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		panic(err) // it is made of strings
	}
	got, next := "nothing", ""
	switch m := c.HandleMessage(ctx, request).(type) {
	case mcp.JSONRPCError:
		got = fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	case mcp.JSONRPCResponse:
		if r, ok := m.Result.(*mcp.CallToolResult); ok && r.NeedsInput() {
			got, next = "a question", r.RequestState
		} else if ok {
			got = r.Content[0].(mcp.TextContent).Text
		}
	}
	fmt.Fprintf(c.out, "  %-42s %s\n", what, strings.TrimSpace(got))
	return next
}
