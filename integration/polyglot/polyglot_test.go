package polyglot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
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

// TestDigest holds the other implementations against the vectors of the request digest.
func TestDigest(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/request-digest.json")
	require.NoError(t, err)
	var vectors struct {
		Equal []struct {
			Method    string
			Params    []string
			Canonical string
		}
		Refused []struct{ Method, Params, Hex, Name string }
	}
	require.NoError(t, json.Unmarshal(raw, &vectors))
	var calls []call
	var want []string
	for _, v := range vectors.Equal {
		for _, p := range v.Params {
			calls = append(calls, call{Op: "digest", Method: v.Method, Params: base64.StdEncoding.EncodeToString([]byte(p))})
			want = append(want, v.Canonical)
		}
	}
	for _, v := range vectors.Refused {
		p := []byte(v.Params)
		if v.Hex != "" {
			p, err = hex.DecodeString(v.Hex)
			require.NoError(t, err)
		}
		calls = append(calls, call{Op: "digest", Method: v.Method, Params: base64.StdEncoding.EncodeToString(p)})
		want = append(want, "")
	}
	require.Greater(t, len(calls), 50)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			for i, a := range p.run(t, newRing(t), "", calls...) {
				assert.Equal(t, want[i], a.Canonical, "call %d: %s", i, calls[i].Params)
				assert.Equal(t, want[i] == "", a.Error != "", "call %d: %s %s", i, calls[i].Params, a.Error)
			}
		})
	}
}

// TestClaims gives the other implementations authentic tokens with good and bad claims.
func TestClaims(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/jwt-claims.json")
	require.NoError(t, err)
	var file struct {
		Good, Refused []struct{ Payload, State []byte }
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Good)
	require.Greater(t, len(file.Refused), 100)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			ring := newRing(t)
			var calls []call
			for _, v := range append(file.Good, file.Refused...) {
				calls = append(calls, call{Op: "open", Format: "jws", Token: sign(t, ring, v.Payload), Now: issued.Unix()})
			}
			for i, a := range p.run(t, ring, "", calls...) {
				if i < len(file.Good) {
					assert.Equal(t, string(file.Good[i].State), string(a.State), "%s: %s", file.Good[i].Payload, a.Error)
				} else {
					assert.Equal(t, "malformed", a.Error, "%s", file.Refused[i-len(file.Good)].Payload)
				}
			}
		})
	}
}

// sign makes a JWS of any payload, by hand.
func sign(t *testing.T, ring *requeststate.Keyring, payload []byte) string {
	key, err := ring.First().Subkey("mcp-requeststate v1 token jws")
	require.NoError(t, err)
	b64 := base64.RawURLEncoding
	input := b64.EncodeToString([]byte(`{"alg":"HS256","kid":"`+ring.First().ID().String()+`.jws","typ":"mcp-rs+jwt"}`)) + "." + b64.EncodeToString(payload)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(input))
	return input + "." + b64.EncodeToString(m.Sum(nil))
}

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
