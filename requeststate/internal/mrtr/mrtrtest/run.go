package mrtrtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Response is the result or the error of one request, as it was on the wire.
type Response struct{ Result, Error json.RawMessage }

// A Server is a running one, with a client that sends what it is told.
type Server interface {
	// Do sends one request of a client that speaks 2026-07-28. The empty user is anonymous.
	Do(ctx context.Context, user, method string, params map[string]any) (Response, error)
	// Legacy calls a tool as an older client that supports elicitation and accepts everything. The params are the call's.
	Legacy(ctx context.Context, user string, params map[string]any) (Response, error)
}

// An Adapter is what [Run] tests.
type Adapter struct {
	// Start serves the world's handler and stops with the test.
	Start func(t *testing.T, w *World) Server
	// Frozen and Internal are the error objects on the wire.
	Frozen, Internal string
	// Limits names attacks that the SDK makes impossible to answer as the others do, and what happens.
	Limits map[string]Limit
}

// A Limit is what an SDK makes of an attack, in place of what the table says.
type Limit struct {
	Want    Outcome
	Effects int64
}

// An Outcome is what the client gets in the end.
type Outcome string

// The outcomes.
const (
	Frozen   Outcome = "the frozen rejection"
	Internal Outcome = "the internal error"
	Refused  Outcome = "an error of the SDK's own"
	Asked    Outcome = "a question"
	Done     Outcome = "done"
	Declined Outcome = "declined"
)

// An Attack is a row of the table.
type Attack struct {
	Name string
	// Run attacks, and returns the response that decides.
	Run  func(a *Attacker) Response
	Want Outcome
	// Reason is in the log, and in no response.
	Reason string
	// Effects is how many there were in the end.
	Effects int64
}

// Run has every attack made on the adapter.
func Run(t *testing.T, adapter Adapter) {
	require.NotEmpty(t, Attacks)
	for _, attack := range Attacks {
		t.Run(strings.ReplaceAll(attack.Name, " ", "-"), func(t *testing.T) {
			w := NewWorld(t)
			a := &Attacker{T: t, World: w, Server: adapter.Start(t, w), User: "alice"}
			r := attack.Run(a)
			if limit, ok := adapter.Limits[attack.Name]; ok {
				attack.Want, attack.Effects, attack.Reason = limit.Want, limit.Effects, ""
			}
			assert.Equal(t, attack.Want, a.outcome(adapter, r), "%s%s", r.Result, r.Error)
			assert.Equal(t, attack.Effects, w.Effects.Load(), "effects")
			if attack.Reason != "" {
				assert.Contains(t, w.Log(), fmt.Sprintf(`"reason":%q`, attack.Reason))
			}
			assert.NotContains(t, w.Log(), StateText, "the log has a state")
			for _, token := range a.tokens {
				assert.NotContains(t, w.Log(), token, "the log has a token")
			}
		})
	}
}

// outcome names r. Errors are compared byte for byte.
func (a *Attacker) outcome(adapter Adapter, r Response) Outcome {
	switch {
	case string(r.Error) == adapter.Frozen:
		return Frozen
	case string(r.Error) == adapter.Internal:
		return Internal
	case r.Error != nil:
		return Refused
	case resultOf(a.T, r).Type == "input_required":
		return Asked
	case strings.Contains(string(r.Result), "declined"):
		return Declined
	case strings.Contains(string(r.Result), "done"):
		return Done
	}
	return Outcome(r.Result)
}

type result struct {
	Type  string                     `json:"resultType"`
	State string                     `json:"requestState"`
	Asked map[string]json.RawMessage `json:"inputRequests"`
}

func resultOf(t testing.TB, r Response) (res result) {
	if r.Result != nil {
		require.NoError(t, json.Unmarshal(r.Result, &res), "%s", r.Result)
	}
	return res
}
