package requeststate

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
)

// An ID names a token (its jti, RFC 7519 section 4.1.7) or a flow: 128 random bits.
type ID [16]byte

// newID draws an id. It cannot fail: crypto/rand ends the program if the system has no randomness.
func newID() (id ID) {
	_, _ = rand.Read(id[:])
	return id
}

// String is the id in base64url without padding, 22 characters.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// prefix is what logs show of a flow: 6 bytes in hex, enough to find it and too little to be it.
func (id ID) prefix() string { return hex.EncodeToString(id[:6]) }

// A KeyID names a key inside tokens: 64 bits derived from its secret, never chosen.
type KeyID [8]byte

// String is the key id in base64url without padding, 11 characters.
func (id KeyID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }
