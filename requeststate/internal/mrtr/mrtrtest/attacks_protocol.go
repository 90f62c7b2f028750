package mrtrtest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// answerAttacks answer what was not asked.
var answerAttacks = []Attack{
	{Name: "answers without state", Want: Asked, Run: func(a *Attacker) Response { return a.Retry("plain", "") }},
	{Name: "answers without state, single redemption", Want: Asked, Run: func(a *Attacker) Response {
		return a.Retry("redeem", "")
	}},
	{Name: "answers with an empty state", Want: Asked, Run: func(a *Attacker) Response {
		p := params("plain", arguments)
		p["requestState"], p["inputResponses"] = "", Answer("accept")
		return a.send("tools/call", p)
	}},
	{Name: "state under another spelling", Want: Asked, Run: func(a *Attacker) Response {
		p := params("plain", arguments)
		token := a.First("plain")
		p["RequestState"], p["reque\u017ftState"], p["inputResponses"] = token, token, Answer("accept")
		return a.send("tools/call", p)
	}},
	{Name: "state that is no string", Want: Refused, Run: func(a *Attacker) Response {
		p := params("plain", arguments)
		p["requestState"], p["inputResponses"] = map[string]any{"env": "production"}, Answer("accept")
		return a.send("tools/call", p)
	}},
	{Name: "answers to another key", Want: Asked, Run: func(a *Attacker) Response {
		a.First("plain")
		return a.retryWith("plain", arguments, a.First("plain"), map[string]any{"confirmed": Answer("accept")["confirm"]})
	}},
	{Name: "answer of another kind", Want: Asked, Run: func(a *Attacker) Response {
		return a.retryWith("plain", arguments, a.First("plain"), map[string]any{"confirm": map[string]any{"roots": []any{}}})
	}},
	{Name: "answer to an older question", Want: Asked, Run: func(a *Attacker) Response {
		token := a.First("versioned")
		a.question.Store("2")
		return a.Retry("versioned", token)
	}},
	{Name: "answer to the same question", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		return a.Retry("versioned", a.First("versioned"))
	}},
}

// callAttacks send calls that no token can be made for.
var callAttacks = []Attack{
	{Name: "malformed arguments on a first call", Want: Refused, Reason: "malformed arguments", Run: func(a *Attacker) Response {
		return a.send("tools/call", params("plain", `{"card":"c-1","card":"c-2"}`))
	}},
}

// protocolAttacks use what the protocol has besides tool calls of modern clients.
var protocolAttacks = []Attack{
	{Name: "state on tools/list", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		token := a.First("once")
		r := a.send("tools/list", map[string]any{"requestState": token, "inputResponses": Answer("accept")})
		require.NotNil(a.T, r.Result) // untouched: neither refused nor spent
		require.NotNil(a.T, a.Retry("once", token).Result)
		return a.Retry("once", token)
	}},
	{Name: "state-only result", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		p := params("busy", arguments)
		p["requestState"] = a.First("busy")
		return a.send("tools/call", p)
	}},
	{Name: "state on a complete result", Want: Internal, Reason: "error", Run: func(a *Attacker) Response {
		return a.send("tools/call", params("leaky", arguments))
	}},
	{Name: "two users, one question", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		mine := a.First("plain")
		a.User = "bob"
		assert.NotEqual(a.T, mine, a.First("plain"))
		return a.Retry("plain", mine)
	}},
	{Name: "legacy client", Want: Done, Effects: 1, Run: func(a *Attacker) Response { return a.legacy("plain", nil) }},
	{Name: "legacy client, single use", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		return a.legacy("once", nil)
	}},
	{Name: "legacy client, single redemption", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		return a.legacy("redeem", nil)
	}},
	{Name: "legacy client, store is down", Want: Internal, Reason: "unavailable", Run: func(a *Attacker) Response {
		a.Store.Down.Store(true)
		return a.legacy("redeem", nil)
	}},
	{Name: "legacy client, two rounds", Want: Refused, Reason: "error", Run: func(a *Attacker) Response {
		r := a.legacy("three", nil)
		if r.Error != nil {
			assert.Contains(a.T, string(r.Error), mrtr.SecondRound)
		}
		return r
	}},
	{Name: "legacy client, complete result with state", Want: Internal, Reason: "error", Run: func(a *Attacker) Response {
		return a.legacy("leaky", nil)
	}},
	{Name: "legacy client with a forged state", Want: Frozen, Reason: "malformed", Run: func(a *Attacker) Response {
		return a.legacy("plain", map[string]any{"requestState": "env=production", "inputResponses": Answer("accept")})
	}},
	{Name: "legacy replay", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		token := a.First("redeem")
		require.NotNil(a.T, a.Retry("redeem", token).Result)
		return a.legacy("redeem", map[string]any{"requestState": token, "inputResponses": Answer("accept")})
	}},
}
