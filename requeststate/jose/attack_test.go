package jose_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gojose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// validPayload opens under the right header and key.
var validPayload = payload(memberID, memberTimes, memberDeadline, memberText)

// TestHeaders signs a good payload under headers that are not this format's, with the very key of the format. They are
// refused before the key is used: each is malformed, though its signature is good.
func TestHeaders(t *testing.T) {
	ring := newRing(t)
	key, kid := subkey(t, ring, "jws")
	good := header("JWS", kid)
	jwk := `{"kty":"oct","k":"` + b64.EncodeToString(key) + `"}`
	with := func(member string) string { return strings.TrimSuffix(good, "}") + "," + member + "}" }
	s := opener(t, formats()[0], ring)
	_, err := s.Open(ctx, hs256(key, good, validPayload))
	require.NoError(t, err)
	for what, h := range map[string]string{
		"alg none":          strings.Replace(good, "HS256", "none", 1),
		"alg None":          strings.Replace(good, "HS256", "None", 1),
		"alg nOnE, as long": strings.Replace(good, "HS256", "nOnE0", 1),
		"alg RS256":         strings.Replace(good, "HS256", "RS256", 1),
		"alg HS512":         strings.Replace(good, "HS256", "HS512", 1),
		"alg hs256":         strings.Replace(good, "HS256", "hs256", 1),
		"alg twice":         with(`"alg":"none"`),
		"alg missing":       `{"kid":"` + kid + `","typ":"mcp-rs+jwt"}`,
		"alg null":          strings.Replace(good, `"HS256"`, `null`, 1),
		"typ JWT":           strings.Replace(good, "mcp-rs+jwt", "JWT", 1),
		"typ at+jwt":        strings.Replace(good, "mcp-rs+jwt", "mcp-at+jwt", 1),
		"typ missing":       `{"alg":"HS256","kid":"` + kid + `"}`,
		"kid missing":       `{"alg":"HS256","typ":"mcp-rs+jwt"}`,
		"kid bare":          strings.Replace(good, ".jws", "", 1),
		"kid of JWE":        strings.Replace(good, ".jws", ".jwe", 1),
		"kid path":          strings.Replace(good, kid, "../../dev/null"[:len(kid)-1]+"x", 1),
		"kid injection":     strings.Replace(good, kid, "x' OR '1'='1", 1),
		"kid trailing bits": strings.Replace(good, kid, aliasOf(kid[:11])+".jws", 1),
		"kid escaped":       strings.Replace(good, kid, `\u0041`+kid[1:], 1),
		"order":             `{"typ":"mcp-rs+jwt","alg":"HS256","kid":"` + kid + `"}`,
		"white space":       strings.Replace(good, ",", ", ", 1),
		"jwk":               with(`"jwk":` + jwk),
		"jku":               with(`"jku":"https://attacker.example/jwks.json"`),
		"x5u":               with(`"x5u":"https://attacker.example/cert.pem"`),
		"x5c":               with(`"x5c":["MIIB"]`),
		"crit":              with(`"crit":["exp"],"exp":1`),
		"crit b64":          with(`"b64":false,"crit":["b64"]`),
		"zip":               with(`"zip":"DEF"`),
		"p2c":               with(`"p2c":2147483647,"p2s":"AAAA"`),
		"cty JWT":           with(`"cty":"JWT"`),
		"unknown":           with(`"x":1`),
		"empty object":      "{}",
		"empty":             "",
		"array":             "[]",
		"not JSON":          strings.Repeat("A", len(good)),
	} {
		refused(t, s, hs256(key, h, validPayload), requeststate.ErrMalformed, what)
	}
	other := strings.Replace(good, kid, "AAAAAAAAAAA.jws", 1)
	refused(t, s, hs256(key, other, validPayload), requeststate.ErrUnknownKey, "unknown kid")
}

// aliasOf changes the trailing bits of a base64url text of 8 bytes.
func aliasOf(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, text[len(text)-1])
	return text[:len(text)-1] + string(alphabet[last|1])
}

