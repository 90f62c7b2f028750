package mcpgo

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

func (p *protection) tool(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round, call, err := p.begin(ctx, mrtr.Call{Method: string(mcp.MethodToolsCall), Name: req.Params.Name,
			Token: req.Params.RequestState, Request: toolCall(&req)}, req.Header)
		if err != nil {
			return nil, err
		}
		defer p.abandoned(ctx, round)()
		req.Params.InputResponses = mrtr.Filter(ctx, round, req.Params.InputResponses, kindOf)
		req.Params.RequestState = round.State()
		res, err := next(mrtr.With(ctx, round), req)
		o := mrtr.Outcome{}
		if res != nil {
			o = outcome(res.NeedsInput(), res.MultiRoundTripResult)
			o.Failed = res.IsError
		}
		token, err := p.finish(ctx, round, &call, o, err)
		if err != nil || token == "" {
			return res, err
		}
		sealed := *res // the handler may share its result
		sealed.RequestState = token
		return &sealed, nil
	}
}

func (p *protection) prompt(next server.PromptHandlerFunc) server.PromptHandlerFunc {
	return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		round, call, err := p.begin(ctx, mrtr.Call{Method: string(mcp.MethodPromptsGet), Name: req.Params.Name,
			Token: req.Params.RequestState, Request: promptGet(req.Params.Name, req.Params.Arguments)}, req.Header)
		if err != nil {
			return nil, err
		}
		defer p.abandoned(ctx, round)()
		req.Params.InputResponses = mrtr.Filter(ctx, round, req.Params.InputResponses, kindOf)
		req.Params.RequestState = round.State()
		res, err := next(mrtr.With(ctx, round), req)
		o := mrtr.Outcome{}
		if res != nil {
			o = outcome(res.NeedsInput(), res.MultiRoundTripResult)
		}
		token, err := p.finish(ctx, round, &call, o, err)
		if err != nil || token == "" {
			return res, err
		}
		sealed := *res
		sealed.RequestState = token
		return &sealed, nil
	}
}

// resource refuses every state: a resource handler of this SDK cannot have asked for anything, so no token is one of its own.
func (p *protection) resource(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
	return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		call := mrtr.Call{Method: string(mcp.MethodResourcesRead), Name: req.Params.URI}
		if err := p.check(ctx); err != nil {
			return nil, wire(p.guard.Refuse(ctx, &call, err))
		}
		if req.Params.RequestState != "" {
			return nil, wire(p.guard.Refuse(ctx, &call, requeststate.ErrRequest))
		}
		req.Params.InputResponses = nil
		return next(ctx, req)
	}
}

// abandoned returns what to defer: a record if the handler panics after it redeemed. The panic goes on.
func (p *protection) abandoned(ctx context.Context, round *mrtr.Round) func() {
	return func() {
		if v := recover(); v != nil {
			round.Abandoned(ctx)
			panic(v)
		}
	}
}

// toolCall binds the arguments as they came, integers beyond 2^53 intact. A call that was made in the process has none, and the
// handler may change the map.
func toolCall(req *mcp.CallToolRequest) func() requeststate.Binding {
	raw := req.Params.RawArguments
	if len(raw) == 0 && req.Params.Arguments != nil {
		raw, _ = json.Marshal(req.Params.Arguments) // on an error raw is empty, and the handler sees what it sees
	}
	name := req.Params.Name
	return func() requeststate.Binding { return requeststate.ToolCall(name, raw) }
}

// promptGet binds a copy of the arguments: the handler may change the map.
func promptGet(name string, arguments map[string]string) func() requeststate.Binding {
	arguments = maps.Clone(arguments)
	return func() requeststate.Binding { return requeststate.PromptGet(name, arguments) }
}

// outcome has questions if the result is an input-required one.
func outcome(needsInput bool, r mcp.MultiRoundTripResult) mrtr.Outcome {
	o := mrtr.Outcome{State: r.RequestState}
	if !needsInput {
		return o
	}
	o.Asked = make(map[string]mrtr.Kind, len(r.InputRequests))
	for key, request := range r.InputRequests {
		o.Asked[key] = mrtr.Kind(request.Method)
	}
	return o
}

// kindOf says what an answer is, by the members that one kind alone has. The SDK itself would read any answer as any kind.
func kindOf(answer mcp.InputResponse) mrtr.Kind {
	switch { // decoded by the SDK itself, for a client of an older protocol
	case answer.Elicitation != nil:
		return mrtr.Elicitation
	case answer.Sampling != nil:
		return mrtr.Sampling
	case answer.Roots != nil:
		return mrtr.Roots
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return ""
	}
	has := func(name string) bool { v, ok := members[name]; return ok && !bytes.Equal(v, []byte("null")) }
	switch {
	case has("action"):
		return mrtr.Elicitation
	case has("role") && has("content"):
		return mrtr.Sampling
	case has("roots"):
		return mrtr.Roots
	}
	return ""
}
