// Package hmac makes sealers whose tokens are signed and readable: HMAC-SHA-256 (RFC 2104, FIPS 198-1) over the binary
// claims. The client can read the state but not change it; use package aead if it must not read it.
//
// A token is "rs1h." and the base64url of key id (8 bytes), claims, and MAC (32 bytes); docs/token-format.md has it exactly.
package hmac

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/wire"
)

// Prefix starts every token of this format. The MAC covers it.
const Prefix = "rs1h."

// label separates this format's sub-key from all others.
const label = "mcp-requeststate v1 token rs1h"

const (
	idSize  = len(requeststate.KeyID{})
	macSize = sha256.Size
)

// New returns a sealer that signs under the first key of ring and accepts all of its keys. Errors are those of
// [requeststate.New].
func New(ring *requeststate.Keyring, opts ...requeststate.Option) (requeststate.Sealer, error) {
	codec, err := NewCodec(ring)
	if err != nil {
		return nil, err
	}
	return requeststate.New(codec, opts...)
}

// NewCodec returns the codec alone, for wrapping it.
func NewCodec(ring *requeststate.Keyring) (requeststate.Codec, error) {
	if err := ring.Check(); err != nil {
		return nil, err
	}
	return codec{ring}, nil
}

type codec struct{ ring *requeststate.Keyring }

func (c codec) Seal(_ context.Context, draft *requeststate.Draft) (string, error) {
	key := c.ring.First()
	macs, err := requeststate.Derive(key, label, newMACs)
	if err != nil {
		return "", err
	}
	claims, err := draft.Claims(key)
	if err != nil {
		return "", err
	}
	buf := wire.Get(512)
	defer buf.Put()
	id := key.ID()
	buf.B = append(append(buf.B, Prefix...), id[:]...)
	if buf.B, err = claims.Append(buf.B); err != nil {
		return "", err
	}
	m := macs.sum(buf.B)
	buf.B = append(buf.B, m.out[:]...)
	macs.pool.Put(m)
	return wire.Encode(Prefix, buf), nil
}

func (c codec) Open(_ context.Context, token string, claims *requeststate.Claims) (requeststate.Key, error) {
	// 2. Prefix and spelling.
	raw, ok := wire.Decode(Prefix, token, idSize+macSize)
	if !ok {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	// 3. Key id: one look-up.
	key, ok := c.ring.Lookup(requeststate.KeyID(raw[len(Prefix):]))
	if !ok {
		return requeststate.Key{}, requeststate.ErrUnknownKey
	}
	// 4. Authenticate, in constant time.
	macs, err := requeststate.Derive(key, label, newMACs)
	if err != nil {
		return requeststate.Key{}, err
	}
	body, tag := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	m := macs.sum(body)
	authentic := hmac.Equal(m.out[:], tag)
	macs.pool.Put(m)
	if !authentic {
		return key, requeststate.ErrForged
	}
	// 5. Claims.
	return key, claims.Decode(body[len(Prefix)+idSize:])
}

// macs keeps HMACs keyed with one sub-key: Reset costs a third of hmac.New.
type macs struct{ pool sync.Pool }

type mac struct {
	hash.Hash
	out [macSize]byte // here so that Sum does not allocate
}

func newMACs(subkey []byte) (*macs, error) {
	p := &macs{}
	p.pool.New = func() any { return &mac{Hash: hmac.New(sha256.New, subkey)} }
	return p, nil
}

// sum computes the MAC of body: prefix and key id, which have fixed lengths, and the claims, which are the rest. The caller
// returns m to the pool.
func (p *macs) sum(body []byte) *mac {
	m := p.pool.Get().(*mac)
	m.Reset()
	m.Write(body)
	m.Sum(m.out[:0])
	return m
}
