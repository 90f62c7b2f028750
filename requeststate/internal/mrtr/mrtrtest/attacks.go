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
var Attacks = append(append(append(tokenAttacks, replayAttacks...), answerAttacks...), append(callAttacks, protocolAttacks...)...)

// tokenAttacks present a token that is not good here.
var tokenAttacks = []Attack{
	{Name: "honest", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		return a.Retry("plain", a.First("plain"))
	}},
	{Name: "tampered", Want: Frozen, Reason: "forged", Run: func(a *Attacker) Response {
		return a.Retry("plain", flip(a.First("plain"), 60))
	}},
	{Name: "suffix", Want: Frozen, Run: func(a *Attacker) Response {
		return a.Retry("plain", a.First("plain")+"-TAMPERED") // malformed or forged, as the length has it
	}},
	{Name: "suffix that is base64url", Want: Frozen, Reason: "forged", Run: func(a *Attacker) Response {
		return a.Retry("plain", a.First("plain")+"TAMPERDA")
	}},
	{Name: "garbage", Want: Frozen, Reason: "malformed", Run: func(a *Attacker) Response {
		return a.Retry("plain", "env=production")
	}},
	{Name: "oversized", Want: Frozen, Reason: "too large", Run: func(a *Attacker) Response {
		return a.Retry("plain", strings.Repeat("A", 65<<10))
	}},
	{Name: "moved to another tool", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.Retry("plain2", a.First("plain"))
	}},
	{Name: "moved to a prompt", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		p := map[string]any{"name": "plain", "requestState": a.First("plain"), "inputResponses": Answer("accept")}
		return a.send("prompts/get", p)
	}},
	{Name: "other argument", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retryWith("plain", `{"card":"c-2","amount":9007199254740993}`, a.First("plain"), Answer("accept"))
	}},
	{Name: "integer next to it", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		return a.retryWith("plain", `{"card":"c-1","amount":9007199254740992}`, a.First("plain"), Answer("accept"))
	}},
	{Name: "member twice", Want: Frozen, Reason: "other request", Run: func(a *Attacker) Response {
		twice := `{"card":"c-2","card":"c-1","amount":9007199254740993}`
		return a.retryWith("plain", twice, a.First("plain"), Answer("accept"))
	}},
	{Name: "another user", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		token := a.First("plain")
		a.User = "bob"
		return a.Retry("plain", token)
	}},
	{Name: "user to anonymous", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		token := a.First("plain")
		a.User = ""
		return a.Retry("plain", token)
	}},
	{Name: "anonymous to user", Want: Frozen, Reason: "other principal", Run: func(a *Attacker) Response {
		a.User = ""
		token := a.First("plain")
		a.User = "alice"
		return a.Retry("plain", token)
	}},
	{Name: "expired", Want: Frozen, Reason: "expired", Run: func(a *Attacker) Response {
		token := a.First("plain")
		a.Advance(requeststate.DefaultTTL)
		return a.Retry("plain", token)
	}},
	{Name: "from the future", Want: Frozen, Reason: "not yet valid", Run: func(a *Attacker) Response {
		token := a.First("plain")
		a.Advance(-2 * time.Minute)
		return a.Retry("plain", token)
	}},
	{Name: "retired key", Want: Frozen, Reason: "unknown key", Run: func(a *Attacker) Response {
		token := a.First("plain")
		require.NoError(a.T, a.Ring.Rotate(newKey(a.T)))
		return a.Retry("plain", token)
	}},
	{Name: "rotated key", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		key := newKey(a.T)
		require.NoError(a.T, a.Ring.Rotate(key))
		token := a.First("plain")
		require.NoError(a.T, a.Ring.Rotate(newKey(a.T), key))
		return a.Retry("plain", token)
	}},
	{Name: "other service", Want: Frozen, Reason: "other audience", Run: func(a *Attacker) Response {
		return a.Retry("plain", a.sealed("plain", requeststate.WithAudience("another")))
	}},
	{Name: "envelope of another version", Want: Asked, Run: func(a *Attacker) Response {
		return a.Retry("plain", a.sealed("plain", requeststate.WithAudience("mrtrtest")))
	}},
	{Name: "without single use", Want: Frozen, Reason: "other use mode", Run: func(a *Attacker) Response {
		return a.Retry("redeem", a.sealed("redeem", requeststate.WithAudience("mrtrtest")))
	}},
}

