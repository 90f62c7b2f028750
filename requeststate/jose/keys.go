package jose

import (
	"errors"
	"fmt"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Labels of the HKDF sub-keys. The first two are this package's; a test holds the others against the packages that they
// belong to.
const (
	labelJWS       = "mcp-requeststate v1 token jws"
	labelJWE       = "mcp-requeststate v1 token jwe"
	labelHMAC      = "mcp-requeststate v1 token rs1h"
	labelXAES      = "mcp-requeststate v1 token rs1x"
	labelXChaCha   = "mcp-requeststate v1 token rs1c"
	labelPrincipal = "mcp-requeststate v1 principal tag"
	labelRequest   = "mcp-requeststate v1 request tag"
)

// Suffixes of the kids of a key's sub-keys.
const (
	suffixJWS = ".jws"
	suffixJWE = ".jwe"
)

// A purpose is one use of a key: what SecretJWKS gives away.
type purpose struct{ suffix, label, alg, use string }

var purposes = []purpose{
	{suffixJWS, labelJWS, string(jose.HS256), "sig"},
	{suffixJWE, labelJWE, string(jose.A256KW), "enc"},
	{".rs1h", labelHMAC, "", ""},
	{".rs1x", labelXAES, "", ""},
	{".rs1c", labelXChaCha, "", ""},
	{".principal", labelPrincipal, "", ""},
	{".request", labelRequest, "", ""},
}

// maxKeys is far above any real ring; a longer set is a file given by mistake.
const maxKeys = 1000

// ParseKeys reads the secrets of a ring from a JWK Set, or from a single JWK (RFC 7517): keys of kty "oct" (RFC 7518
// section 6.4) with at least 32 bytes of a random source, which [requeststate.NewKey] checks. The order is kept, so
// that the first key is the one to seal under. Members other than kty and k are not used: key ids are derived, never
// chosen.
//
// A key of another kind, a secret that is there twice, a set without keys, and a key that [SecretJWKS] made are
// errors. Errors never contain a part of jwks.
func ParseKeys(jwks []byte) ([]requeststate.Key, error) {
	raws, err := split(jwks)
	if err != nil {
		return nil, err
	}
	keys := make([]requeststate.Key, 0, len(raws))
	seen := make(map[requeststate.KeyID]bool)
	for i, raw := range raws {
		key, err := parseKey(raw)
		if err != nil {
			return nil, fmt.Errorf("jose: key %d of %d: %w", i+1, len(raws), err)
		}
		if seen[key.ID()] {
			return nil, fmt.Errorf("jose: key %d of %d, id %s, is there twice", i+1, len(raws), key.ID())
		}
		seen[key.ID()] = true
		keys = append(keys, key)
	}
	return keys, nil
}

// split returns the JWKs of a set, or the one JWK.
func split(jwks []byte) ([]json.RawMessage, error) {
	// go-jose's own JWK Set drops keys that it does not know. Its json is strict about case and names that are twice.
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
		Type *string            `json:"kty"`
	}
	if err := json.Unmarshal(jwks, &set); err != nil {
		return nil, errors.New("jose: not a JWK Set in JSON")
	}
	switch {
	case set.Keys != nil && set.Type != nil:
		return nil, errors.New("jose: both a JWK Set and a JWK")
	case set.Type != nil:
		return []json.RawMessage{jwks}, nil
	case set.Keys == nil || len(*set.Keys) == 0:
		return nil, errors.New("jose: a JWK Set without keys")
	case len(*set.Keys) > maxKeys:
		return nil, fmt.Errorf("jose: %d keys, want at most %d", len(*set.Keys), maxKeys)
	}
	return *set.Keys, nil
}

func parseKey(raw []byte) (requeststate.Key, error) {
	var k jose.JSONWebKey
	if err := k.UnmarshalJSON(raw); err != nil {
		return requeststate.Key{}, errors.New("not a JWK that go-jose reads") // its error may quote the key
	}
	secret, ok := k.Key.([]byte)
	if !ok {
		return requeststate.Key{}, errors.New(`kty is not "oct": tokens are sealed and opened with one secret`)
	}
	for _, p := range purposes {
		if id, ok := strings.CutSuffix(k.KeyID, p.suffix); ok && len(id) == idText {
			return requeststate.Key{}, errors.New("a derived key of SecretJWKS, not a secret to derive from")
		}
	}
	return requeststate.NewKey(secret)
}

// SecretJWKS returns a JWK Set for an implementation in another language: the sub-keys of each key of the ring, the
// key that seals first, and not the keys' own secrets, which nothing but the ring needs. Each has a kid of key id and
// purpose, as in "Ws1QtM2V1uk.jws"; docs/token-format-jwt.md lists the purposes. Leave out what the other side does
// not need. Everything in it is secret: who has it makes tokens.
func SecretJWKS(ring *requeststate.Keyring) ([]byte, error) {
	if err := ring.Check(); err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	for _, key := range ring.Keys() {
		for _, p := range purposes {
			subkey, err := key.Subkey(p.label)
			if err != nil {
				return nil, err
			}
			kid := key.ID().String() + p.suffix
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: subkey, KeyID: kid, Algorithm: p.alg, Use: p.use})
		}
	}
	return json.Marshal(set)
}
