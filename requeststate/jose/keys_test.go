package jose_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// Secrets as `openssl rand` draws them.
var secrets = []string{
	"8f2c1d6a90b7e3f4581c2d7e9ab04f6370c5d8e1f29a4b3c6d7e8f90a1b2c3d4",
	"03f1e2d3c4b5a69788796a5b4c3d2e1f0f1e2d3c4b5a69788796a5b4c3d2e1fa",
}

func k(i int) string {
	raw, _ := hex.DecodeString(secrets[i])
	return b64.EncodeToString(raw)
}

func TestParseKeys(t *testing.T) {
	for what, c := range map[string]struct {
		jwks string
		want []int
	}{
		"one":               {`{"keys":[{"kty":"oct","k":"` + k(0) + `"}]}`, []int{0}},
		"order":             {`{"keys":[{"kty":"oct","k":"` + k(1) + `"},{"kty":"oct","k":"` + k(0) + `"}]}`, []int{1, 0}},
		"foreign members":   {`{"keys":[{"kty":"oct","kid":"2026-05","alg":"HS256","use":"sig","other":[1],"k":"` + k(0) + `"}],"y":{}}`, []int{0}},
		"equal foreign kid": {`{"keys":[{"kty":"oct","kid":"a","k":"` + k(0) + `"},{"kty":"oct","kid":"a","k":"` + k(1) + `"}]}`, []int{0, 1}},
		"single JWK":        {` {"kty":"oct","k":"` + k(0) + `","alg":"A256GCM","key_ops":["encrypt"],"ext":true}` + "\n", []int{0}},
	} {
		keys, err := jose.ParseKeys([]byte(c.jwks))
		if !assert.NoError(t, err, what) || !assert.Len(t, keys, len(c.want), what) {
			continue
		}
		for i, key := range keys {
			want, err := requeststate.ParseKey(secrets[c.want[i]]) // the same secret from an openssl file
			require.NoError(t, err)
			assert.True(t, key.Equal(want), what)
		}
	}
}

func TestParseKeysErrors(t *testing.T) {
	good := `{"kty":"oct","k":"` + k(0) + `"}`
	for what, c := range map[string]struct{ jwks, want string }{
		"empty":            {"", "JSON"},
		"hex":              {secrets[0], "JSON"},
		"not JSON":         {`{"keys":[` + good, "JSON"},
		"no keys":          {`{}`, "without keys"},
		"null":             {`null`, "without keys"},
		"empty set":        {`{"keys":[]}`, "without keys"},
		"keys null":        {`{"keys":null}`, "without keys"},
		"keys twice":       {`{"keys":[` + good + `],"keys":[` + good + `]}`, "JSON"},
		"set and key":      {`{"keys":[` + good + `],"kty":"oct"}`, "both"},
		"duplicate":        {`{"keys":[` + good + `,` + good + `]}`, "twice"},
		"duplicate by kid": {`{"keys":[` + good + `,{"kty":"oct","kid":"b","k":"` + k(0) + `"}]}`, "twice"},
		"short":            {`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, "6 bytes"},
		"no k":             {`{"keys":[{"kty":"oct"}]}`, "key 1 of 1"},
		"empty k":          {`{"keys":[{"kty":"oct","k":""}]}`, "key 1 of 1"},
		"k number":         {`{"keys":[{"kty":"oct","k":1}]}`, "key 1 of 1"},
		"k base64":         {`{"keys":[{"kty":"oct","k":"` + strings.Repeat("+/", 22) + `"}]}`, "key 1 of 1"},
		"zeros":            {`{"keys":[{"kty":"oct","k":"` + b64.EncodeToString(make([]byte, 32)) + `"}]}`, "placeholder"},
		"null key":         {`{"keys":[null]}`, "key 1 of 1"},
		"unknown kty":      {`{"keys":[` + good + `,{"kty":"x"}]}`, "key 2 of 2"},
		"no kty":           {`{"keys":[{"k":"` + k(0) + `"}]}`, "key 1 of 1"},
		"public key":       {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`, "oct"},
		"many":             {`{"keys":[` + strings.Repeat("1,", 1000) + `1]}`, "at most"},
	} {
		keys, err := jose.ParseKeys([]byte(c.jwks))
		if assert.ErrorContains(t, err, c.want, what) {
			assert.NotContains(t, err.Error(), k(0)[:8], what)
			assert.NotContains(t, err.Error(), "c2Vj", what)
		}
		assert.Nil(t, keys, what)
	}
}

