package requeststate_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// secret is 32 bytes that pass for random and have telling spellings.
var secret, _ = hex.DecodeString("f1d2d2f924e986ac86fdf7b36c94bcdf32beec15cba10e5d14f2a7f2d9b7c3a8")

func TestNewKey(t *testing.T) {
	for name, c := range map[string]struct {
		secret []byte
		err    string // "": accepted
	}{
		"random":                {secret, ""},
		"longer":                {append(bytes.Clone(secret), secret...), ""},
		"nil":                   {nil, "0 bytes"},
		"31 bytes":              {secret[:31], "31 bytes"},
		"too long":              {bytes.Repeat(secret, 200), "at most 4096"},
		"zeros":                 {make([]byte, 32), "placeholder"},
		"all equal":             {bytes.Repeat([]byte{7}, 64), "placeholder"},
		"two bytes in turn":     {bytes.Repeat([]byte{0xde, 0xad}, 16), "placeholder"},
		"padded word":           {append([]byte("changeme"), make([]byte, 24)...), "placeholder"},
		"counting":              {counting(32, 1), "count"},
		"counting down":         {counting(40, 255), "count"},
		"text":                  {[]byte("correct horse battery staple, and more of it"), "text"},
		"hex text":              {[]byte(hex.EncodeToString(secret)), "text"},
		"base64 of 24 bytes":    {[]byte(base64.StdEncoding.EncodeToString(secret[:24])), "text"},
		"text file with a line": {[]byte(hex.EncodeToString(secret) + "\n"), "text"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := requeststate.NewKey(c.secret)
			if c.err == "" {
				require.NoError(t, err)
				assert.False(t, key.IsZero())
				return
			}
			require.ErrorContains(t, err, c.err)
			assert.True(t, key.IsZero())
		})
	}
}

func counting(n int, step byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 200 + byte(i)*step
	}
	return b
}

func TestNewKeyCopiesTheSecret(t *testing.T) {
	mine := bytes.Clone(secret)
	key, err := requeststate.NewKey(mine)
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	clear(mine)
	s, err := hmac.New(ring, requeststate.WithoutAudience())
	require.NoError(t, err)
	token := mustSeal(t, s, "x", alice, deploy)

	same, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	require.NoError(t, ring.Rotate(same))
	mustOpen(t, s, token, alice, deploy)
}

func TestParseKey(t *testing.T) {
	want, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	withPadding := base64.URLEncoding.EncodeToString(secret)
	for name, c := range map[string]struct{ text, err string }{
		"hex":                   {hex.EncodeToString(secret), ""},
		"HEX":                   {strings.ToUpper(hex.EncodeToString(secret)), ""},
		"with line end":         {hex.EncodeToString(secret) + "\r\n", ""},
		"base64url":             {strings.TrimRight(withPadding, "="), ""},
		"base64url, padded":     {" " + withPadding + "\n", ""},
		"empty":                 {"", "0 bytes"},
		"spaces":                {" \n", "0 bytes"},
		"short hex":             {hex.EncodeToString(secret[:16]), "16 bytes"},
		"short base64url":       {base64.RawURLEncoding.EncodeToString(secret[:24]), "24 bytes"},
		"odd hex":               {hex.EncodeToString(secret)[1:], "odd number"},
		"standard base64":       {"++++" + base64.StdEncoding.EncodeToString(secret), "standard base64"},
		"two lines":             {hex.EncodeToString(secret)[:32] + "\n" + hex.EncodeToString(secret)[32:], "more than one line"},
		"padding in the middle": {withPadding[:20] + "=" + withPadding[20:], "neither"},
		"too much padding":      {withPadding + "===", "neither"},
		"trailing bits":         {strings.TrimRight(withPadding, "=")[:42] + "9", "neither"},
		"prose":                 {"please put a key here, thank you very much!", "neither"},
		"JSON":                  {`{"kty":"oct"}`, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := requeststate.ParseKey(c.text)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				assert.True(t, key.IsZero())
				return
			}
			require.NoError(t, err)
			assert.True(t, want.Equal(key))
		})
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"", hex.EncodeToString(secret), base64.URLEncoding.EncodeToString(secret), "\n", "=", "AA==", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := requeststate.ParseKey(text)
		if err != nil {
			require.True(t, key.IsZero())
			if trimmed := strings.TrimSpace(text); len(trimmed) > 12 {
				require.NotContains(t, err.Error(), trimmed)
			}
			return
		}
		again, err := requeststate.ParseKey("\t" + text + "\n")
		require.NoError(t, err)
		require.True(t, key.Equal(again))
	})
}

func TestGenerateKey(t *testing.T) {
	a, err := requeststate.GenerateKey()
	require.NoError(t, err)
	b, err := requeststate.GenerateKey()
	require.NoError(t, err)
	assert.False(t, a.Equal(b))
	assert.Equal(t, requeststate.KeyID{}, requeststate.Key{}.ID())
}

