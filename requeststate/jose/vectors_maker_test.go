package jose_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

// maker makes tokens by hand.
type maker struct {
	format    string
	secret    []byte
	jti       byte
	principal [32]byte
	request   [32]byte
}

func derived(secret []byte, label string, n int) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "mcp-requeststate v1 "+label, n)
	if err != nil {
		panic(err)
	}
	return key
}

func newMaker(format, secret string) *maker {
	raw, err := hex.DecodeString(secret)
	if err != nil {
		panic(err)
	}
	digest := []byte("mcp-requeststate v1 principal\x00")
	for _, part := range vectorPrincipal {
		digest = binary.BigEndian.AppendUint64(digest, uint64(len(part)))
		digest = append(digest, part...)
	}
	request := "\x1bmcp-requeststate v1 request\x0atools/call" + `{"` + "\x09arguments" + `{"` + "\x03env" + `"` + "\x07staging" + `}"` + "\x04name" + `"` + "\x06deploy}"
	return &maker{format: format, secret: raw, principal: sha256.Sum256(digest), request: sha256.Sum256([]byte(request))}
}

var vectorPrincipal = []string{"https://issuer.example", "älice"}

const vectorParams = `{"name":"deploy","arguments":{"env":"staging"}}`

func (m *maker) id() string { return b64.EncodeToString(derived(m.secret, "key id", 8)) }

// bound are the claims of a token bound to principal and request, with more behind them.
func (m *maker) bound(more string) string {
	m.jti++
	jti := make([]byte, 16)
	jti[0], jti[15] = m.jti, 1
	tag := func(label string, digest []byte) string {
		return b64.EncodeToString(sum(derived(m.secret, label, 32), jti, digest)[:16])
	}
	return fmt.Sprintf(`{"jti":"%s","iat":1800000000,"exp":1800000300,"aud":"https://example.com/mcp","rs_deadline":1800003600,`+
		`"rs_principal":"%s","rs_request":"%s",%s}`, b64.EncodeToString(jti),
		tag("principal tag", m.principal[:]), tag("request tag", m.request[:]), more)
}

func (m *maker) token(claims string) string {
	if m.format == "jws" {
		return hs256(derived(m.secret, "token jws", 32), header("JWS", m.id()+".jws"), claims)
	}
	return m.encrypt(header("JWE", m.id()+".jwe"), claims)
}

// encrypt is a JWE with a content key and a nonce that are not random: for a file that is the same every time.
func (m *maker) encrypt(header, claims string) string {
	cek := sha256.Sum256([]byte(claims))
	wrapper, err := aes.NewCipher(derived(m.secret, "token jwe", 32))
	if err != nil {
		panic(err)
	}
	wrapped, err := josecipher.KeyWrap(wrapper, cek[:])
	if err != nil {
		panic(err)
	}
	block, err := aes.NewCipher(cek[:])
	if err != nil {
		panic(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	head := b64.EncodeToString([]byte(header))
	sealed := gcm.Seal(nil, cek[:12], []byte(claims), []byte(head))
	body, tag := sealed[:len(sealed)-16], sealed[len(sealed)-16:]
	return strings.Join([]string{head, b64.EncodeToString(wrapped), b64.EncodeToString(cek[:12]), b64.EncodeToString(body), b64.EncodeToString(tag)}, ".")
}