// TestShapes are tokens whose header is good and whose shape is not.
func TestShapes(t *testing.T) {
	for _, f := range formats() {
		ring := newRing(t)
		s := opener(t, f, ring)
		good, other := mint(t, f.name, ring, validPayload), mint(t, f.name, ring, validPayload+" ")
		a, b := strings.Split(good, "."), strings.Split(other, ".")
		last := len(a) - 1
		for what, token := range map[string]string{
			"empty signature":    strings.Join(a[:last], ".") + ".",
			"no signature":       strings.Join(a[:last], "."),
			"extra segment":      good + ".",
			"extra segments":     good + ".AA.AA",
			"leading segment":    "." + good,
			"doubled":            good + "." + good,
			"JWS in JWE's shape": strings.Join([]string{a[0], a[1], a[1], a[1], a[last]}, ".."),
			"JSON":               `{"protected":"` + a[0] + `","payload":"` + a[1] + `","signature":"` + a[last] + `"}`,
			"general JSON":       `{"payload":"` + a[1] + `","signatures":[{"protected":"` + a[0] + `","signature":"` + a[last] + `"}]}`,
			"padded":             good + "=",
			"space":              " " + good,
			"newline inside":     a[0] + ".\n" + strings.Join(a[1:], "."),
			"trailing bits":      strings.TrimSuffix(good, a[last]) + aliasOf(a[last]),
			"longer signature":   good + "AAAA",
			"alphabet":           strings.TrimSuffix(good, a[last]) + "+" + a[last][1:],
			"megabyte of dots":   strings.Repeat(".", 60_000),
		} {
			refused(t, s, token, requeststate.ErrMalformed, f.name+" "+what)
		}
		for i := 1; i <= last; i++ {
			swapped := append([]string(nil), a...)
			swapped[i] = b[i]
			refused(t, s, strings.Join(swapped, "."), requeststate.ErrForged, f.name+" swapped segment")
		}
	}
}

// TestTagBoundary moves bytes of a JWE's ciphertext into its tag. go-jose joins the two before it decrypts, so it
// accepts each of these spellings.
func TestTagBoundary(t *testing.T) {
	if len(formats()) < 2 {
		return // no JWE under GODEBUG=fips140=only
	}
	f, ring := formats()[1], newRing(t)
	s := opener(t, f, ring)
	token := mint(t, f.name, ring, validPayload)
	key, _ := subkey(t, ring, "jwe")
	part := strings.Split(token, ".")
	ciphertext, _ := b64.DecodeString(part[3])
	tag, _ := b64.DecodeString(part[4])
	moved := strings.Join([]string{part[0], part[1], part[2], b64.EncodeToString(ciphertext[:len(ciphertext)-3]),
		b64.EncodeToString(append(append([]byte{}, ciphertext[len(ciphertext)-3:]...), tag...))}, ".")
	obj, err := gojose.ParseEncryptedCompact(moved, []gojose.KeyAlgorithm{gojose.A256KW}, []gojose.ContentEncryption{gojose.A256GCM})
	require.NoError(t, err)
	_, err = obj.Decrypt(key)
	assert.NoError(t, err, "go-jose no longer accepts it: the length check is a second line only")
	refused(t, s, moved, requeststate.ErrMalformed, "moved")
}

// TestJWEHeaders encrypts a good payload under headers that are not this format's.
func TestJWEHeaders(t *testing.T) {
	if len(formats()) < 2 {
		return // no JWE under GODEBUG=fips140=only
	}
	f, ring := formats()[1], newRing(t)
	s := opener(t, f, ring)
	key, kid := subkey(t, ring, "jwe")
	bomb := []byte(payload(memberID, memberTimes, memberDeadline, `"rs_text":"`+strings.Repeat("A", 200_000)+`"`))
	zipped := a256kw(t, key, kid, bomb, &gojose.EncrypterOptions{Compression: gojose.DEFLATE})
	assert.Less(t, len(zipped), 2000, "a bomb")
	refused(t, s, zipped, requeststate.ErrMalformed, "zip")
	extra := (&gojose.EncrypterOptions{}).WithContentType("JWT")
	refused(t, s, a256kw(t, key, kid, []byte(validPayload), extra), requeststate.ErrMalformed, "cty")
	for _, r := range []gojose.Recipient{
		{Algorithm: gojose.DIRECT, Key: key, KeyID: kid},
		{Algorithm: gojose.A256GCMKW, Key: key, KeyID: kid},
		{Algorithm: gojose.PBES2_HS512_A256KW, Key: key, KeyID: kid, PBES2Count: 1000},
	} {
		e, err := gojose.NewEncrypter(gojose.A256GCM, r, (&gojose.EncrypterOptions{}).WithType(jose.Type))
		require.NoError(t, err)
		obj, err := e.Encrypt([]byte(validPayload))
		require.NoError(t, err)
		token, err := obj.CompactSerialize()
		require.NoError(t, err)
		refused(t, s, token, requeststate.ErrMalformed, string(r.Algorithm))
	}
	// The header of this format, and a content key that is not 32 bytes, or wrapped under another key.
	good := strings.Split(mint(t, f.name, ring, validPayload), ".")
	for what, wrapped := range map[string]int{"empty": 0, "short": 24, "long": 48} {
		token := strings.Join([]string{good[0], b64.EncodeToString(make([]byte, wrapped)), good[2], good[3], good[4]}, ".")
		refused(t, s, token, requeststate.ErrMalformed, what)
	}
	refused(t, s, strings.Join([]string{good[0], b64.EncodeToString(make([]byte, 40)), good[2], good[3], good[4]}, "."), requeststate.ErrForged, "zeros")
}

