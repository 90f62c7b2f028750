package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// A client speaks MCP 2026-07-28 by hand, so that it can do what a well-behaved one does not: send a retry again.
type client struct {
	address string
	user    string
}

// A reply is what one request came to.
type reply struct {
	By     string // the server that answered
	Status int
	Result *struct {
		ResultType   string
		RequestState string
		Content      []struct{ Text string }
		IsError      bool
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// String is the reply in a few words.
func (r reply) String() string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%d %s", r.Error.Code, r.Error.Message)
	case r.Result == nil:
		return fmt.Sprintf("HTTP %d", r.Status)
	case len(r.Result.Content) > 0:
		return r.Result.Content[0].Text
	}
	return r.Result.ResultType
}

// call sends one tools/call of redeem to server, or to whichever is next if that is empty. A token makes it a retry
// that accepts.
func (c client) call(ctx context.Context, server, arguments, token string) (reply, error) {
	params := map[string]any{"name": "redeem", "arguments": json.RawMessage(arguments), "_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "fleet-client", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}},
	}}
	if token != "" {
		params["requestState"] = token
		accept := map[string]any{"action": "accept", "content": map[string]any{"ok": true}}
		params["inputResponses"] = map[string]any{"confirm": accept}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization":        "Bearer " + c.user,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "redeem", servedBy: server,
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{By: resp.Header.Get(servedBy), Status: resp.StatusCode}
	if err := json.Unmarshal(raw, &r); err != nil {
		return reply{}, fmt.Errorf("%s answered HTTP %d: %.200s", r.By, r.Status, raw)
	}
	return r, nil
}
