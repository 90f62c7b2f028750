// Package aead makes sealers whose tokens are encrypted: the client can neither read nor change the state.
//
// [New] is for everybody: XAES-256-GCM, on AES instructions, also under GODEBUG=fips140=only. [NewXChaCha20Poly1305] is for
// machines without AES instructions. Both have nonces of 192 random bits, so the number of tokens under one key has no
// practical limit to count (2^80 at a collision probability of 2^-32).
//
// A token is "rs1x." or "rs1c." and the base64url of key id (8 bytes), nonce (24), encrypted claims, and tag (16);
// docs/token-format.md has it exactly.
package aead

import (
	"context"
	"crypto/fips140"
	"errors"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/wire"
)

// Prefixes of the two formats. They are associated data of every token.
const (
	PrefixXAES    = "rs1x."
	PrefixXChaCha = "rs1c."
)

// Labels that separate the two sub-keys from each other and all others.
const (
	labelXAES    = "mcp-requeststate v1 token rs1x"
	labelXChaCha = "mcp-requeststate v1 token rs1c"
)

const (
	idSize   = len(requeststate.KeyID{})
	overhead = 24 + 16 // nonce and tag, in both formats
)

// New returns a sealer that encrypts with XAES-256-GCM (https://c2sp.org/XAES-256-GCM) under the first key of ring and accepts all
// of its keys. Errors are those of [requeststate.New].
func New(ring *requeststate.Keyring, opts ...requeststate.Option) (requeststate.Sealer, error) {
	return seal(opts)(NewCodec(ring))
}

// NewXChaCha20Poly1305 returns a sealer that encrypts with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha). It is not a FIPS 140
// algorithm, and an error under GODEBUG=fips140=only. Other errors are those of [requeststate.New].
func NewXChaCha20Poly1305(ring *requeststate.Keyring, opts ...requeststate.Option) (requeststate.Sealer, error) {
	return seal(opts)(NewXChaCha20Poly1305Codec(ring))
}

func seal(opts []requeststate.Option) func(requeststate.Codec, error) (requeststate.Sealer, error) {
	return func(c requeststate.Codec, err error) (requeststate.Sealer, error) {
		if err != nil {
			return nil, err
		}
		return requeststate.New(c, opts...)
	}
}

// NewCodec returns the codec of [New] alone, for wrapping it.
func NewCodec(ring *requeststate.Keyring) (requeststate.Codec, error) {
	return codec{ring, PrefixXAES, labelXAES, newXAES}, ring.Check()
}

// NewXChaCha20Poly1305Codec returns the codec of [NewXChaCha20Poly1305] alone, for wrapping it.
func NewXChaCha20Poly1305Codec(ring *requeststate.Keyring) (requeststate.Codec, error) {
	if fips140.Enforced() {
		return nil, errors.New("aead: XChaCha20-Poly1305 is not approved under GODEBUG=fips140=only; use aead.New")
	}
	return codec{ring, PrefixXChaCha, labelXChaCha, newXChaCha}, ring.Check()
}

// box is one AEAD under one sub-key. Both of its methods append to dst, whose free part overlaps nothing.
type box interface {
	// seal appends a random nonce, the ciphertext of plain, and the tag.
	seal(dst, plain, additional []byte) ([]byte, error)
	// open appends the plaintext of what seal appended.
	open(dst, sealed, additional []byte) ([]byte, error)
}

type codec struct {
	ring          *requeststate.Keyring
	prefix, label string
	build         func(subkey []byte) (box, error)
}

func (c codec) Seal(_ context.Context, draft *requeststate.Draft) (string, error) {
	key := c.ring.First()
	b, err := requeststate.Derive(key, c.label, c.build)
	if err != nil {
		return "", err
	}
	claims, err := draft.Claims(key)
	if err != nil {
		return "", err
	}
	plain, sealed := wire.Get(512), wire.Get(1024)
	defer plain.Put()
	defer sealed.Put()
	if plain.B, err = claims.Append(plain.B); err != nil {
		return "", err
	}
	id := key.ID()
	sealed.B = append(append(sealed.B, c.prefix...), id[:]...)
	if sealed.B, err = b.seal(sealed.B, plain.B, c.additional(sealed.B)); err != nil {
		return "", err
	}
	return wire.Encode(c.prefix, sealed), nil
}

func (c codec) Open(_ context.Context, token string, claims *requeststate.Claims) (requeststate.Key, error) {
	// 2. Prefix and spelling.
	buf := wire.Get(len(token))
	defer buf.Put()
	raw, ok := wire.AppendDecode(buf.B, c.prefix, token, idSize+overhead)
	if !ok {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	// 3. Key id: one look-up.
	key, ok := c.ring.Lookup(requeststate.KeyID(raw[len(c.prefix):]))
	if !ok {
		return requeststate.Key{}, requeststate.ErrUnknownKey
	}
	// 4. Authenticate and decrypt.
	b, err := requeststate.Derive(key, c.label, c.build)
	if err != nil {
		return requeststate.Key{}, err
	}
	sealed := raw[len(c.prefix)+idSize:]
	plain, err := b.open(make([]byte, 0, len(sealed)-overhead), sealed, c.additional(raw))
	if err != nil {
		return key, requeststate.ErrForged
	}
	// 5. Claims.
	return key, claims.Decode(plain)
}

// additional is the associated data of the token that begins with b: prefix and key id, both of a fixed length.
func (c codec) additional(b []byte) []byte { return b[:len(c.prefix)+idSize] }
