package polyglot

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

const (
	audience = "https://example.com/mcp"
	method   = "tools/call"
	params   = `{"name":"deploy","arguments":{"env":"staging","amount":9007199254740993,"é":"\ud83d\ude00"}}`
)

var (
	alice     = []string{"https://issuer.example", "älice"}
	bindings  = []requeststate.Binding{requeststate.Principal(alice...), requeststate.Request(method, json.RawMessage(params))}
	openBound = call{Op: "open", Now: issued.Unix(), Audience: audience, Principal: alice, Method: method, Params: params}
)

// opening is a token of ours and what a program should say of it.
type opening struct {
	call call
	want string // state, or "!" and the reason of a refusal
}

// ours makes tokens in one format.
func ours(t *testing.T, format string, ring *requeststate.Keyring, store requeststate.ReplayStore) []opening {
	s := sealer(t, format, ring, requeststate.WithAudience(audience), requeststate.WithReplayStore(store))
	var out []opening
	add := func(token, want string, change ...func(*call)) {
		c := openBound
		c.Format, c.Token = format, token
		for _, f := range change {
			f(&c)
		}
		out = append(out, opening{c, want})
	}
	seal := func(state string, opts ...requeststate.SealOption) string {
		token, err := s.Seal(ctx, []byte(state), append(opts, bindings...)...)
		require.NoError(t, err)
		return token
	}
	for _, state := range []string{"", "text", "\"\\\n\x00", "\u2028é😀<&>", "\xff\xfe", strings.Repeat("long ", 2000)} {
		add(seal(state), state)
	}
	token, err := requeststate.SealJSON(ctx, s, json.RawMessage(`{"big":9007199254740993,"é":[1.50,"\ud83d\ude00",null]}`), bindings...)
	require.NoError(t, err)
	add(token, `{"big":9007199254740993,"é":[1.50,"\ud83d\ude00",null]}`)
	token = seal("state")
	add(token, "!other principal", func(c *call) { c.Principal = []string{"https://issuer.exampleälice"} })
	add(token, "!other principal", func(c *call) { c.Principal = nil })
	add(token, "!other request", func(c *call) { c.Params = strings.Replace(params, "993", "992", 1) })
	add(token, "!other request", func(c *call) { c.Params = `{"name":"deploy","name":"x"}` })
	add(token, "!other request", func(c *call) { c.Method = "" })
	add(token, "!other audience", func(c *call) { c.Audience = "" })
	add(token, "!other use mode", func(c *call) { c.Use = "single" })
	add(token, "!expired", func(c *call) { c.Now += 300 })
	add(token, "state", func(c *call) { c.Now += 299 })
	add(token, "!not yet valid", func(c *call) { c.Now -= 61 })
	add(token, "state", func(c *call) { c.Params = " " + strings.Replace(params, "9007199254740993", "9007199254740993.0e0", 1) })
	add(token+"=", "!malformed")
	add(token+"\n", "!malformed")
	add(flip(token), "!forged")
	add(strings.Repeat("A", 65_537), "!too large")
	other := sealer(t, format, newRing(t), requeststate.WithAudience(audience))
	token, err = other.Seal(ctx, nil, bindings...)
	require.NoError(t, err)
	add(token, "!unknown key")

	single := func(c *call) { c.Use = "single" }
	token = seal("once", requeststate.SingleUse())
	add(token, "once", single)
	add(token, "!already used", single)
	redeem := func(c *call) { c.Use = "redemption" }
	first := seal("round 1", requeststate.SingleRedemption())
	o, err := s.Open(ctx, first, append([]requeststate.Binding{requeststate.SingleRedemption()}, bindings...)...)
	require.NoError(t, err)
	second, err := s.Seal(ctx, []byte("round 2"), requeststate.Continue(o))
	require.NoError(t, err)
	add(second, "round 2", redeem)
	add(first, "!already used", redeem) // the flow, not the token
	s = sealer(t, format, ring, requeststate.WithAudience(audience), requeststate.WithReplayStore(memory(t)))
	add(seal("old", requeststate.SingleUse()), "!stale", single)
	return out
}

func memory(t *testing.T) *replay.Memory {
	store, err := replay.NewMemory()
	require.NoError(t, err)
	return store
}

