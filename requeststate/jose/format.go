package jose

import (
	"encoding/base64"
	"strings"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// b64 is RFC 4648 section 5 without padding. Strict refuses trailing bits that are not zero.
var b64 = base64.RawURLEncoding.Strict()

// idText is the length of a key id in a header.
const idText = 11

// A format is one of the two kinds of token.
type format struct {
	label        string // of the HKDF sub-key
	before       string // the header's JSON up to the key id
	after        string // and behind it
	segments     []int  // lengths in characters; 0: any
	build        func(subkey []byte, kid, header string) (box, error)
	suffix       string // of the kid: the ids of a key's sub-keys differ (RFC 7517 section 4.5)
	headerLength int    // of the segment, in characters
}

// The members of a header are in the order of their names, without white space: what go-jose, and JSON.stringify of an
// object in that order, write.
var (
	jws = newFormat(format{
		label:    labelJWS,
		before:   `{"alg":"HS256","kid":"`,
		suffix:   suffixJWS,
		segments: []int{0, 0, 43},
		build:    newSigner,
	})
	jwe = newFormat(format{
		label:    labelJWE,
		before:   `{"alg":"A256KW","enc":"A256GCM","kid":"`,
		suffix:   suffixJWE,
		segments: []int{0, 54, 16, 0, 22}, // wrapped key, nonce and tag have one length each
		build:    newEncrypter,
	})
)

func newFormat(f format) format {
	f.after = f.suffix + `","typ":"` + Type + `"}`
	f.headerLength = b64.EncodedLen(len(f.before) + idText + len(f.after))
	f.segments[0] = f.headerLength
	return f
}

// header returns the header segment of tokens under the key of that id.
func (f *format) header(id requeststate.KeyID) string {
	return b64.EncodeToString([]byte(f.before + id.String() + f.after))
}

// box returns key's ciphers, which live with the key.
func (f *format) box(key requeststate.Key) (box, error) {
	return requeststate.Derive(key, f.label, func(subkey []byte) (box, error) {
		return f.build(subkey, key.ID().String()+f.suffix, f.header(key.ID()))
	})
}

// keyID returns the key id that header, a segment of headerLength, names. It reports false unless header is what the
// key of that id would write.
func (f *format) keyID(header string) (id requeststate.KeyID, ok bool) {
	var text, raw [128]byte // a header has 81 or 100 characters
	n, err := b64.Decode(raw[:], text[:copy(text[:], header)])
	if err != nil || n != len(f.before)+idText+len(f.after) {
		return id, false
	}
	at := len(f.before)
	if string(raw[:at]) != f.before || string(raw[at+idText:n]) != f.after {
		return id, false
	}
	var out [9]byte // Decode wants room for whole groups
	n, err = b64.Decode(out[:], raw[at:at+idText])
	if err != nil || n != len(id) {
		return id, false
	}
	return requeststate.KeyID(out[:len(id)]), true
}

// split checks the number of segments, their lengths and their spelling, and returns the first. go-jose would be
// content with trailing bits, with line breaks, and with a JWE tag that took bytes from the ciphertext: several
// spellings of one token.
func (f *format) split(token string) (header string, ok bool) {
	rest := token
	for i, want := range f.segments {
		segment, tail, found := strings.Cut(rest, ".")
		if found != (i < len(f.segments)-1) || want > 0 && len(segment) != want || !canonical(segment) {
			return "", false
		}
		if i == 0 {
			header = segment
		}
		rest = tail
	}
	return header, true
}

// canonical reports whether s has no line break, which decoders skip, and zero trailing bits. Whether its characters
// are base64url is left to go-jose.
func canonical(s string) bool {
	if strings.ContainsAny(s, "\r\n") {
		return false
	}
	var out [3]byte
	_, err := b64.Decode(out[:], []byte(s[len(s)/4*4:]))
	return err == nil
}
