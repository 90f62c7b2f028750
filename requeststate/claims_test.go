package requeststate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func validClaims() Claims {
	return Claims{
		ID: ID{1, 2, 3}, Flow: ID{9, 8, 7}, Round: 3,
		IssuedAt: 1_800_000_000, ExpiresAt: 1_800_000_300, Deadline: 1_800_003_600,
		Audience: []byte("svc"), Principal: &Tag{4}, Request: &Tag{5},
		Use: UseSingleRedemption, Epoch: []byte("e"), State: []byte("state"),
	}
}

func TestClaimsRoundTrip(t *testing.T) {
	for name, change := range map[string]func(*Claims){
		"all":           func(*Claims) {},
		"first round":   func(c *Claims) { c.Round, c.Flow = 1, c.ID },
		"no audience":   func(c *Claims) { c.Audience = nil },
		"no principal":  func(c *Claims) { c.Principal = nil },
		"no request":    func(c *Claims) { c.Request = nil },
		"unlimited":     func(c *Claims) { c.Use, c.Epoch = UseUnlimited, nil },
		"single use":    func(c *Claims) { c.Use = UseSingle },
		"no state":      func(c *Claims) { c.State = []byte{} },
		"longest":       func(c *Claims) { c.Audience, c.Epoch = bytes.Repeat([]byte("a"), 255), bytes.Repeat([]byte("e"), 255) },
		"last round":    func(c *Claims) { c.Round = 16 },
		"one second":    func(c *Claims) { c.ExpiresAt, c.Deadline = c.IssuedAt+1, c.IssuedAt+1 },
		"a day, a week": func(c *Claims) { c.ExpiresAt, c.Deadline = c.IssuedAt+maxTTL, c.IssuedAt+maxFlowTTL },
		"late":          func(c *Claims) { c.IssuedAt, c.ExpiresAt, c.Deadline = maxIssuedAt-1, maxIssuedAt, maxIssuedAt },
	} {
		t.Run(name, func(t *testing.T) {
			c := validClaims()
			change(&c)
			b, err := c.Append([]byte("before"))
			require.NoError(t, err)
			require.Equal(t, "before", string(b[:6]))
			var got Claims
			require.NoError(t, got.Decode(b[6:]))
			c.tags = got.tags // where Decode keeps what Principal and Request point to
			assert.Equal(t, c, got)
			if len(c.State) > 0 {
				require.Error(t, got.Decode(b[6:6+len(b[6:])-len(c.State)-1]), "the field before the state cut short")
			}
		})
	}
}

func TestClaimsRefused(t *testing.T) {
	for name, change := range map[string]func(*Claims){
		"no id":               func(c *Claims) { c.ID = ID{} },
		"no flow":             func(c *Claims) { c.Flow = ID{} },
		"iat 0":               func(c *Claims) { c.ExpiresAt -= c.IssuedAt; c.Deadline -= c.IssuedAt; c.IssuedAt = 0 },
		"iat negative":        func(c *Claims) { c.IssuedAt, c.ExpiresAt, c.Deadline = -5, 5, 5 },
		"iat too late":        func(c *Claims) { c.IssuedAt, c.ExpiresAt, c.Deadline = maxIssuedAt, maxIssuedAt+1, maxIssuedAt+1 },
		"exp at iat":          func(c *Claims) { c.ExpiresAt = c.IssuedAt },
		"exp before iat":      func(c *Claims) { c.ExpiresAt = c.IssuedAt - 1 },
		"more than a day":     func(c *Claims) { c.ExpiresAt = c.IssuedAt + maxTTL + 1; c.Deadline = c.ExpiresAt },
		"exp past deadline":   func(c *Claims) { c.Deadline = c.ExpiresAt - 1 },
		"more than a week":    func(c *Claims) { c.Deadline = c.IssuedAt + maxFlowTTL + 1 },
		"round 0":             func(c *Claims) { c.Round = 0 },
		"round 17":            func(c *Claims) { c.Round = 17 },
		"round 1 of a flow":   func(c *Claims) { c.Round = 1 },
		"round 2 is the flow": func(c *Claims) { c.Round, c.Flow = 2, c.ID },
		"long audience":       func(c *Claims) { c.Audience = make([]byte, 256) },
		"mode 3":              func(c *Claims) { c.Use = 3 },
		"mode without epoch":  func(c *Claims) { c.Epoch = nil },
		"epoch without mode":  func(c *Claims) { c.Use = UseUnlimited },
		"long epoch":          func(c *Claims) { c.Epoch = make([]byte, 256) },
	} {
		t.Run(name, func(t *testing.T) {
			c := validClaims()
			change(&c)
			b, err := c.Append(nil)
			assert.Error(t, err)
			assert.Nil(t, b)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	c := validClaims()
	good, err := c.Append(nil)
	require.NoError(t, err)
	header := len(good) - len(c.State)
	for n := range header {
		assert.ErrorIs(t, new(Claims).Decode(good[:n]), ErrMalformed, "cut to %d bytes", n)
	}
	for name, change := range map[string]func([]byte) []byte{
		"unknown flag 6":  func(b []byte) []byte { b[0] |= 1 << 6; return b },
		"unknown flag 7":  func(b []byte) []byte { b[0] |= 1 << 7; return b },
		"mode 3":          func(b []byte) []byte { b[0] |= 3 << useShift; return b },
		"round 1 written": func(b []byte) []byte { b[28] = 1; return b },
		"round 0 written": func(b []byte) []byte { b[28] = 0; return b },
		"flow is the id":  func(b []byte) []byte { copy(b[29:45], b[1:17]); return b },
		"audience empty":  func(b []byte) []byte { return append(append(b[:45:45], 0), b[49:]...) },
		"exp is iat":      func(b []byte) []byte { copy(b[22:25], []byte{0, 0, 0}); return b },
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, new(Claims).Decode(change(bytes.Clone(good))), ErrMalformed)
		})
	}
}

