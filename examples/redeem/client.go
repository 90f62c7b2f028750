package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect returns a session of a client that leaves the retries to its caller.
func connect(ctx context.Context, at place, user string, wire io.Writer) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "redeem", Version: "1.0.0"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("the server asks in its results")
		},
	})
	transport := &mcp.StreamableClientTransport{
		Endpoint:             at.URL,
		HTTPClient:           &http.Client{Transport: &tap{token: at.Tokens[user], user: user, wire: wire}},
		DisableStandaloneSSE: true,
	}
	return client.Connect(ctx, transport, nil)
}

// tap adds the bearer token, and shows what goes over the wire.
type tap struct {
	user, token string
	wire        io.Writer // nil: nobody looks
}

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	if t.wire == nil || r.Body == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fmt.Fprintf(t.wire, "    %s → %s\n", t.user, oneLine(body))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err = io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if err := res.Body.Close(); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	fmt.Fprintf(t.wire, "    %s ← %s\n", t.user, oneLine(body))
	return res, nil
}

func oneLine(body []byte) string { return strings.Join(strings.Fields(string(body)), " ") }

// call is one tool call, and with a token the retry that accepts what was asked.
func call(ctx context.Context, s *mcp.ClientSession, tool, card, token string) (*mcp.CallToolResult, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"card": card}, RequestState: token}
	if token != "" {
		p.InputResponses = mcp.InputResponseMap{"confirm": &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}}
	}
	return s.CallTool(ctx, p)
}

// begin makes the first call and returns the token that came with the question.
func begin(ctx context.Context, s *mcp.ClientSession, tool, card string) (string, error) {
	res, err := call(ctx, s, tool, card, "")
	if err != nil {
		return "", err
	}
	if !res.NeedsInput() {
		return "", fmt.Errorf("%s asked nothing", tool)
	}
	return res.RequestState, nil
}

// redeemed sends a retry and reports whether it was accepted. A refusal is no error here; it must be the frozen one.
func redeemed(ctx context.Context, s *mcp.ClientSession, tool, card, token string) (ok bool, said string, err error) {
	res, err := call(ctx, s, tool, card, token)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		text, err := json.Marshal(refused)
		return false, string(text), err
	case err != nil:
		return false, "", err
	}
	text, err := json.Marshal(res.StructuredContent)
	return true, string(text), err
}

// outlive waits until the token of the hurried tool has expired.
func outlive(ctx context.Context) error {
	select {
	case <-time.After(1100 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
