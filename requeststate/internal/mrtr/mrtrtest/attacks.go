package mrtrtest

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Attacks is the table.
var Attacks = append(append(append(tokenAttacks, replayAttacks...), answerAttacks...), protocolAttacks...)

// tokenAttacks present a token that is not good here.
var tokenAttacks = []Attack{
	{Name: "honest", Want: Done, Effects: 1, Run: func(a *Attacker) Response { return a.retry("plain", a.first("plain")) }},
	{Name: "tampered", Want: Frozen, Reason: "forged", Run: func(a *Attacker) Response {
		return a.retry("plain", flip(a.first("plain"), 60))
	}},
	{Name: "suffix", Want: Frozen, Reason: "forged", Run: func(a *Attacker) Response {
		return a.retry("plain", a.first("plain")+"-TAMPERED")
	}},
	{Name: "garbage", Want: Frozen, Reason: "malformed", Run: func(a *Attacker) Response {
		return a.retry("plain", "env=production")
	}},
	{Name: "oversized", Want: Frozen, Reason: "too large", Run: func(a *Attacker) Response {
		return a.retry("plain", strings.Repeat("A", 65<<10))
	}},
	{Name: "moved to another tool", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retry("plain2", a.first("plain"))
	}},
	{Name: "moved to a prompt", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		p := map[string]any{"name": "plain", "requestState": a.first("plain"), "inputResponses": answer("accept")}
		return a.send("prompts/get", p)
	}},
	{Name: "other argument", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retryWith("plain", `{"card":"c-2","amount":9007199254740993}`, a.first("plain"), answer("accept"))
	}},
	{Name: "integer next to it", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retryWith("plain", `{"card":"c-1","amount":9007199254740992}`, a.first("plain"), answer("accept"))
	}},
	{Name: "member twice", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retryWith("plain", `{"card":"c-2","card":"c-1","amount":9007199254740993}`, a.first("plain"), answer("accept"))
	}},
	{Name: "another user", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		token := a.first("plain")
		a.User = "bob"
		return a.retry("plain", token)
	}},
	{Name: "user to anonymous", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		token := a.first("plain")
		a.User = ""
		return a.retry("plain", token)
	}},
	{Name: "anonymous to user", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		a.User = ""
		token := a.first("plain")
		a.User = "alice"
		return a.retry("plain", token)
	}},
	{Name: "expired", Want: Frozen, Reason: "expired", Run: func(a *Attacker) Response {
		token := a.first("plain")
		a.ahead.Store(int64(requeststate.DefaultTTL))
		return a.retry("plain", token)
	}},
	{Name: "from the future", Want: Frozen, Reason: "not yet valid", Run: func(a *Attacker) Response {
		token := a.first("plain")
		a.ahead.Store(-int64(2 * time.Minute))
		return a.retry("plain", token)
	}},
	{Name: "retired key", Want: Frozen, Reason: "unknown key", Run: func(a *Attacker) Response {
		token := a.first("plain")
		require.NoError(a.T, a.Ring.Rotate(newKey(a.T)))
		return a.retry("plain", token)
	}},
	{Name: "rotated key", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		key := newKey(a.T)
		require.NoError(a.T, a.Ring.Rotate(key))
		token := a.first("plain")
		require.NoError(a.T, a.Ring.Rotate(newKey(a.T), key))
		return a.retry("plain", token)
	}},
	{Name: "other service", Want: Frozen, Reason: "other audience", Run: func(a *Attacker) Response {
		return a.retry("plain", a.sealed("plain", requeststate.WithAudience("another")))
	}},
	{Name: "without single use", Want: Frozen, Reason: "other use mode", Run: func(a *Attacker) Response {
		return a.retry("redeem", a.sealed("redeem", requeststate.WithAudience("mrtrtest")))
	}},
}

// sealed is a token made under the server's own keys by another program.
func (a *Attacker) sealed(tool string, opts ...requeststate.Option) string {
	s := a.NewSealer(a.T, opts...)
	token, err := requeststate.SealJSON(a.T.Context(), s, map[string]any{"v": 1},
		requeststate.Principal(a.User), requeststate.ToolCall(tool, json.RawMessage(arguments)))
	require.NoError(a.T, err)
	return token
}

