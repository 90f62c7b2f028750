package requeststate

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// A Tag is what a token shows of a binding: 128 bits of HMAC-SHA-256 under a sub-key of the token's key, salted with the
// token's id, so that two tokens of one principal cannot be linked and nobody without the key can guess the principal.
type Tag [16]byte

// macPool keeps keyed HMACs: Reset of one costs a third of making one (RFC 2104's two key blocks stay hashed).
type macPool struct{ pool sync.Pool }

type mac struct {
	hash.Hash
	sum [sha256.Size]byte // here so that Sum does not allocate
	in  [16 + 32]byte
}

func (p *macPool) init(key []byte) {
	p.pool.New = func() any { return &mac{Hash: hmac.New(sha256.New, key)} }
}

// tag is HMAC(sub-key, id ‖ digest)[:16]. Both inputs have a fixed length, so no two pairs share an input.
func (p *macPool) tag(id ID, digest *[32]byte) (t Tag) {
	m := p.pool.Get().(*mac)
	copy(m.in[:], id[:])
	copy(m.in[len(id):], digest[:])
	m.Reset()
	m.Write(m.in[:])
	copy(t[:], m.Sum(m.sum[:0]))
	p.pool.Put(m)
	return t
}