// TestFormatsUnderOneKey gives every sealer every other format's tokens, sealed under the same ring: their sub-keys and
// headers keep them apart. So does a JWT of another kind under the ring's secret itself, and one token inside another.
func TestFormatsUnderOneKey(t *testing.T) {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i*i + 3*i)
	}
	key, err := requeststate.NewKey(secret)
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	all := append(formats(), formatCase{"rs1h", hmac.NewCodec, hmac.New}, formatCase{"rs1x", aead.NewCodec, aead.New})
	tokens := map[string]string{}
	for _, f := range all {
		tokens[f.name], err = opener(t, f, ring).Seal(ctx, []byte("state"))
		require.NoError(t, err)
	}
	for _, f := range all {
		s := opener(t, f, ring)
		for name, token := range tokens {
			if name != f.name {
				refused(t, s, token, requeststate.ErrMalformed, name+" given to "+f.name)
				refused(t, s, tokens[f.name]+"."+token, requeststate.ErrMalformed, "polyglot")
			}
			nested, err := s.Seal(ctx, []byte(token))
			require.NoError(t, err)
			o, err := s.Open(ctx, nested)
			require.NoError(t, err)
			assert.Equal(t, token, string(o.State), "a token inside a token is state, and never opened by itself")
		}
	}
	s, kid := opener(t, formats()[0], ring), key.ID().String()+".jws"
	refused(t, s, hs256(secret, header("JWS", kid), validPayload), requeststate.ErrForged, "signed with the secret itself")
	for _, purpose := range []string{"jwe", "rs1h", "rs1x", "rs1c", "principal", "request"} {
		other, _ := subkey(t, ring, purpose)
		refused(t, s, hs256(other, header("JWS", kid), validPayload), requeststate.ErrForged, "signed with the sub-key for "+purpose)
	}
}

// TestSplicedHeader puts the header of one ring's token on another's.
func TestSplicedHeader(t *testing.T) {
	for _, f := range formats() {
		one, two := newRing(t), newRing(t)
		both, err := requeststate.NewKeyring(one.First(), two.First())
		require.NoError(t, err)
		a, b := mint(t, f.name, one, validPayload), mint(t, f.name, two, validPayload)
		ha, _, _ := strings.Cut(a, ".")
		_, rest, _ := strings.Cut(b, ".")
		refused(t, opener(t, f, both), ha+"."+rest, requeststate.ErrForged, f.name)
		refused(t, opener(t, f, one), b, requeststate.ErrUnknownKey, f.name)
	}
}

// TestNoKeyInOutput prints what holds keys in every way.
func TestNoKeyInOutput(t *testing.T) {
	ring := newRing(t)
	_, err := jose.ParseKeys([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0LXNlY3JldA"}]}`))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "c2VjcmV0")
	raw, err := json.Marshal(ring)
	require.NoError(t, err)
	key, _ := subkey(t, ring, "jws")
	assert.NotContains(t, string(raw), b64.EncodeToString(key))
	assert.False(t, errors.Is(err, requeststate.ErrInvalid))
}
