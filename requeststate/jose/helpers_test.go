package jose_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	gojose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

var ctx = context.Background()

// issued is the time of the tokens that tests mint by hand.
var issued = time.Unix(1_800_000_000, 0)

var b64 = base64.RawURLEncoding

// subkey returns what SecretJWKS tells another implementation of the ring's first key for one purpose.
func subkey(t testing.TB, ring *requeststate.Keyring, purpose string) (key []byte, kid string) {
	t.Helper()
	raw, err := jose.SecretJWKS(ring)
	require.NoError(t, err)
	var set gojose.JSONWebKeySet
	require.NoError(t, json.Unmarshal(raw, &set))
	kid = ring.First().ID().String() + "." + strings.ToLower(purpose)
	found := set.Key(kid)
	require.Len(t, found, 1, kid)
	return found[0].Key.([]byte), kid
}

// header is the header of a format as the document has it.
func header(name, kid string) string {
	if name == "JWS" {
		return `{"alg":"HS256","kid":"` + kid + `","typ":"mcp-rs+jwt"}`
	}
	return `{"alg":"A256KW","enc":"A256GCM","kid":"` + kid + `","typ":"mcp-rs+jwt"}`
}

// hs256 is a JWS made by hand, whatever its header and payload.
func hs256(key []byte, header, payload string) string {
	input := b64.EncodeToString([]byte(header)) + "." + b64.EncodeToString([]byte(payload))
	m := hmac.New(sha256.New, key)
	m.Write([]byte(input))
	return input + "." + b64.EncodeToString(m.Sum(nil))
}

// mint is another implementation's token of that payload.
func mint(t testing.TB, name string, ring *requeststate.Keyring, payload string) string {
	t.Helper()
	key, kid := subkey(t, ring, name)
	if name == "JWS" {
		return hs256(key, header(name, kid), payload)
	}
	return a256kw(t, key, kid, []byte(payload), nil)
}

func a256kw(t testing.TB, key []byte, kid string, payload []byte, opts *gojose.EncrypterOptions) string {
	t.Helper()
	if opts == nil {
		opts = &gojose.EncrypterOptions{}
	}
	e, err := gojose.NewEncrypter(gojose.A256GCM, gojose.Recipient{Algorithm: gojose.A256KW, Key: key, KeyID: kid}, opts.WithType(jose.Type))
	require.NoError(t, err)
	obj, err := e.Encrypt(payload)
	require.NoError(t, err)
	token, err := obj.CompactSerialize()
	require.NoError(t, err)
	return token
}

// opener is a sealer without bindings, which opens what mint makes.
func opener(t testing.TB, f formatCase, ring *requeststate.Keyring) requeststate.Sealer {
	t.Helper()
	s, err := f.new(ring, requeststate.WithoutAudience(), requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(),
		requeststate.WithClock(func() time.Time { return issued }))
	require.NoError(t, err)
	return s
}

// refused checks one rejection.
func refused(t testing.TB, s requeststate.Sealer, token string, want error, what string) {
	t.Helper()
	o, err := s.Open(ctx, token)
	assert.Nil(t, o, what)
	if !assert.ErrorIs(t, err, requeststate.ErrInvalid, what) {
		return
	}
	assert.Equal(t, requeststate.ErrInvalid.Error(), err.Error(), what)
	var got *requeststate.Error
	errors.As(err, &got)
	assert.Equal(t, want.(*requeststate.Error).Reason(), got.Reason(), what)
}
