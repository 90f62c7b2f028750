package gosdk

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// outbound is what a result of the three methods says.
type outbound struct {
	mrtr.Outcome
	err error // what a tool's typed handler returned
	// sealed returns a copy of the result with the token for a state: the handler may have returned a result that it
	// shares.
	sealed func(token string) mcp.Result
}

// readResult reports false for a result that is not the SDK's own.
func readResult(res mcp.Result) (out outbound, known bool) {
	switch r := res.(type) {
	case nil:
	case *mcp.CallToolResult:
		if r != nil {
			out = outbound{outcome(r.InputRequests, r.RequestState), r.GetError(), func(token string) mcp.Result {
				sealed := *r
				sealed.RequestState = token
				return &sealed
			}}
			out.Failed = r.IsError
		}
	case *mcp.GetPromptResult:
		if r != nil {
			out = outbound{outcome(r.InputRequests, r.RequestState), nil, func(token string) mcp.Result {
				sealed := *r
				sealed.RequestState = token
				return &sealed
			}}
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			out = outbound{outcome(r.InputRequests, r.RequestState), nil, func(token string) mcp.Result {
				sealed := *r
				sealed.RequestState = token
				// The question is this caller's alone, whatever the server says of its contents in SetCacheable.
				sealed.Cacheable = mcp.Cacheable{TTLMs: 0, CacheScope: "private"}
				return &sealed
			}}
		}
	default:
		return out, false
	}
	return out, true
}

// outcome has questions if the map is not nil, which is how the SDK tells an input-required result.
func outcome(requests mcp.InputRequestMap, state string) mrtr.Outcome {
	o := mrtr.Outcome{State: state}
	if requests != nil {
		o.Asked = make(map[string]mrtr.Kind, len(requests))
	}
	for key, request := range requests {
		switch request.(type) {
		case *mcp.ElicitParams:
			o.Asked[key] = mrtr.Elicitation
		case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
			o.Asked[key] = mrtr.Sampling
		case *mcp.ListRootsParams:
			o.Asked[key] = mrtr.Roots
		}
	}
	return o
}
