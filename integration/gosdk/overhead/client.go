//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer adds the user's access token.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", headers["Authorization"])
	return b.next.RoundTrip(r)
}

// sdkFlow connects the SDK's own client to each variant and returns what runs a flow with it: one CallTool, in which the
// client answers the question and sends the retry by itself.
func (s *server) sdkFlow(ctx context.Context) (flow func(context.Context, string) error, stop func(), err error) {
	sessions := map[string]*mcp.ClientSession{}
	stop = func() {
		for _, session := range sessions {
			_ = session.Close()
		}
	}
	for _, variant := range variants {
		if sessions[variant], err = s.connect(ctx, variant); err != nil {
			stop()
			return nil, nil, fmt.Errorf("%s: %w", variant, err)
		}
	}
	return func(ctx context.Context, variant string) error {
		res, err := sessions[variant].CallTool(ctx, &mcp.CallToolParams{Name: "deploy", Arguments: json.RawMessage(arguments)})
		if err != nil {
			return fmt.Errorf("%s: %w", variant, err)
		}
		if text, ok := res.Content[0].(*mcp.TextContent); !ok || text.Text != "deployed" {
			return fmt.Errorf("%s: %+v", variant, res)
		}
		return nil
	}, stop, nil
}

func (s *server) connect(ctx context.Context, variant string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "overhead", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             s.url + "/" + variant,
		HTTPClient:           &http.Client{Transport: bearer{s.client.Transport}},
		DisableStandaloneSSE: true,
	}, nil)
}