// The id is derived with a label of its own: it is public and must be no prefix of any other sub-key, nor of the secret.
func TestKeyIDIsDerived(t *testing.T) {
	key, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	id := key.ID()
	assert.NotEqual(t, secret[:8], id[:])
	for _, label := range []string{"x", "mcp-requeststate v1 token rs1h"} {
		sub, err := requeststate.Derive(key, label, func(sub []byte) ([]byte, error) { return sub, nil })
		require.NoError(t, err)
		assert.Len(t, sub, 32)
		assert.NotEqual(t, id[:], sub[:8])
	}
	assert.Len(t, id.String(), 11)
}

func TestDerive(t *testing.T) {
	key := testKey(t, "derive")
	builds := 0
	build := func(sub []byte) (*[]byte, error) { builds++; return &sub, nil }
	a, err := requeststate.Derive(key, "a", build)
	require.NoError(t, err)
	again, err := requeststate.Derive(key, "a", build)
	require.NoError(t, err)
	b, err := requeststate.Derive(key, "b", build)
	require.NoError(t, err)
	assert.Same(t, a, again)
	assert.NotEqual(t, *a, *b)
	assert.Equal(t, 2, builds)

	_, err = requeststate.Derive(requeststate.Key{}, "a", build)
	assert.ErrorContains(t, err, "zero Key")
	_, err = requeststate.Derive(key, "mcp-requeststate v1 principal tag", build)
	assert.ErrorContains(t, err, "taken")
	_, err = requeststate.Derive(key, "c", func([]byte) (int, error) { return 0, errors.New("no") })
	assert.EqualError(t, err, "no")
}

func TestKeyring(t *testing.T) {
	a, b, c := testKey(t, "a"), testKey(t, "b"), testKey(t, "c")
	for name, keys := range map[string][]requeststate.Key{
		"zero first":  {{}, a},
		"zero second": {a, {}},
		"twice":       {a, b, a},
		"same secret": {a, testKey(t, "a")},
	} {
		ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
		assert.Error(t, err, name)
		assert.Nil(t, ring, name)
	}
	ring, err := requeststate.NewKeyring(a, b)
	require.NoError(t, err)
	require.Error(t, ring.Rotate(c, c))
	assert.Equal(t, []requeststate.Key{a, b}, ring.Keys(), "a failed rotation changes nothing")
	require.NoError(t, ring.Rotate(c, a))
	assert.Equal(t, c, ring.First())
	_, ok := ring.Lookup(b.ID())
	assert.False(t, ok)
	got, ok := ring.Lookup(a.ID())
	assert.True(t, ok)
	assert.Equal(t, a, got)

	var zero requeststate.Keyring
	assert.Error(t, zero.Check())
	assert.Nil(t, zero.Keys())
	assert.True(t, zero.First().IsZero())
	_, ok = zero.Lookup(a.ID())
	assert.False(t, ok)
}

// A token's id and tags come from one key, whenever Rotate happens. The opener knows both keys: a token with one key's id
// and the other's tags would be authentic and have the wrong principal.
func TestRotateUnderLoad(t *testing.T) {
	for name, newSealer := range formats {
		t.Run(name, func(t *testing.T) {
			a, b := testKey(t, "a"), testKey(t, "b")
			ring := testRing(t, "a")
			s, err := newSealer(ring, requeststate.WithoutAudience())
			require.NoError(t, err)
			opener, err := newSealer(testRing(t, "a", "b"), requeststate.WithoutAudience())
			require.NoError(t, err)
			stop := make(chan struct{})
			var rotating, sealing sync.WaitGroup
			rotating.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						assert.NoError(t, ring.Rotate(a))
						assert.NoError(t, ring.Rotate(b))
					}
				}
			})
			for range 4 {
				sealing.Go(func() {
					for range 500 {
						token, err := s.Seal(ctx, nil, alice, deploy)
						if assert.NoError(t, err) {
							_, err = opener.Open(ctx, token, alice, deploy)
							assert.NoError(t, err, reasonOf(err))
						}
					}
				})
			}
			sealing.Wait()
			close(stop)
			rotating.Wait()
		})
	}
}

func TestRotation(t *testing.T) {
	for name, newSealer := range formats {
		t.Run(name, func(t *testing.T) {
			ring := testRing(t, "old")
			store := &fakeStore{}
			s, err := newSealer(ring, requeststate.WithoutAudience(), requeststate.WithReplayStore(store))
			require.NoError(t, err)
			token := mustSeal(t, s, "1", alice, deploy, redeem)
			require.NoError(t, ring.Rotate(testKey(t, "new"), testKey(t, "old")))
			o := mustOpen(t, s, token, alice, deploy, redeem)
			next := mustSeal(t, s, "2", requeststate.Continue(o)) // under the new key
			require.NoError(t, ring.Rotate(testKey(t, "new")))
			_, err = s.Open(ctx, token, alice, deploy, redeem)
			requireReason(t, requeststate.ErrUnknownKey, err)
			o = mustOpen(t, s, next, alice, deploy, redeem)
			assert.Equal(t, 2, o.Round, "a flow outlives a rotation")
			_, err = s.Open(ctx, next, bob, deploy, redeem)
			requireReason(t, requeststate.ErrPrincipal, err)
		})
	}
}

