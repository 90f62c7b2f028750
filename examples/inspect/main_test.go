package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

const secret = "8f2c1d6a90b7e3f4581c2d7e9ab04f6370c5d8e1f29a4b3c6d7e8f90a1b2c3d4"

var (
	issued = time.Unix(1_800_000_000, 0)
	later  = issued.Add(3 * time.Minute)
)

type constructor func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)

var formats = map[string]constructor{
	"rs1h": hmac.New, "rs1x": aead.New, "rs1c": aead.NewXChaCha20Poly1305, "JWS": jose.NewJWS, "JWE": jose.NewJWE,
}

// fixture is a sealer, its store, and its key file.
type fixture struct {
	requeststate.Sealer
	store *replay.Memory
	file  string
}

func newFixture(t *testing.T, new constructor) fixture {
	key, err := requeststate.ParseKey(secret)
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	store, err := replay.NewMemory()
	require.NoError(t, err)
	s, err := new(ring, requeststate.WithAudience("https://example.com"), requeststate.WithReplayStore(store),
		requeststate.WithClock(func() time.Time { return issued }))
	require.NoError(t, err)
	return fixture{s, store, keyFile(t, secret+"\n")}
}

func keyFile(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func (f fixture) seal(t *testing.T, opts ...requeststate.SealOption) string {
	token, err := f.Seal(context.Background(), []byte("state\x1b[2J"), append(opts, requeststate.Principal("issuer", "alice"),
		requeststate.ToolCall("deploy", json.RawMessage(`{"env":"staging"}`)))...)
	require.NoError(t, err)
	return token
}

// inspected runs the program.
func inspected(t *testing.T, now time.Time, stdin string, args ...string) (out string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(stdin), &stdout, &stderr, now)
	out = stdout.String() + stderr.String()
	raw, _ := hex.DecodeString(secret)
	for _, s := range []string{secret, string(raw), "\x1b"} {
		assert.NotContains(t, out, s)
	}
	return out, code
}

func flags(f fixture, more ...string) []string {
	return append([]string{"-keys", f.file, "-principal", "issuer", "-principal", "alice", "-method", "tools/call",
		"-params", `{"name":"deploy","arguments":{"env":"staging"}}`}, more...)
}

func TestWithKey(t *testing.T) {
	for name, new := range formats {
		f := newFixture(t, new)
		token := f.seal(t, requeststate.SingleUse())
		for range 2 { // looking does not spend
			out, code := inspected(t, later, "", flags(f, token)...)
			assert.Zero(t, code, name)
			for _, want := range []string{"Psm8y-1wgZI", "3 minutes ago", "in 2 minutes", "in 57 minutes", "https://example.com", "single use", "epoch",
				"round 1", `state\x1b[2J`, "bound, tag", "Open says    opens, unless"} {
				assert.Contains(t, out, want, name)
			}
			assert.NotContains(t, out, "alice", name)
		}
		_, err := f.Open(context.Background(), token, requeststate.SingleUse(), requeststate.Principal("issuer", "alice"),
			requeststate.ToolCall("deploy", json.RawMessage(`{"env":"staging"}`)))
		assert.NoError(t, err, "it was not spent")
	}
}

func TestFirstCheckThatFails(t *testing.T) {
	f := newFixture(t, hmac.New)
	token, redeem := f.seal(t), f.seal(t, requeststate.SingleRedemption())
	other := keyFile(t, strings.Replace(secret, "8f", "7f", 1))
	for want, args := range map[string][]string{
		"refused: other principal (it is bound to a principal: give -principal)": {"-keys", f.file, token},
		"refused: other principal\n": flags(f, "-principal", "x", token),
		"refused: other request (it is bound to a request: give -method and -params)": {"-keys", f.file, "-principal", "issuer", "-principal", "alice", token},
		"refused: other request\n":  flags(f, "-params", `{"name":"deploy"}`, token),
		"refused: other audience":   flags(f, "-audience", "", token),
		"refused: other audience\n": flags(f, "-audience", "https://other.example", token),
		"refused: other use mode":   flags(f, "-use", "single", token),
		"refused: other use mode\n": flags(f, "-use", "unlimited", redeem),
		"refused: forged. The above is not authenticated, and may be a lie":       flags(f, token[:len(token)-4]+"AAAA"),
		"refused: malformed. The above":                                           flags(f, token+"="),
		"refused: malformed\n":                                                    flags(f, "x"+token),
		"refused: unknown key. The above is not authenticated, and may be a lie":  {"-keys", other, token},
		"nobody can say without the key: give -keys. The above is what everybody": {token},
	} {
		out, code := inspected(t, later, "", args...)
		assert.Contains(t, out, "Open says    "+want)
		assert.Equal(t, 1, code, want)
	}
	out, code := inspected(t, issued.Add(5*time.Minute), token, flags(f)...)
	assert.Contains(t, out, "refused: expired")
	assert.Equal(t, 1, code)
	out, _ = inspected(t, issued.Add(-time.Hour), token, flags(f)...)
	assert.Contains(t, out, "refused: not yet valid")
	assert.Contains(t, out, "in 1 hour")
	out, code = inspected(t, later, "\n"+redeem+"\n", flags(f)...)
	assert.Contains(t, out, "whether its flow can still be redeemed")
	assert.Zero(t, code)
}

// TestWithoutKey: what is public is shown and said to be no more, what is not public is not shown.
func TestWithoutKey(t *testing.T) {
	for name, readable := range map[string]bool{"rs1h": true, "rs1x": false, "rs1c": false, "JWS": true, "JWE": false} {
		token := newFixture(t, formats[name]).seal(t)
		out, code := inspected(t, later, token)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, out, "Psm8y-1wgZI", name)
		assert.Contains(t, out, "may be a lie", name)
		assert.Equal(t, readable, strings.Contains(out, "https://example.com"), "%s: %s", name, out)
	}
}

func TestKeyFiles(t *testing.T) {
	f := newFixture(t, aead.New)
	token := f.seal(t)
	raw, _ := hex.DecodeString(secret)
	jwk, err := json.Marshal(map[string]any{"keys": []any{map[string]any{"kty": "oct", "k": raw}}})
	require.NoError(t, err)
	set := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(string(jwk))
	for _, text := range []string{set, "03f1e2d3c4b5a69788796a5b4c3d2e1f0f1e2d3c4b5a69788796a5b4c3d2e1fa\n" + secret} {
		out, code := inspected(t, later, token, append(flags(f), "-keys", keyFile(t, text))...)
		assert.Zero(t, code, out)
	}
	for _, text := range []string{"", "\n\n", "changeme", secret[:20], secret + "\n" + secret, `{"keys":[]}`, set + set} {
		out, code := inspected(t, later, token, "-keys", keyFile(t, text))
		assert.Equal(t, 2, code, out)
		assert.NotContains(t, out, secret[:8])
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"-use", "twice", "x"}, {"-keys", "/nonexistent", "x"}, {"-x"}, {strings.Repeat("A", maxToken+1)}} {
		out, code := inspected(t, later, " ", args...)
		assert.Equal(t, 2, code)
		assert.NotEmpty(t, out)
	}
}

// FuzzInspect: no text makes it panic or print control characters.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{"rs1h.AAAA", "rs1x.", "rs1c.\x1b", "eyJ.e30.x", "eyJ....", "eyJhIjoiXHUwMDFiIn0.G1sySg.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		out, _ := inspected(t, later, token)
		for _, c := range out {
			if c < ' ' && c != '\n' && c != '\t' {
				t.Fatalf("control character in %q", out)
			}
		}
	})
}
