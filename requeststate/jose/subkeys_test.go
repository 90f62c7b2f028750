package jose_test

import (
	"crypto/aes"
	"crypto/cipher"
	stdhmac "crypto/hmac"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

// TestSubkeysOfOtherFormats: what SecretJWKS says opens the tokens of packages hmac and aead, and makes their tags.
func TestSubkeysOfOtherFormats(t *testing.T) {
	ring := newRing(t)
	token := func(new func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)) []byte {
		s, err := new(ring, requeststate.WithoutAudience())
		require.NoError(t, err)
		text, err := s.Seal(ctx, []byte("state"), requeststate.Principal("p"), requeststate.ResourceRead("u"))
		require.NoError(t, err)
		raw, err := b64.DecodeString(text[5:])
		require.NoError(t, err)
		return raw
	}
	check := func(name string, claims []byte) {
		var c requeststate.Claims
		require.NoError(t, c.Decode(claims), name)
		assert.Equal(t, "state", string(c.State), name)
		key, _ := subkey(t, ring, "principal")
		var digest [32]byte
		m := sha256.New()
		m.Write([]byte("mcp-requeststate v1 principal\x00\x00\x00\x00\x00\x00\x00\x00\x01p"))
		m.Sum(digest[:0])
		assert.Equal(t, sum(key, c.ID[:], digest[:])[:16], c.Principal[:], name)
		key, _ = subkey(t, ring, "request")
		assert.NotEqual(t, sum(key, c.ID[:], digest[:])[:16], c.Request[:], name)
	}
	id := ring.First().ID()

	raw := token(hmac.New)
	key, _ := subkey(t, ring, "rs1h")
	body, tag := raw[:len(raw)-32], raw[len(raw)-32:]
	assert.Equal(t, sum(key, []byte("rs1h."), body), tag)
	check("rs1h", body[8:])

	raw = token(aead.New)
	key, _ = subkey(t, ring, "rs1x")
	gcm := xaes(t, key, raw[8:20])
	claims, err := gcm.Open(nil, nil, raw[20:], append([]byte("rs1x."), id[:]...))
	require.NoError(t, err)
	check("rs1x", claims)

	if s, err := aead.NewXChaCha20Poly1305(ring, requeststate.WithoutAudience()); s == nil {
		assert.ErrorContains(t, err, "fips")
		return
	}
	raw = token(aead.NewXChaCha20Poly1305)
	key, _ = subkey(t, ring, "rs1c")
	x, err := chacha20poly1305.NewX(key)
	require.NoError(t, err)
	claims, err = x.Open(nil, raw[8:32], raw[32:], append([]byte("rs1c."), id[:]...))
	require.NoError(t, err)
	check("rs1c", claims)
}

func sum(key []byte, parts ...[]byte) []byte {
	m := stdhmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// xaes is XAES-256-GCM's derived AEAD, from its specification.
func xaes(t *testing.T, key, prefix []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	k1 := make([]byte, 16)
	block.Encrypt(k1, k1)
	carry := k1[0] >> 7
	for i := range 15 {
		k1[i] = k1[i]<<1 | k1[i+1]>>7
	}
	k1[15] = k1[15]<<1 ^ carry*0x87
	var derived []byte
	for i := range 2 {
		m := append([]byte{0, byte(i + 1), 'X', 0}, prefix...)
		for j := range m {
			m[j] ^= k1[j]
		}
		block.Encrypt(m, m)
		derived = append(derived, m...)
	}
	block, err = aes.NewCipher(derived)
	require.NoError(t, err)
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	return gcm
}
