// Package jose makes sealers whose tokens are standard JWTs, for fleets where another language must read them, and
// for people with a JWT debugger. The claims, bindings, single use and errors are those of the other formats; the
// cryptography and the key formats are go-jose's.
//
// [NewJWS] signs (HS256): the client can read the state but not change it. [NewJWE] encrypts (A256KW and A256GCM, a
// fresh content key for each token, so that no number of tokens is too many for one key).
//
// The header is fixed. Its segment must equal, byte for byte, the one that the ring's key would write, and nothing of
// it is interpreted; so there is no alg, crit, jwk, jku, zip or p2c to play with. docs/token-format-jwt.md has both
// formats exactly.
package jose

import (
	"context"
	"crypto/fips140"
	"errors"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/wire"
)

// Type is the typ of every token's header (RFC 8725 section 3.11): no other kind of JWT has it.
const Type = "mcp-rs+jwt"

// NewJWS returns a sealer of signed tokens under the first key of ring that accepts all of its keys. Errors are those
// of [requeststate.New].
func NewJWS(ring *requeststate.Keyring, opts ...requeststate.Option) (requeststate.Sealer, error) {
	return seal(opts)(NewJWSCodec(ring))
}

// NewJWE returns a sealer of encrypted tokens under the first key of ring that accepts all of its keys. It is an
// error under GODEBUG=fips140=only, where go-jose's AES-GCM is not approved because it is given its nonce; use
// aead.New there. Other errors are those of [requeststate.New].
func NewJWE(ring *requeststate.Keyring, opts ...requeststate.Option) (requeststate.Sealer, error) {
	return seal(opts)(NewJWECodec(ring))
}

func seal(opts []requeststate.Option) func(requeststate.Codec, error) (requeststate.Sealer, error) {
	return func(c requeststate.Codec, err error) (requeststate.Sealer, error) {
		if err != nil {
			return nil, err
		}
		return requeststate.New(c, opts...)
	}
}

// NewJWSCodec returns the codec of [NewJWS] alone, for wrapping it.
func NewJWSCodec(ring *requeststate.Keyring) (requeststate.Codec, error) {
	if err := ring.Check(); err != nil {
		return nil, err
	}
	return codec{ring, &jws}, nil
}

// NewJWECodec returns the codec of [NewJWE] alone, for wrapping it.
func NewJWECodec(ring *requeststate.Keyring) (requeststate.Codec, error) {
	if fips140.Enforced() {
		return nil, errors.New("jose: JWE is not approved under GODEBUG=fips140=only; use aead.New, or NewJWS")
	}
	if err := ring.Check(); err != nil {
		return nil, err
	}
	return codec{ring, &jwe}, nil
}

type codec struct {
	ring *requeststate.Keyring
	*format
}

func (c codec) Seal(_ context.Context, draft *requeststate.Draft) (string, error) {
	key := c.ring.First()
	b, err := c.box(key)
	if err != nil {
		return "", err
	}
	claims, err := draft.Claims(key)
	if err != nil {
		return "", err
	}
	payload := wire.Get(512 + 2*len(claims.State))
	defer payload.Put()
	if payload.B, err = appendClaims(payload.B, claims); err != nil {
		return "", err
	}
	return b.seal(payload.B)
}

func (c codec) Open(_ context.Context, token string, claims *requeststate.Claims) (requeststate.Key, error) {
	// 2. Spelling. The header is compared with what this package writes, never interpreted.
	header, ok := c.split(token)
	if !ok {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	id, ok := c.keyID(header)
	if !ok {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	// 3. Key id: one look-up.
	key, ok := c.ring.Lookup(id)
	if !ok {
		return requeststate.Key{}, requeststate.ErrUnknownKey
	}
	b, err := c.box(key)
	if err != nil {
		return requeststate.Key{}, err
	}
	if header != b.header() {
		return key, requeststate.ErrMalformed // unreachable: keyID leaves no other header with this id
	}
	// 4. Authenticate, and decrypt.
	payload, err := b.open(token)
	if err != nil {
		return key, err
	}
	// 5. Claims.
	return key, parseClaims(payload, claims)
}
