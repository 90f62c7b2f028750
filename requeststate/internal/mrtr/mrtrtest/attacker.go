package mrtrtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An Attacker is a client that does as it likes.
type Attacker struct {
	*World
	Server Server
	T      *testing.T
	User   string

	tokens []string
}

// arguments are those of every call that does not say otherwise. The number is beyond what a float64 holds.
const arguments = `{"card":"c-1","amount":9007199254740993}`

func params(tool, args string) map[string]any {
	return map[string]any{"name": tool, "arguments": json.RawMessage(args)}
}

// Answer is the inputResponses that answer every handler's question.
func Answer(action string) map[string]any {
	return map[string]any{"confirm": map[string]any{"action": action, "content": map[string]any{}}}
}

// send sends any request, and looks for plain state in what comes back.
func (a *Attacker) send(method string, p map[string]any) Response {
	a.T.Helper()
	r, err := a.Server.Do(a.T.Context(), a.User, method, p)
	require.NoError(a.T, err)
	assert.NotContains(a.T, string(r.Result)+string(r.Error), StateText, "plain state on the wire")
	return r
}

// First calls a tool and returns the token that the question came with.
func (a *Attacker) First(tool string) string {
	a.T.Helper()
	return a.Token(a.send("tools/call", params(tool, arguments)))
}

// Token returns the token of a question.
func (a *Attacker) Token(r Response) string {
	a.T.Helper()
	res := resultOf(a.T, r)
	require.Equal(a.T, "input_required", res.Type, "%s%s", r.Result, r.Error)
	require.NotEmpty(a.T, res.State)
	a.tokens = append(a.tokens, res.State)
	return res.State
}

// Retry accepts what was asked.
func (a *Attacker) Retry(tool, token string) Response {
	a.T.Helper()
	return a.retryWith(tool, arguments, token, Answer("accept"))
}

func (a *Attacker) retryWith(tool, args, token string, answers map[string]any) Response {
	a.T.Helper()
	p := params(tool, args)
	p["inputResponses"] = answers
	if token != "" {
		p["requestState"] = token
	}
	return a.send("tools/call", p)
}

// legacy calls a tool as an old client.
func (a *Attacker) legacy(tool string, more map[string]any) Response {
	a.T.Helper()
	p := params(tool, arguments)
	for k, v := range more {
		p[k] = v
	}
	r, err := a.Server.Legacy(a.T.Context(), a.User, p)
	require.NoError(a.T, err)
	assert.NotContains(a.T, string(r.Result)+string(r.Error), StateText, "plain state on the wire")
	assert.NotContains(a.T, string(r.Result), "requestState", "an old client got a token")
	return r
}

// leave sends a retry and goes away once the handler has redeemed.
func (a *Attacker) leave(tool, token string) {
	a.T.Helper()
	ctx, cancel := context.WithCancel(a.T.Context())
	defer cancel()
	p := params(tool, arguments)
	p["requestState"], p["inputResponses"] = token, Answer("accept")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = a.Server.Do(ctx, a.User, "tools/call", p) // it is cancelled, whatever it says
	}()
	select {
	case <-a.redeemed:
	case <-gone:
		a.T.Error("the handler did not redeem")
	}
	cancel()
	<-gone
}
