package aead

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"crypto/sha3"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sealWithNonce is XAES-256-GCM with a given nonce: the key that production code derives, and a GCM that takes a nonce, which
// the production call does not.
func sealWithNonce(t *testing.T, x *xaes, nonce, plain, additional []byte) []byte {
	t.Helper()
	var sealed []byte
	fips140.WithoutEnforcement(func() {
		key := make([]byte, keySize)
		x.deriveKey(key, nonce[:xaesPrefixSize])
		block, err := aes.NewCipher(key)
		require.NoError(t, err)
		gcm, err := cipher.NewGCM(block)
		require.NoError(t, err)
		sealed = gcm.Seal(bytes.Clone(nonce), nonce[xaesPrefixSize:], plain, additional)
	})
	return sealed
}

// The vectors of https://c2sp.org/XAES-256-GCM.
func TestXAESVectors(t *testing.T) {
	for _, v := range []struct{ key, additional, want string }{
		{"\x01", "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{"\x03", "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		b, err := newXAES(bytes.Repeat([]byte(v.key), 32))
		require.NoError(t, err)
		x := b.(*xaes)
		nonce, plain := []byte("ABCDEFGHIJKLMNOPQRSTUVWX"), []byte("XAES-256-GCM")

		sealed := sealWithNonce(t, x, nonce, plain, []byte(v.additional))
		assert.Equal(t, v.want, hex.EncodeToString(sealed[len(nonce):]))

		opened, err := x.open(nil, sealed, []byte(v.additional))
		require.NoError(t, err)
		assert.Equal(t, plain, opened)

		ours, err := x.seal(nil, plain, []byte(v.additional))
		require.NoError(t, err)
		opened, err = x.open(nil, ours, []byte(v.additional))
		require.NoError(t, err)
		assert.Equal(t, plain, opened)
	}
}

// The accumulated test of the same document: random keys, nonces, plaintexts and associated data from one SHAKE128, the
// ciphertexts into another.
func TestXAESAccumulated(t *testing.T) {
	iterations, want := 10_000, "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"
	in, out := sha3.NewSHAKE128(), sha3.NewSHAKE128()
	draw := func(n int) []byte {
		b := make([]byte, n)
		_, _ = in.Read(b)
		return b
	}
	for range iterations {
		b, err := newXAES(draw(32))
		require.NoError(t, err)
		nonce := draw(24)
		plain := draw(int(draw(1)[0]))
		additional := draw(int(draw(1)[0]))
		sealed := sealWithNonce(t, b.(*xaes), nonce, plain, additional)
		_, _ = out.Write(sealed[len(nonce):])
		opened, err := b.open(nil, sealed, additional)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, opened))
	}
	got := make([]byte, 32)
	_, _ = out.Read(got)
	assert.Equal(t, want, hex.EncodeToString(got))
}
