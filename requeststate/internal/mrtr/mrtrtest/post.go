package mrtrtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Post sends one request to a stateless server at url as a client that speaks 2026-07-28. The user is the bearer token.
func Post(ctx context.Context, url, user, method string, params map[string]any) (r Response, err error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": Modern(params, nil)})
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", modern)
	req.Header.Set("Mcp-Method", method)
	for _, name := range []string{"name", "uri"} {
		if value, ok := params[name].(string); ok {
			req.Header.Set("Mcp-Name", value)
		}
	}
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+user)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Error == nil && r.Result == nil {
		return r, fmt.Errorf("%s %s: %w", res.Status, text, err)
	}
	return r, nil
}

const modern = "2026-07-28"

// Modern adds to params what every request of 2026-07-28 carries, and more.
func Modern(params map[string]any, more map[string]any) map[string]any {
	all := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
	}
	for k, v := range more {
		all[k] = v
	}
	p := map[string]any{"_meta": all}
	for k, v := range params {
		p[k] = v
	}
	return p
}
