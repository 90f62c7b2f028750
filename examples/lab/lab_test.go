package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (c *client) presentations(path string) (passed int, reasons []string) {
	c.t.Helper()
	var verdicts []verdict
	c.decode(c.call(path, nil), &verdicts)
	require.Len(c.t, verdicts, 5)
	for _, v := range verdicts {
		require.Len(c.t, v.Checks, 6)
		if v.Passed {
			passed++
		} else {
			reasons = append(reasons, v.Reason)
		}
	}
	return passed, reasons
}

func TestReplay(t *testing.T) {
	c, clock := newClient(t)
	passed, reasons := c.presentations("replay")
	assert.Equal(t, 1, passed, "single use")
	assert.Equal(t, []string{"already used", "already used", "already used", "already used"}, reasons)
	passed, _ = c.presentations("replay")
	assert.Zero(t, passed, "the session remembers")

	c.without("single-use")
	c.mint()
	passed, _ = c.presentations("replay")
	assert.Equal(t, 5, passed, "without single use")
	clock.wait(5 * time.Minute)
	passed, reasons = c.presentations("replay")
	assert.Zero(t, passed)
	assert.Contains(t, reasons, "expired")
}

func TestRace(t *testing.T) {
	c, _ := newClient(t)
	assert.JSONEq(t, `{"accepted":1,"refused":49,"reasons":"already used"}`, c.call("race", nil))
	c.without("single-use")
	c.mint()
	assert.JSONEq(t, `{"accepted":50,"refused":0,"reasons":""}`, c.call("race", nil))
}

func TestFork(t *testing.T) {
	c, _ := newClient(t)
	for _, without := range [][]string{{}, {"single-use"}, {"principal", "ttl", "request"}} {
		c.without(without...)
		var answer map[string][]step
		c.decode(c.call("fork", nil), &answer)
		redeemed := map[string]int{}
		for name, steps := range answer {
			for _, s := range steps {
				if s.Effect && s.OK {
					redeemed[name]++
				}
			}
		}
		assert.Equal(t, map[string]int{"without": 2, "with": 1, "flows": 5}, redeemed, "without %v", without)
	}
}

func TestRotate(t *testing.T) {
	for _, tt := range []struct {
		without []string
		passed  bool
		reason  string
	}{
		{nil, false, "unknown key"},
		{[]string{"integrity"}, true, ""}, // it has no key
	} {
		c, _ := newClient(t)
		c.without(tt.without...)
		c.mint()
		var answer struct {
			Last verdict
			View view
		}
		c.decode(c.call("rotate", nil), &answer)
		assert.Equal(t, tt.passed, answer.Last.Passed)
		assert.Equal(t, tt.reason, answer.Last.Reason)
		c.token = answer.View.Token
		passed, _ := c.presentations("replay")
		assert.Equal(t, 1, passed, "the new token")
	}
}

func TestPresent(t *testing.T) {
	refused := `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid or expired requestState",` +
		`"data":{"reason":"invalid_request_state"}}}`
	for name, tt := range map[string]struct {
		change map[string]string
		token  func(string) string
		log    string // empty: accepted
	}{
		"as it is":  {},
		"principal": {change: map[string]string{"principal": "mallory"}, log: `token.reason="other principal"`},
		"method":    {change: map[string]string{"method": "prompts/get"}, log: `token.reason="other request"`},
		"name":      {change: map[string]string{"name": "refund"}, log: `token.reason="other request"`},
		"arguments": {change: map[string]string{"arguments": `{"amount":1e99}`}, log: `token.reason="other request"`},
		"edited":    {token: func(s string) string { return s[:40] + "AAAA" + s[44:] }, log: `token.reason=forged`},
		"cut":       {token: func(s string) string { return s[:20] }, log: `token.reason=malformed`},
		"empty":     {token: func(string) string { return "" }, log: `token.reason=malformed`},
		"huge":      {token: func(string) string { return strings.Repeat(".", 70<<10) }, log: `token.reason="too large"`},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newClient(t)
			as := map[string]string{}
			for _, field := range []string{"principal", "method", "name", "arguments"} {
				as[field] = c.config[field].(string)
				if changed, ok := tt.change[field]; ok {
					as[field] = changed
				}
			}
			if tt.token != nil {
				c.token = tt.token(c.token)
			}
			var answer struct {
				Verdict verdict
				Log     string
				Answer  json.RawMessage
			}
			c.decode(c.call("present", map[string]any{"as": as}), &answer)
			assert.Equal(t, tt.log == "", answer.Verdict.Passed)
			if tt.log == "" {
				assert.Empty(t, answer.Log)
				assert.Contains(t, string(answer.Answer), `"result"`)
				return
			}
			assert.Contains(t, answer.Log, tt.log)
			assert.JSONEq(t, refused, string(answer.Answer))
			assert.NotContains(t, answer.Log, c.config["principal"])
		})
	}
}

func TestViewComparesTheFormats(t *testing.T) {
	c, _ := newClient(t)
	for _, format := range []string{"hmac", "aead", "xchacha", "jwt", "jwe"} {
		c.config["format"] = format
		c.without("principal")
		v := c.mint()
		require.Len(t, v.Table, 13)
		require.Len(t, v.Formats, 5)
		for _, other := range v.Formats {
			assert.Zero(t, other.Different, "%s against %s", format, other.ID)
		}
		hidden := format != "hmac" && format != "jwt"
		assert.Equal(t, hidden, len(v.Readable) == 0, "%s hides its claims", format)
	}
}

func TestDifferentCounts(t *testing.T) {
	a := []row{{ID: "x", Result: "PASS"}, {ID: "y"}, {ID: "z"}}
	b := []row{{ID: "x", Result: "refused"}, {ID: "y"}, {ID: "z", StoppedBy: "ttl"}}
	assert.Equal(t, 2, different(a, b))
	assert.Zero(t, different(a, a))
}
