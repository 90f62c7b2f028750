// Package everything is a server with the tools and the prompt that the conformance suite wants of input-required
// results, on mcp-go. Its handlers know nothing of sealing: no one looks at what a requestState ends with.
package everything

import (
	"context"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const prefix = "test_input_required_result_"

// Handler returns the server, with the options, over streamable HTTP.
func Handler(opts ...server.ServerOption) http.Handler {
	opts = append(opts, server.WithToolCapabilities(true), server.WithPromptCapabilities(true), server.WithElicitation())
	s := server.NewMCPServer("everything", "1", opts...)
	for name, h := range map[string]server.ToolHandlerFunc{
		"elicitation":    asks("", mcp.InputRequests{"user_name": name()}),
		"sampling":       asks("", mcp.InputRequests{"capital_question": sample("What is the capital of France?")}),
		"list_roots":     asks("", mcp.InputRequests{"client_roots": mcp.NewRootsInputRequest()}),
		"request_state":  asks("request_state", mcp.InputRequests{"confirm": form("Please confirm", "ok", "boolean")}),
		"tampered_state": asks("tampered_state", mcp.InputRequests{"confirm": form("Please confirm", "ok", "boolean")}),
		"multiple_inputs": asks("multiple_inputs", mcp.InputRequests{
			"user_name": name(), "greeting": sample("Greet"), "client_roots": mcp.NewRootsInputRequest(),
		}),
		"multi_round":  multiRound,
		"capabilities": capabilities,
	} {
		s.AddTool(mcp.NewTool(prefix+name), h)
	}
	s.AddPrompt(mcp.NewPrompt(prefix+"prompt"), prompt)
	return server.NewStreamableHTTPServer(s)
}

func form(message, field, kind string) mcp.InputRequest {
	return mcp.NewElicitationInputRequest(mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}})
}

func name() mcp.InputRequest { return form("What is your name?", "name", "string") }

func sample(question string) mcp.InputRequest {
	return mcp.NewSamplingInputRequest(mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: mcp.NewTextContent(question)},
	}})
}

// complete reports whether every question has a usable answer.
func complete(questions mcp.InputRequests, answers mcp.InputResponses) bool {
	for key, q := range questions {
		switch q.Method {
		case mcp.MethodElicitationCreate:
			if e := server.ElicitationResponse(answers, key); e == nil || e.Action != mcp.ElicitationResponseActionAccept || e.Content == nil {
				return false
			}
		case mcp.MethodSamplingCreateMessage:
			if server.SamplingResponse(answers, key) == nil {
				return false
			}
		case mcp.MethodListRoots:
			if server.RootsResponse(answers, key) == nil {
				return false
			}
		}
	}
	return true
}

func required(state string, questions mcp.InputRequests) *mcp.CallToolResult {
	r := server.NewInputRequestBuilder(state).ToolResult()
	r.InputRequests = questions
	return r
}

// asks is a tool of one round. Its retry must bring the state that the question went out with.
func asks(state string, questions mcp.InputRequests) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !complete(questions, req.Params.InputResponses) {
			return required(state, questions), nil
		}
		if req.Params.RequestState != state {
			return mcp.NewToolResultError(fmt.Sprintf("the state is %q", req.Params.RequestState)), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("state-ok: %d answers", len(questions))), nil
	}
}

// field is one of an accepted form's.
func field(answers mcp.InputResponses, key, name string) string {
	content, _ := server.ElicitationResponse(answers, key).Content.(map[string]any)
	return fmt.Sprint(content[name])
}

// multiRound asks twice, and keeps the first answer in the state.
func multiRound(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	first := mcp.InputRequests{"step1": form("Step 1: What is your name?", "name", "string")}
	second := mcp.InputRequests{"step2": form("Step 2: What is your favorite color?", "color", "string")}
	answers := req.Params.InputResponses
	switch {
	case complete(first, answers):
		return required(field(answers, "step1", "name"), second), nil
	case complete(second, answers):
		return mcp.NewToolResultText(req.Params.RequestState + " likes " + field(answers, "step2", "color")), nil
	}
	return required("step 1", first), nil
}

// capabilities asks only what the client says it can answer.
func capabilities(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return mcp.NewToolResultText("answered"), nil
	}
	ask := mcp.InputRequests{}
	if c := req.Params.Meta.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			ask["user_name"] = name()
		}
		if c.Sampling != nil {
			ask["greeting"] = sample("Greet")
		}
	}
	if len(ask) == 0 {
		return mcp.NewToolResultText("nothing to ask"), nil
	}
	return required("", ask), nil
}

func prompt(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	questions := mcp.InputRequests{"user_context": form("What context should the prompt use?", "context", "string")}
	if !complete(questions, req.Params.InputResponses) {
		r := server.NewInputRequestBuilder("").PromptResult()
		r.InputRequests = questions
		return r, nil
	}
	text := mcp.NewTextContent(field(req.Params.InputResponses, "user_context", "context"))
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, text)}), nil
}
