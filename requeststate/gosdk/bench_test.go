package gosdk_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// BenchmarkMiddleware is what the middleware adds to a call, without the SDK.
func BenchmarkMiddleware(b *testing.B) {
	w := mrtrtest.NewWorld(b)
	protect, err := gosdk.Middleware(w.Sealer)
	require.NoError(b, err)
	asked := &mcp.CallToolResult{InputRequests: sure(), RequestState: `{"step":1,"payee":"DE89 3704 0044 0532 0130 00","amount":12500}`}
	done := &mcp.CallToolResult{}
	handle := protect(func(_ context.Context, _ string, req mcp.Request) (mcp.Result, error) {
		p := req.(*mcp.CallToolRequest).Params
		if p.Name == "plain" && p.InputResponses == nil {
			return asked, nil
		}
		return done, nil
	})
	info := &auth.TokenInfo{UserID: "alice"}
	first := request(info, "", nil)
	res, err := handle(b.Context(), "tools/call", first)
	require.NoError(b, err)
	retry := request(info, res.(*mcp.CallToolResult).RequestState, mcp.InputResponseMap{"confirm": &mcp.ElicitResult{Action: "accept"}})
	never := request(info, "", nil)
	never.Params.Name = "asks nothing"
	for name, req := range map[string]mcp.Request{"first": first, "retry": retry, "asks nothing": never} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handle(b.Context(), "tools/call", req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
