// Package everything is a server with the tools and the prompt that the conformance suite wants of input-required
// results, on the official Go SDK. Its handlers know nothing of sealing: no one looks at what a requestState ends
// with.
package everything

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const prefix = "test_input_required_result_"

// Handler returns the server, with the middleware around it, over streamable HTTP.
func Handler(protect ...mcp.Middleware) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "everything", Version: "1"}, nil)
	for name, h := range map[string]mcp.ToolHandlerFor[any, any]{
		"elicitation":    asks("", mcp.InputRequestMap{"user_name": name()}),
		"sampling":       asks("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?")}),
		"list_roots":     asks("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}),
		"request_state":  asks("request_state", mcp.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}),
		"tampered_state": asks("tampered_state", mcp.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}),
		"multiple_inputs": asks("multiple_inputs", mcp.InputRequestMap{
			"user_name": name(), "greeting": sample("Greet"), "client_roots": &mcp.ListRootsParams{},
		}),
		"multi_round":  multiRound,
		"capabilities": capabilities,
	} {
		mcp.AddTool(s, &mcp.Tool{Name: prefix + name}, h)
	}
	s.AddPrompt(&mcp.Prompt{Name: prefix + "prompt"}, prompt)
	s.AddReceivingMiddleware(protect...)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}

func form(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

func name() *mcp.ElicitParams { return form("What is your name?", "name", "string") }

func sample(question string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{
		{Role: "user", Content: &mcp.TextContent{Text: question}},
	}}
}

// complete reports whether every question has a usable answer.
func complete(questions mcp.InputRequestMap, answers mcp.InputResponseMap) bool {
	for key := range questions {
		answer, ok := answers[key]
		if !ok {
			return false
		}
		if e, ok := answer.(*mcp.ElicitResult); ok && (e.Action != "accept" || len(e.Content) == 0) {
			return false
		}
	}
	return true
}

// asks is a tool of one round. Its retry must bring the state that the question went out with.
func asks(state string, questions mcp.InputRequestMap) mcp.ToolHandlerFor[any, any] {
	return func(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		if !complete(questions, req.Params.InputResponses) {
			return &mcp.CallToolResult{InputRequests: questions, RequestState: state}, nil, nil
		}
		if req.Params.RequestState != state {
			return nil, nil, fmt.Errorf("the state is %q", req.Params.RequestState)
		}
		return text("state-ok: %d answers", len(questions)), nil, nil
	}
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// multiRound asks twice, and keeps the first answer in the state.
func multiRound(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	first := mcp.InputRequestMap{"step1": form("Step 1: What is your name?", "name", "string")}
	second := mcp.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color", "string")}
	answer := func(key, field string) any { return req.Params.InputResponses[key].(*mcp.ElicitResult).Content[field] }
	switch {
	case complete(first, req.Params.InputResponses):
		return &mcp.CallToolResult{InputRequests: second, RequestState: fmt.Sprint(answer("step1", "name"))}, nil, nil
	case complete(second, req.Params.InputResponses):
		return text("%s likes %s", req.Params.RequestState, answer("step2", "color")), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: first, RequestState: "step 1"}, nil, nil
}

// capabilities asks only what the client says it can answer.
func capabilities(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if len(req.Params.InputResponses) > 0 {
		return text("answered"), nil, nil
	}
	ask := mcp.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			ask["user_name"] = name()
		}
		if c.Sampling != nil {
			ask["greeting"] = sample("Greet")
		}
	}
	if len(ask) == 0 {
		return text("nothing to ask"), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: ask}, nil, nil
}

func prompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	questions := mcp.InputRequestMap{"user_context": form("What context should the prompt use?", "context", "string")}
	if !complete(questions, req.Params.InputResponses) {
		return &mcp.GetPromptResult{InputRequests: questions}, nil
	}
	content := req.Params.InputResponses["user_context"].(*mcp.ElicitResult).Content["context"]
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprint(content)}},
	}}, nil
}