// FuzzDecode works below the MAC, where no attacker gets, to be sure all the same: what is accepted has one spelling.
func FuzzDecode(f *testing.F) {
	for _, c := range []Claims{validClaims(), {ID: ID{1}, Flow: ID{1}, Round: 1, IssuedAt: 1, ExpiresAt: 2, Deadline: 2}} {
		b, err := c.Append(nil)
		require.NoError(f, err)
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Claims
		if err := c.Decode(b); err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		again, err := c.Append(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, again))
	})
}

// decodePrincipal is the inverse of appendPrincipal.
func decodePrincipal(t *testing.T, b []byte) (parts []string) {
	rest, ok := bytes.CutPrefix(b, []byte(labelPrincipalDigest))
	require.True(t, ok)
	for len(rest) > 0 {
		require.GreaterOrEqual(t, len(rest), 8)
		n := binary.BigEndian.Uint64(rest)
		rest = rest[8:]
		require.GreaterOrEqual(t, uint64(len(rest)), n)
		parts = append(parts, string(rest[:n]))
		rest = rest[n:]
	}
	return parts
}

// Every principal's digest input decodes back to the principal, so no two principals share one.
func FuzzPrincipalInput(f *testing.F) {
	f.Add("iss:a", "b", "c")
	f.Add("iss", "a:b", "c")
	f.Add("u1|tools/call", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x01")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, parts := range [][]string{{a}, {a, b}, {a, b, c}, {a + b, c}, {a, b + c}, {a + b + c}} {
			in := appendPrincipal(nil, parts)
			require.Equal(t, parts, decodePrincipal(t, in))
			if binding := Principal(parts...); binding.value == nil {
				require.Equal(t, sha256.Sum256(in), binding.digest)
			}
		}
	})
}

func TestPrincipalsThatLookAlike(t *testing.T) {
	seen := map[[32]byte][]string{}
	for _, parts := range [][]string{
		{"u1|tools/call"}, {"u1", "tools/call"}, {"u1\x00x"}, {"u1", "x"}, {"iss:a", "b"}, {"iss", "a:b"}, {"a.b"}, {"a", "b"}, {"b", "a"},
		{"ab"}, {"A", "b"}, {"a ", "b"}, {"a", "b", "b"}, {"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {strings.Repeat("a", 300)}, {strings.Repeat("a", 301)},
	} {
		b := Principal(parts...)
		require.Nil(t, b.value)
		require.NotContains(t, seen, b.digest, "%q and %q", parts, seen[b.digest])
		seen[b.digest] = parts
	}
}

// The tags are what docs/token-format.md says, in the tests' own words: HMAC under two different sub-keys, over id and digest.
func TestTags(t *testing.T) {
	secret := sha256.Sum256([]byte("tags"))
	key, err := NewKey(secret[:])
	require.NoError(t, err)
	id, digest := ID{1, 2, 3}, sha256.Sum256([]byte("digest"))
	tags := map[string]Tag{labelPrincipal: key.k.principal.tag(id, &digest), labelRequest: key.k.request.tag(id, &digest)}
	for label, tag := range tags {
		sub, err := key.k.subkey(label, 32)
		require.NoError(t, err)
		m := hmac.New(sha256.New, sub)
		m.Write(id[:])
		m.Write(digest[:])
		assert.Equal(t, m.Sum(nil)[:16], tag[:])
	}
	assert.NotEqual(t, tags[labelPrincipal], tags[labelRequest])
	assert.NotEqual(t, key.k.principal.tag(ID{1}, &digest), key.k.principal.tag(ID{2}, &digest), "salted with the id")
}

func TestUseModeString(t *testing.T) {
	for mode, want := range map[UseMode]string{UseUnlimited: "unlimited", UseSingle: "single use", UseSingleRedemption: "single redemption", 3: "unknown"} {
		assert.Equal(t, want, mode.String())
	}
}