// TestSecretJWKSIsNoKeyFile: a derived key is not a secret to derive from.
func TestSecretJWKSIsNoKeyFile(t *testing.T) {
	raw, err := jose.SecretJWKS(newRing(t))
	require.NoError(t, err)
	_, err = jose.ParseKeys(raw)
	assert.ErrorContains(t, err, "SecretJWKS")
	_, err = jose.SecretJWKS(nil)
	assert.ErrorContains(t, err, "NewKeyring")
}

// TestSecretJWKS: ids differ, no key's own secret is in it, and the order is the ring's.
func TestSecretJWKS(t *testing.T) {
	keys, err := jose.ParseKeys([]byte(`{"keys":[{"kty":"oct","k":"` + k(0) + `"},{"kty":"oct","k":"` + k(1) + `"}]}`))
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
	require.NoError(t, err)
	raw, err := jose.SecretJWKS(ring)
	require.NoError(t, err)
	var set struct {
		Keys []struct{ Kty, Kid, Alg, Use, K string }
	}
	require.NoError(t, json.Unmarshal(raw, &set))
	require.Len(t, set.Keys, 14)
	seen := map[string]bool{k(0): true, k(1): true}
	for i, key := range set.Keys {
		assert.Equal(t, "oct", key.Kty)
		assert.True(t, strings.HasPrefix(key.Kid, keys[i/7].ID().String()+"."), key.Kid)
		assert.False(t, seen[key.Kid] || seen[key.K], "seen before: %s", key.Kid)
		seen[key.Kid], seen[key.K] = true, true
	}
	assert.Equal(t, "HS256 sig", set.Keys[0].Alg+" "+set.Keys[0].Use)
	assert.Equal(t, "A256KW enc", set.Keys[1].Alg+" "+set.Keys[1].Use)
}

// TestRotateByFile: the key file is read again, and tokens of both keys open until the old one is gone.
func TestRotateByFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	load := func(jwks string) []requeststate.Key {
		require.NoError(t, os.WriteFile(file, []byte(jwks), 0o600))
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		keys, err := jose.ParseKeys(raw)
		require.NoError(t, err)
		return keys
	}
	old, next := `{"kty":"oct","k":"`+k(0)+`"}`, `{"kty":"oct","k":"`+k(1)+`"}`
	for _, f := range formats() {
		keys := load(`{"keys":[` + old + `]}`)
		ring, err := requeststate.NewKeyring(keys[0])
		require.NoError(t, err)
		s := opener(t, f, ring)
		first, err := s.Seal(ctx, []byte("1"))
		require.NoError(t, err)
		keys = load(`{"keys":[` + next + `,` + old + `]}`)
		require.NoError(t, ring.Rotate(keys[0], keys[1:]...))
		second, err := s.Seal(ctx, []byte("2"))
		require.NoError(t, err)
		for _, token := range []string{first, second} {
			_, err := s.Open(ctx, token)
			assert.NoError(t, err)
		}
		keys = load(`{"keys":[` + next + `]}`)
		require.NoError(t, ring.Rotate(keys[0]))
		refused(t, s, first, requeststate.ErrUnknownKey, f.name)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"` + k(0) + `"}]}`))
	f.Add([]byte(`{"kty":"oct","k":"` + k(0) + `"}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{}]}`))
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	f.Fuzz(func(t *testing.T, jwks []byte) {
		keys, err := jose.ParseKeys(jwks)
		if err != nil {
			if keys != nil || bytes.Contains([]byte(err.Error()), []byte(k(0)[:16])) {
				t.Fatalf("%v, %v", keys, err)
			}
			return
		}
		if _, err := requeststate.NewKeyring(keys[0], keys[1:]...); err != nil {
			t.Fatal(err)
		}
	})
}
