package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

var b64 = base64.RawURLEncoding.Strict()

// floor is the least that the job can cost with these primitives: one goroutine, keyed hashes and buffers that are reused, no
// checks of form, no key look-up, no options, no audience.
type floor struct {
	principal, request hash.Hash
	caller, buf, text  []byte
	sum                []byte
	digest             [32]byte
	id                 [16]byte
}

func newFloor() *floor { return &floor{principal: keyed(), request: keyed()} }

func keyed() hash.Hash {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return hmac.New(sha256.New, key)
}

// tags appends the two tags for the id, as docs/token-format.md has them: a MAC of the id and a digest each.
func (f *floor) tags(dst, id []byte) []byte {
	f.caller = append(f.caller[:0], "mcp-requeststate v1 principal\x00"...)
	for _, part := range []string{issuer, subject} {
		f.caller = binary.BigEndian.AppendUint64(f.caller, uint64(len(part)))
		f.caller = append(f.caller, part...)
	}
	f.digest = sha256.Sum256(f.caller)
	f.principal.Reset()
	f.principal.Write(id)
	f.principal.Write(f.digest[:])
	f.sum = f.principal.Sum(f.sum[:0])
	dst = append(dst, f.sum[:16]...)
	f.digest = digest()
	f.request.Reset()
	f.request.Write(id)
	f.request.Write(f.digest[:])
	f.sum = f.request.Sum(f.sum[:0])
	return append(dst, f.sum[:16]...)
}

// header is id, times, tags; the state follows.
const header = 16 + 4 + 4 + 32

func (f *floor) claims(dst []byte) []byte {
	_, _ = rand.Read(f.id[:])
	now := uint32(time.Now().Unix())
	dst = append(dst, f.id[:]...)
	dst = binary.BigEndian.AppendUint32(dst, now)
	dst = binary.BigEndian.AppendUint32(dst, now+uint32(lifetime/time.Second))
	dst = f.tags(dst, f.id[:])
	return append(dst, state...)
}

// check returns the state of good claims in a slice of its own.
func (f *floor) check(b []byte) []byte {
	now := uint32(time.Now().Unix())
	f.text = f.tags(f.text[:0], b[:16])
	if subtle.ConstantTimeCompare(f.text, b[24:header]) != 1 || now >= binary.BigEndian.Uint32(b[20:]) {
		return nil
	}
	return append([]byte(nil), b[header:]...)
}

func (f *floor) encode(raw []byte) string {
	f.text = append(f.text[:0], "xxxx."...)
	f.text = b64.AppendEncode(f.text, raw)
	return string(f.text)
}

func (f *floor) decode(token string) []byte {
	if strings.IndexByte(token, '\r') >= 0 || strings.IndexByte(token, '\n') >= 0 {
		return nil
	}
	var err error
	f.text = append(f.text[:0], token[5:]...)
	if f.buf, err = b64.AppendDecode(f.buf[:0], f.text); err != nil {
		return nil
	}
	return f.buf
}

func floorHMAC() subjectOf {
	f, m := newFloor(), keyed()
	var out []byte
	mac := func(b []byte) []byte {
		m.Reset()
		m.Write(b)
		out = m.Sum(out[:0])
		return out
	}
	return subjectOf{
		name: "floor HMAC", lacks: "key id, audience, single use, checks of form",
		seal: func() string {
			f.buf = f.claims(f.buf[:0])
			return f.encode(append(f.buf, mac(f.buf)...))
		},
		open: func(token string) bool {
			raw := f.decode(token)
			if len(raw) < header+32 {
				return false
			}
			body := raw[:len(raw)-32]
			return hmac.Equal(mac(body), raw[len(body):]) && f.check(body) != nil
		},
	}
}

// rawFloor is what the least of the rivals' jobs costs: the digest of the arguments as they came, nothing stored of the bindings, one MAC
// over it all, no id. The Rust SDK's figures were taken beside such a floor.
func rawFloor() subjectOf {
	f, m := newFloor(), keyed()
	var out []byte
	mac := func(b []byte) []byte {
		f.caller = append(f.caller[:0], issuer...)
		f.caller = append(append(f.caller, subject...), "tools/call"...)
		f.digest = sha256.Sum256(arguments)
		m.Reset()
		m.Write(f.caller)
		m.Write(f.digest[:])
		m.Write(b)
		out = m.Sum(out[:0])
		return out
	}
	return subjectOf{
		name: rawFloorName, lacks: "canonical digest, id, tags, key id, audience, single use, checks of form",
		seal: func() string {
			f.buf = binary.BigEndian.AppendUint64(f.buf[:0], uint64(time.Now().Add(lifetime).Unix()))
			f.buf = append(f.buf, state...)
			return f.encode(append(f.buf, mac(f.buf)...))
		},
		open: func(token string) bool {
			raw := f.decode(token)
			if len(raw) < 8+32 {
				return false
			}
			body := raw[:len(raw)-32]
			return hmac.Equal(mac(body), raw[len(body):]) && uint64(time.Now().Unix()) < binary.BigEndian.Uint64(body) &&
				append([]byte(nil), body[8:]...) != nil
		},
	}
}

const rawFloorName = "floor HMAC, raw digest"

// floorAEAD is the job over an AEAD that build makes for a 24-byte nonce.
func floorAEAD(name string, open func(nonce []byte) (cipher.AEAD, []byte)) subjectOf {
	f := newFloor()
	var plain, sealed []byte
	nonce := make([]byte, 24)
	return subjectOf{
		name: name, lacks: "key id, audience, single use, checks of form",
		seal: func() string {
			_, _ = rand.Read(nonce)
			a, rest := open(nonce)
			plain = f.claims(plain[:0])
			sealed = a.Seal(append(sealed[:0], nonce...), rest, plain, nil)
			return f.encode(sealed)
		},
		open: func(token string) bool {
			raw := f.decode(token)
			if len(raw) < 24+header {
				return false
			}
			a, rest := open(raw[:24])
			var err error
			if plain, err = a.Open(plain[:0], rest, raw[24:], nil); err != nil {
				return false
			}
			return f.check(plain) != nil
		},
	}
}

func floorXAES() subjectOf {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	return floorAEAD("floor XAES-256-GCM", func(nonce []byte) (cipher.AEAD, []byte) {
		var derived [32]byte
		for i := range 2 {
			half := derived[16*i : 16*i+16]
			copy(half, []byte{0, byte(i + 1), 'X', 0})
			copy(half[4:], nonce[:12])
			block.Encrypt(half, half)
		}
		inner, err := aes.NewCipher(derived[:])
		if err != nil {
			panic(err)
		}
		gcm, err := cipher.NewGCM(inner)
		if err != nil {
			panic(err)
		}
		return gcm, nonce[12:]
	})
}

func floorXChaCha() subjectOf {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	a, err := chacha20poly1305.NewX(key)
	if err != nil {
		panic(err)
	}
	return floorAEAD("floor XChaCha20-Poly1305", func(nonce []byte) (cipher.AEAD, []byte) { return a, nonce })
}
