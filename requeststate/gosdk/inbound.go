package gosdk

import (
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// inbound is what a request of the three methods says.
type inbound struct {
	name    string // as the options name it
	token   string
	answers mcp.InputResponseMap
	bind    func() requeststate.Binding
	// plain returns a copy of the request with other state and answers. It is nil for a request of another type than the
	// SDK makes.
	plain func(state string, answers mcp.InputResponseMap) mcp.Request
}

// read reports false for other methods.
func (m *middleware) read(method string, req mcp.Request) (in inbound, ok bool) {
	switch method {
	case "tools/call":
		if r, ok := req.(*mcp.CallToolRequest); ok && r != nil && r.Params != nil {
			return toolCall(r), true
		}
	case "prompts/get":
		if r, ok := req.(*mcp.GetPromptRequest); ok && r != nil && r.Params != nil {
			return promptGet(r), true
		}
	case "resources/read":
		if r, ok := req.(*mcp.ReadResourceRequest); ok && r != nil && r.Params != nil {
			return m.resourceRead(r), true
		}
	default:
		return in, false
	}
	return in, true
}

func toolCall(r *mcp.CallToolRequest) inbound {
	p := r.Params
	return inbound{
		name: p.Name, token: p.RequestState, answers: p.InputResponses,
		bind: func() requeststate.Binding { return requeststate.ToolCall(p.Name, p.Arguments) },
		plain: func(state string, answers mcp.InputResponseMap) mcp.Request {
			params := *p
			params.RequestState, params.InputResponses = state, answers
			return &mcp.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		},
	}
}

func promptGet(r *mcp.GetPromptRequest) inbound {
	p := r.Params
	arguments := maps.Clone(p.Arguments) // the handler may change the map before a token is bound to it
	return inbound{
		name: p.Name, token: p.RequestState, answers: p.InputResponses,
		bind: func() requeststate.Binding { return requeststate.PromptGet(p.Name, arguments) },
		plain: func(state string, answers mcp.InputResponseMap) mcp.Request {
			params := *p
			params.RequestState, params.InputResponses = state, answers
			return &mcp.GetPromptRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		},
	}
}

func (m *middleware) resourceRead(r *mcp.ReadResourceRequest) inbound {
	p := r.Params
	return inbound{
		name: m.resourceName(p.URI), token: p.RequestState, answers: p.InputResponses,
		bind: func() requeststate.Binding { return requeststate.ResourceRead(p.URI) },
		plain: func(state string, answers mcp.InputResponseMap) mcp.Request {
			params := *p
			params.RequestState, params.InputResponses = state, answers
			return &mcp.ReadResourceRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		},
	}
}

// kindOf says what an answer is. The SDK decides by the answer's members.
func kindOf(answer mcp.InputResponse) mrtr.Kind {
	switch answer.(type) {
	case *mcp.ElicitResult:
		return mrtr.Elicitation
	case *mcp.CreateMessageResult, *mcp.CreateMessageWithToolsResult:
		return mrtr.Sampling
	case *mcp.ListRootsResult:
		return mrtr.Roots
	}
	return ""
}