// Nothing that prints, logs or encodes shows a byte of a secret, however deep the key sits.
func TestRedaction(t *testing.T) {
	key, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	s, err := hmac.New(ring, requeststate.WithoutAudience())
	require.NoError(t, err)
	token := mustSeal(t, s, "state", alice, deploy)
	opened := mustOpen(t, s, token, alice, deploy)
	_, rejected := s.Open(ctx, token, bob, deploy)
	_, parse := requeststate.ParseKey(string(secret))
	_, weak := requeststate.NewKey([]byte(hex.EncodeToString(secret)))
	type inner struct {
		key  requeststate.Key
		ring *requeststate.Keyring
		s    requeststate.Sealer
	}
	type outer struct {
		In   inner
		Key  requeststate.Key
		Keys map[string]requeststate.Key
		any  any
	}
	nested := outer{In: inner{key, ring, s}, Key: key, Keys: map[string]requeststate.Key{"k": key}, any: []any{key, &key, ring}}
	var subkeys [][]byte
	for _, label := range []string{"token rs1h", "token rs1x", "token rs1c", "token jws", "token jwe"} {
		sub, err := requeststate.Derive(testClone(t, key), "mcp-requeststate v1 "+label, func(sub []byte) ([]byte, error) { return sub, nil })
		require.NoError(t, err)
		subkeys = append(subkeys, sub)
	}
	values := []any{key, &key, ring, testRingOf(t, key), s, opened, rejected, parse, weak, nested, &nested, []requeststate.Key{key}}
	for _, newSealer := range []newSealer{aead.New, aead.NewXChaCha20Poly1305, jose.NewJWS, jose.NewJWE} {
		other, err := newSealer(ring, requeststate.WithoutAudience())
		require.NoError(t, err)
		opened := mustOpen(t, other, mustSeal(t, other, "state", alice, deploy), alice, deploy) // has made what the key holds
		_, rejected := other.Open(ctx, token, alice, deploy)
		values = append(values, other, opened, rejected, struct{ s requeststate.Sealer }{other})
	}
	for i, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%08b", "%c", "%U", "%e", "%p", "%T", "% x", "%o"} {
			noSecret(t, fmt.Sprintf(verb, v), subkeys, "%d with %s", i, verb)
		}
		for _, handler := range []func(*bytes.Buffer) slog.Handler{
			func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var b bytes.Buffer
			slog.New(handler(&b)).Info("m", "v", v, slog.Group("g", "v", v))
			noSecret(t, b.String(), subkeys, "%d in slog", i)
		}
		if encoded, err := json.Marshal(v); err == nil {
			noSecret(t, string(encoded), subkeys, "%d in JSON", i)
		}
	}
	assert.Equal(t, "key "+key.ID().String(), fmt.Sprint(key))
	assert.Contains(t, fmt.Sprintf("%d", ring), key.ID().String())
}

func testClone(t *testing.T, _ requeststate.Key) requeststate.Key {
	k, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	return k
}

func testRingOf(t *testing.T, k requeststate.Key) **requeststate.Keyring {
	r, err := requeststate.NewKeyring(k)
	require.NoError(t, err)
	return &r
}

// noSecret looks for four bytes in a row of any secret, in every spelling that printing has.
func noSecret(t *testing.T, text string, subkeys [][]byte, format string, args ...any) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, s := range append([][]byte{secret}, subkeys...) {
		for i := 0; i+4 <= len(s); i++ {
			w := s[i : i+4]
			require.NotContains(t, text, string(w), append([]any{format}, args...)...)
			for _, spelling := range []string{
				hex.EncodeToString(w),
				fmt.Sprintf("%d %d %d %d", w[0], w[1], w[2], w[3]),
				fmt.Sprintf("%d, %d, %d, %d", w[0], w[1], w[2], w[3]),
				fmt.Sprintf("%#x, %#x, %#x, %#x", w[0], w[1], w[2], w[3]),
				fmt.Sprintf("%x %x %x %x", w[0], w[1], w[2], w[3]),
				fmt.Sprintf("%08b %08b %08b %08b", w[0], w[1], w[2], w[3]),
				fmt.Sprintf("%o %o %o %o", w[0], w[1], w[2], w[3]),
			} {
				require.NotContains(t, lower, strings.ToLower(spelling), append([]any{format}, args...)...)
			}
		}
		for _, whole := range []string{base64.StdEncoding.EncodeToString(s)[:12], base64.URLEncoding.EncodeToString(s)[:12]} {
			require.NotContains(t, text, whole, append([]any{format}, args...)...)
		}
	}
}
