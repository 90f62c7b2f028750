package aead

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/wire"
)

// xaes is XAES-256-GCM (https://c2sp.org/XAES-256-GCM): the first half of the 24-byte nonce derives a key for AES-256-GCM, whose
// own nonce is the second half.
type xaes struct {
	block cipher.Block
	k1    [aes.BlockSize]byte // CMAC's sub-key K1 (NIST SP 800-38B section 6.1)
}

const (
	keySize        = 32
	xaesPrefixSize = 12 // bytes of the nonce that go into the derived key
)

var zeroKey [keySize]byte

func newXAES(key []byte) (box, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	x := &xaes{block: block}
	block.Encrypt(x.k1[:], x.k1[:])
	msb := 0
	for i := len(x.k1) - 1; i >= 0; i-- { // shift left by one bit
		msb, x.k1[i] = int(x.k1[i]>>7), x.k1[i]<<1|byte(msb)
	}
	x.k1[len(x.k1)-1] ^= byte(subtle.ConstantTimeSelect(msb, 0x87, 0))
	return x, nil
}

// deriveKey sets key to the AES-256 key that belongs to the nonce's first half: CMAC of the counter blocks 1 and 2, which are
// single blocks, so that CMAC is one encryption each (NIST SP 800-108r1 section 4.1).
func (x *xaes) deriveKey(key, prefix []byte) {
	for i := range 2 {
		half := key[i*aes.BlockSize : (i+1)*aes.BlockSize]
		copy(half, []byte{0, byte(i + 1), 'X', 0})
		copy(half[4:], prefix)
		subtle.XORBytes(half, half, x.k1[:])
		x.block.Encrypt(half, half)
	}
}

// derive returns AES-256-GCM under that key. The AEAD draws its own nonce, which is the only kind that fips140=only lets
// through; a second half drawn there is as good as one drawn here.
func (x *xaes) derive(prefix []byte) (cipher.AEAD, error) {
	scratch := wire.Get(keySize)
	defer scratch.Put() // wipes it
	key := append(scratch.B, zeroKey[:]...)
	scratch.B = key
	x.deriveKey(key, prefix)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (x *xaes) seal(dst, plain, additional []byte) ([]byte, error) {
	var prefix [xaesPrefixSize]byte
	_, _ = rand.Read(prefix[:]) // never fails
	gcm, err := x.derive(prefix[:])
	if err != nil {
		return nil, err
	}
	return gcm.Seal(append(dst, prefix[:]...), nil, plain, additional), nil
}

func (x *xaes) open(dst, sealed, additional []byte) ([]byte, error) {
	gcm, err := x.derive(sealed[:xaesPrefixSize])
	if err != nil {
		return nil, err
	}
	return gcm.Open(dst, nil, sealed[xaesPrefixSize:], additional)
}

// xchacha is XChaCha20-Poly1305.
type xchacha struct{ cipher.AEAD }

func newXChaCha(key []byte) (box, error) {
	a, err := chacha20poly1305.NewX(key)
	return xchacha{a}, err
}

func (x xchacha) seal(dst, plain, additional []byte) ([]byte, error) {
	var zero [chacha20poly1305.NonceSizeX]byte
	sealed := append(dst, zero[:]...)
	nonce := sealed[len(dst):] // in place, because a variable would be allocated for the call of an interface
	_, _ = rand.Read(nonce)    // never fails
	return x.Seal(sealed, nonce, plain, additional), nil
}

func (x xchacha) open(dst, sealed, additional []byte) ([]byte, error) {
	nonce := sealed[:chacha20poly1305.NonceSizeX]
	return x.Open(dst, nonce, sealed[len(nonce):], additional)
}