// sealed is a token made under the server's own keys by another program.
func (a *Attacker) sealed(tool string, opts ...requeststate.Option) string {
	s := a.NewSealer(a.T, opts...)
	envelope := "\x63\x00\x00\x01\x01\x07confirmx" // an envelope of version 99
	token, err := s.Seal(a.T.Context(), []byte(envelope),
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
		token := a.First("plain") // the trap: each of the five is valid
		for range 5 {
			r = a.Retry("plain", token)
		}
		return r
	}},
	{Name: "replayed under single use", Want: Frozen, Reason: "already used", Effects: 1, Run: replayed("once")},
	{Name: "replayed under single redemption", Want: Frozen, Reason: "already used", Effects: 1, Run: replayed("redeem")},
	{Name: "replayed to a handler that ignores it", Want: Frozen, Reason: "already used", Effects: 1,
		Run: replayed("swallows")},
	{Name: "64 clients, single use", Want: Frozen, Reason: "already used", Effects: 1, Run: concurrent("once")},
	{Name: "64 clients, single redemption", Want: Frozen, Reason: "already used", Effects: 1, Run: concurrent("redeem")},
	{Name: "round 1 replayed", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		first := a.First("three")
		through := func() Response { return a.Retry("three", a.Token(a.Retry("three", first))) }
		require.NotNil(a.T, through().Result)
		return through()
	}},
	{Name: "handler panics after redeeming", Want: Frozen, Reason: "already used", Run: func(a *Attacker) Response {
		token := a.First("panics")
		require.Nil(a.T, a.Retry("panics", token).Result)
		assert.Contains(a.T, a.Log(), "panicked after it redeemed")
		return a.Retry("panics", token)
	}},
	{Name: "client disconnects", Want: Frozen, Reason: "already used", Effects: 1, Run: func(a *Attacker) Response {
		token := a.First("slow")
		a.leave("slow", token)
		require.Eventually(a.T, func() bool { return a.Effects.Load() == 1 }, 30*time.Second, time.Millisecond)
		return a.Retry("slow", token)
	}},
	{Name: "store forgot", Want: Frozen, Reason: "stale", Run: func(a *Attacker) Response {
		token := a.First("redeem")
		a.Store.Forget(a.T)
		return a.Retry("redeem", token)
	}},
	{Name: "store is down, single redemption", Want: Internal, Reason: "unavailable", Run: down("redeem")},
	{Name: "store is down, single use", Want: Internal, Reason: "unavailable", Run: down("once")},
	{Name: "store was down", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		token := a.First("redeem")
		a.Store.Down.Store(true)
		require.NotNil(a.T, a.Retry("redeem", token).Error)
		a.Store.Down.Store(false)
		return a.Retry("redeem", token)
	}},
	{Name: "declined", Want: Declined, Run: func(a *Attacker) Response {
		return a.retryWith("redeem", arguments, a.First("redeem"), Answer("decline"))
	}},
	{Name: "accepted after declining", Want: Done, Effects: 1, Run: func(a *Attacker) Response {
		token := a.First("redeem")
		require.NotNil(a.T, a.retryWith("redeem", arguments, token, Answer("cancel")).Result)
		return a.Retry("redeem", token)
	}},
	{Name: "handler forgets to redeem", Want: Internal, Reason: "error", Effects: 1, Run: func(a *Attacker) Response {
		r := a.Retry("forgetful", a.First("forgetful"))
		assert.Contains(a.T, a.Log(), "without Redeem or Waive")
		return r
	}},
}

func replayed(tool string) func(*Attacker) Response {
	return func(a *Attacker) Response {
		token := a.First(tool)
		require.NotNil(a.T, a.Retry(tool, token).Result)
		return a.Retry(tool, token)
	}
}

func down(tool string) func(*Attacker) Response {
	return func(a *Attacker) Response {
		token := a.First(tool)
		a.Store.Down.Store(true)
		return a.Retry(tool, token)
	}
}

// concurrent has 64 clients send one retry at once. One gets its result; it returns what all others got.
func concurrent(tool string) func(*Attacker) Response {
	return func(a *Attacker) (refused Response) {
		token := a.First(tool)
		responses := make([]Response, 64)
		var all sync.WaitGroup
		for i := range responses {
			all.Go(func() { responses[i] = a.Retry(tool, token) })
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
