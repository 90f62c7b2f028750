package requeststate_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/fips140"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/mcp-requeststate/requeststate-go/internal/reqdigest"
)

// This file is docs/token-format.md once more, written from the document and not from the code, with ids and nonces that the
// caller chooses. It makes the vectors, also those that no sealer would make.

func refSubkey(secret []byte, label string, n int) []byte {
	return must(hkdf.Key(sha256.New, secret, nil, label, n))
}

func refMAC(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

type refClaims struct {
	flags          *byte // nil: computed
	id             []byte
	iat            uint64
	ttl, flowRest  uint32 // exp−iat and deadline−exp
	round          byte
	flow           []byte
	audience       *string
	principal      []string
	method, params string
	mode           byte
	epoch          *string
	state          []byte
	tagSecret      []byte // nil: the key that seals
}

func (c refClaims) bytes(secret []byte) []byte {
	var flags byte
	if c.tagSecret != nil {
		secret = c.tagSecret
	}
	var tail []byte
	if c.round != 0 {
		flags |= 8
		tail = append(append(tail, c.round), c.flow...)
	}
	if c.audience != nil {
		flags |= 1
		tail = append(append(tail, byte(len(*c.audience))), *c.audience...)
	}
	if c.principal != nil {
		flags |= 2
		in := []byte("mcp-requeststate v1 principal\x00")
		for _, part := range c.principal {
			in = binary.BigEndian.AppendUint64(in, uint64(len(part)))
			in = append(in, part...)
		}
		digest := sha256.Sum256(in)
		tail = append(tail, refMAC(refSubkey(secret, "mcp-requeststate v1 principal tag", 32), c.id, digest[:])[:16]...)
	}
	if c.method != "" {
		flags |= 4
		digest := must(reqdigest.Sum(c.method, []byte(c.params)))
		tail = append(tail, refMAC(refSubkey(secret, "mcp-requeststate v1 request tag", 32), c.id, digest[:])[:16]...)
	}
	flags |= c.mode << 4
	if c.epoch != nil {
		tail = append(append(tail, byte(len(*c.epoch))), *c.epoch...)
	}
	if c.flags != nil {
		flags = *c.flags
	}
	b := append([]byte{flags}, c.id...)
	b = append(b, binary.BigEndian.AppendUint64(nil, c.iat)[3:]...)
	b = append(b, binary.BigEndian.AppendUint32(nil, c.ttl)[1:]...)
	b = append(b, binary.BigEndian.AppendUint32(nil, c.flowRest)[1:]...)
	return append(append(b, tail...), c.state...)
}

var refPrefix = map[string]string{"hmac": "rs1h.", "aead": "rs1x.", "xchacha": "rs1c."}

// refBody is what the text encodes. prefix and nonce are given so that vectors can get them wrong.
func refBody(format, prefix string, secret, nonce, claims []byte) (body []byte) {
	id := refSubkey(secret, "mcp-requeststate v1 key id", 8)
	key := refSubkey(secret, "mcp-requeststate v1 token "+refPrefix[format][:4], 32)
	if format == "hmac" {
		return append(append(id, claims...), refMAC(key, []byte(prefix), id, claims)...)
	}
	additional := append([]byte(prefix), id...)
	fips140.WithoutEnforcement(func() { // chosen nonces, and XChaCha
		var aead cipher.AEAD
		sealNonce := nonce
		if format == "xchacha" {
			aead = must(chacha20poly1305.NewX(key))
		} else {
			aead, sealNonce = must(cipher.NewGCM(must(aes.NewCipher(refXAESKey(key, nonce[:12]))))), nonce[12:]
		}
		body = aead.Seal(append(append([]byte{}, id...), nonce...), sealNonce, claims, additional)
	})
	return body
}

// refXAESKey is XAES-256-GCM's key derivation, straight from its document: CMAC of two single blocks.
func refXAESKey(key, nonce []byte) (out []byte) {
	block := must(aes.NewCipher(key))
	k1 := make([]byte, 16)
	block.Encrypt(k1, k1)
	hi, lo := binary.BigEndian.Uint64(k1), binary.BigEndian.Uint64(k1[8:])
	carry := hi >> 63
	hi, lo = hi<<1|lo>>63, lo<<1^carry*0x87
	binary.BigEndian.PutUint64(k1, hi)
	binary.BigEndian.PutUint64(k1[8:], lo)
	for _, counter := range []byte{1, 2} {
		m := append([]byte{0, counter, 'X', 0}, nonce...)
		for i := range m {
			m[i] ^= k1[i]
		}
		block.Encrypt(m, m)
		out = append(out, m...)
	}
	return out
}

func refToken(prefix string, body []byte) string {
	return prefix + base64.RawURLEncoding.EncodeToString(body)
}
