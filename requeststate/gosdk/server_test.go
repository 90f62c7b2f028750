package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

const (
	frozen   = `{"code":-32602,"message":"Invalid or expired requestState","data":{"reason":"invalid_request_state"}}`
	internal = `{"code":-32603,"message":"Internal error"}`
	modern   = "2026-07-28"
	older    = "2025-11-25"
)

var (
	implementation = &mcp.Implementation{Name: "test", Version: "1"}
	anyObject      = json.RawMessage(`{"type":"object"}`)
)

// newServer serves the world's handler with the middleware, and turns panics into errors as a careful server would.
func newServer(t *testing.T, w *mrtrtest.World, opts ...gosdk.Option) *mcp.Server {
	s := mcp.NewServer(implementation, nil)
	for _, name := range mrtrtest.Tools {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, tool(w))
	}
	s.AddPrompt(&mcp.Prompt{Name: "plain"}, prompt(w))
	opts = append(opts, gosdk.SingleUse(mrtrtest.SingleUse...), gosdk.SingleRedemption(mrtrtest.SingleRedemption...),
		gosdk.WithLogger(w.Logger))
	protect, err := gosdk.Middleware(w.Sealer, opts...)
	require.NoError(t, err)
	s.AddReceivingMiddleware(recovers, protect)
	return s
}

func recovers(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, errors.New("panic")
			}
		}()
		return next(ctx, method, req)
	}
}

func tool(w *mrtrtest.World) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := req.Params
		out, err := w.Handle(ctx, mrtrtest.Input{
			Tool: p.Name, Arguments: p.Arguments, State: p.RequestState,
			Answers: func() map[string]string { return actions(p.InputResponses) },
		})
		if err != nil {
			return nil, err
		}
		if out.Ask != nil {
			return &mcp.CallToolResult{InputRequests: questions(out.Ask), RequestState: out.State}, nil
		}
		content := []mcp.Content{&mcp.TextContent{Text: out.Text}}
		return &mcp.CallToolResult{Content: content, RequestState: out.State}, nil
	}
}

func prompt(w *mrtrtest.World) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		p := req.Params
		out, err := w.Handle(ctx, mrtrtest.Input{
			Tool: p.Name, State: p.RequestState,
			Answers: func() map[string]string { return actions(p.InputResponses) },
		})
		if err != nil || out.Ask != nil {
			return &mcp.GetPromptResult{InputRequests: questions(out.Ask), RequestState: out.State}, err
		}
		return &mcp.GetPromptResult{Description: out.Text}, nil
	}
}

func actions(answers mcp.InputResponseMap) map[string]string {
	all := make(map[string]string)
	for key, answer := range answers {
		if e, ok := answer.(*mcp.ElicitResult); ok {
			all[key] = e.Action
		} else {
			all[key] = "another kind"
		}
	}
	return all
}

func questions(ask map[string]mrtr.Kind) mcp.InputRequestMap {
	all := make(mcp.InputRequestMap)
	for key, kind := range ask {
		switch kind {
		case mrtr.Elicitation:
			all[key] = &mcp.ElicitParams{Message: "Sure?"}
		case mrtr.Roots:
			all[key] = &mcp.ListRootsParams{}
		}
	}
	return all
}

// sure is a question.
func sure() mcp.InputRequestMap {
	return mcp.InputRequestMap{"confirm": &mcp.ElicitParams{Message: "Sure?"}}
}

// oldClient calls a tool as a client of 2025-11-25 that accepts everything it is asked.
func oldClient(ctx context.Context, transport mcp.Transport, params map[string]any) (r mrtrtest.Response, err error) {
	c := mcp.NewClient(implementation, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	session, err := c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: older})
	if err != nil {
		return r, err
	}
	defer session.Close()
	text, err := json.Marshal(params)
	if err != nil {
		return r, err
	}
	var p mcp.CallToolParams
	if err := json.Unmarshal(text, &p); err != nil {
		return r, err
	}
	p.Arguments = params["arguments"] // as they are, not through float64
	res, err := session.CallTool(ctx, &p)
	var rejected *jsonrpc.Error
	switch {
	case err == nil:
		r.Result, err = json.Marshal(res)
	case errors.As(err, &rejected):
		r.Error, err = json.Marshal(rejected)
	}
	return r, err
}