// flip changes one bit of the last segment.
func flip(token string) string {
	i := len(token) - 5
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

// TestTheyOpen: tokens of ours, in the other languages.
func TestTheyOpen(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			ring, store := newRing(t), memory(t)
			epoch, err := store.Epoch(ctx)
			require.NoError(t, err)
			var openings []opening
			for _, format := range p.opens {
				openings = append(openings, ours(t, format, ring, store)...)
			}
			old, err := requeststate.NewKeyring(ring.Keys()[1]) // a token of the ring's second key
			require.NoError(t, err)
			openings = append(openings, ours(t, p.opens[0], old, store)[0])
			var calls []call
			for _, o := range openings {
				calls = append(calls, o.call)
			}
			for i, a := range p.run(t, ring, base64.RawURLEncoding.EncodeToString([]byte(epoch)), calls...) {
				got := string(a.State)
				if a.Error != "" {
					got = "!" + a.Error
				}
				assert.Equal(t, openings[i].want, got, "%s, call %d: %+v", calls[i].Format, i, calls[i])
			}
		})
	}
}

// TestWeOpen: tokens of the other languages, here.
func TestWeOpen(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			ring, store := newRing(t), memory(t)
			epoch, err := store.Epoch(ctx)
			require.NoError(t, err)
			var calls []call
			for _, format := range p.seals {
				c := openBound
				c.Op, c.Format = "seal", format
				for kind, state := range map[string]string{"text": "\"é😀\\\n", "bytes": "\xff\x00", "json": ` {"n":9007199254740993,"a":[]}`} {
					c.Kind, c.State = kind, []byte(strings.TrimSpace(state))
					for _, use := range []string{"", "single", "redemption"} {
						c.Use = use
						calls = append(calls, c)
					}
				}
			}
			for i, a := range p.run(t, ring, base64.RawURLEncoding.EncodeToString([]byte(epoch)), calls...) {
				weOpen(t, ring, store, calls[i], a.Token)
			}
		})
	}
}

func weOpen(t *testing.T, ring *requeststate.Keyring, store requeststate.ReplayStore, c call, token string) {
	t.Helper()
	s := sealer(t, c.Format, ring, requeststate.WithAudience(audience), requeststate.WithReplayStore(store))
	bind := bindings
	switch c.Use {
	case "single":
		bind = append(bind[:2:2], requeststate.SingleUse())
	case "redemption":
		bind = append(bind[:2:2], requeststate.SingleRedemption())
	}
	reject := func(want error, opts ...requeststate.OpenOption) {
		t.Helper()
		_, err := s.Open(ctx, token, opts...)
		assert.ErrorIs(t, err, want)
	}
	reject(requeststate.ErrPrincipal, append(bind[1:len(bind):len(bind)], requeststate.Principal("mallory"))...)
	reject(requeststate.ErrRequest, append([]requeststate.Binding{bind[0], requeststate.ResourceRead("u")}, bind[2:]...)...)
	o, err := s.Open(ctx, token, bind...)
	if !assert.NoError(t, err, "%s %s: %v", c.Format, token, reason(err)) {
		return
	}
	assert.Equal(t, string(c.State), string(o.State))
	switch c.Use {
	case "single":
		reject(requeststate.ErrConsumed, bind...)
	case "redemption":
		next, err := s.Seal(ctx, []byte("next"), requeststate.Continue(o)) // their flow goes on here
		require.NoError(t, err)
		last, err := s.Open(ctx, next, bind...)
		require.NoError(t, err)
		assert.NoError(t, last.Redeem(ctx))
		assert.ErrorIs(t, o.Redeem(ctx), requeststate.ErrConsumed)
	}
}

// TestTheirKeys reads the keys that other tools write, alone and as a set, and seals under them.
func TestTheirKeys(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			answers := p.run(t, newRing(t), "", call{Op: "jwk"}, call{Op: "jwk"})
			one, two := answers[0].JWK, answers[1].JWK
			alone, err := jose.ParseKeys(one)
			require.NoError(t, err)
			keys, err := jose.ParseKeys([]byte(`{"keys":[` + string(two) + `,` + string(one) + `]}`))
			require.NoError(t, err)
			require.Len(t, keys, 2)
			assert.True(t, keys[1].Equal(alone[0]))
			ring, err := requeststate.NewKeyring(keys[0], keys[1])
			require.NoError(t, err)
			token, err := sealer(t, "jws", ring, requeststate.WithoutAudience()).Seal(ctx, []byte("state"))
			require.NoError(t, err)
			a := p.run(t, ring, "", call{Op: "open", Format: "jws", Token: token, Now: issued.Unix()})[0]
			assert.Equal(t, "state", string(a.State), a.Error)
		})
	}
}

func reason(err error) string {
	var e *requeststate.Error
	if errors.As(err, &e) {
		return e.Reason()
	}
	return ""
}