// flip changes one character of token.
func flip(token string, i int) string {
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

// replayAttacks present a good token again.
var replayAttacks = []Attack{
	{Name: "replayed without single use", Want: Done, Effects: 5, Run: func(a *Attacker) (r Response) {
		token := a.first("plain") // the trap: each of the five is valid
		for range 5 {
			r = a.retry("plain", token)
		}
		return r
	}},
	{Name: "replayed under single use", Want: Frozen, Reason: "already used", Effects: 1, Run: replayed("once")},
	{Name: "replayed under single redemption", Want: Frozen, Reason: "already used", Effects: 1, Run: replayed("redeem")},
	{Name: "replayed to a handler that ignores it", Want: Frozen, Reason: "already used", Effects: 1, Run: replayed("swallows")},
	{Name: "64 clients, single use", Want: Frozen, Reason: "already used", Effects: 1, Run: concurrent("once")},
	{Name: "64 clients, single redemption", Want: Frozen, Reason: "already used", Effects: 1, Run: concurrent("redeem")},
	{Name: "round 1 replayed", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		first := a.first("three")
		through := func() Response { return a.retry("three", a.token(a.retry("three", first))) }
		require.NotNil(a.T, through().Result)
		return through()
	}},
	{Name: "handler panics after redeeming", Want: Frozen, Reason: "already used", Run: func(a *Attacker) Response {
		token := a.first("panics")
		require.Nil(a.T, a.retry("panics", token).Result)
		assert.Contains(a.T, a.Log(), "panicked after it redeemed")
		return a.retry("panics", token)
	}},
	{Name: "client disconnects after redeeming", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		token := a.first("slow")
		a.leave("slow", token)
		require.Eventually(a.T, func() bool { return a.Effects.Load() == 1 }, time.Minute, time.Millisecond)
		return a.retry("slow", token)
	}},
	{Name: "store forgot", Want: Frozen, Reason: "stale", Run: func(a *Attacker) Response {
		token := a.first("redeem")
		a.Store.Forget(a.T)
		return a.retry("redeem", token)
	}},
	{Name: "store is down, single redemption", Want: Internal, Reason: "unavailable", Run: down("redeem")},
	{Name: "store is down, single use", Want: Internal, Reason: "unavailable", Run: down("once")},
	{Name: "store was down", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		token := a.first("redeem")
		a.Store.Down.Store(true)
		require.NotNil(a.T, a.retry("redeem", token).Error)
		a.Store.Down.Store(false)
		return a.retry("redeem", token)
	}},
	{Name: "declined", Want: Declined, Run: func(a *Attacker) Response {
		return a.retryWith("redeem", arguments, a.first("redeem"), answer("decline"))
	}},
	{Name: "accepted after declining", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		token := a.first("redeem")
		require.NotNil(a.T, a.retryWith("redeem", arguments, token, answer("cancel")).Result)
		return a.retry("redeem", token)
	}},
	{Name: "handler forgets to redeem", Want: Internal, Reason: "error", Effects: 1, Run: func(a *Attacker) Response {
		r := a.retry("forgetful", a.first("forgetful"))
		assert.Contains(a.T, a.Log(), "without Redeem or Waive")
		return r
	}},
}

func replayed(tool string) func(*Attacker) Response {
	return func(a *Attacker) Response {
		token := a.first(tool)
		require.NotNil(a.T, a.retry(tool, token).Result)
		return a.retry(tool, token)
	}
}

func down(tool string) func(*Attacker) Response {
	return func(a *Attacker) Response {
		token := a.first(tool)
		a.Store.Down.Store(true)
		return a.retry(tool, token)
	}
}

// concurrent has 64 clients send one retry at once. One gets its result; it returns what all others got.
func concurrent(tool string) func(*Attacker) Response {
	return func(a *Attacker) (refused Response) {
		token := a.first(tool)
		responses := make([]Response, 64)
		var all sync.WaitGroup
		for i := range responses {
			all.Go(func() { responses[i] = a.retry(tool, token) })
		}
		all.Wait()
		results := 0
		for _, r := range responses {
			switch {
			case r.Result != nil:
				results++
			case refused.Error == nil:
				refused = r
			default:
				assert.Equal(a.T, string(refused.Error), string(r.Error))
			}
		}
		assert.Equal(a.T, 1, results)
		return refused
	}
}
