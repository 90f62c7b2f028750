package trap

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// A format is one of the library's codecs and what an attacker knows about its tokens. Every token is segments of
// base64url between dots.
type format struct {
	codec func(*requeststate.Keyring) (requeststate.Codec, error)
	name  string // in words
	// segment has the claims, in the clear or encrypted; trailer is how many of its bytes follow the state.
	segment, trailer int
	// readable says that the claims stand in the token for everybody to read.
	readable bool
	// other is the format whose tokens are tried on a server of this one.
	other string
}

var formats = map[string]format{
	"hmac":    {hmac.NewCodec, "HMAC-SHA-256", 1, 32, true, "aead"},
	"aead":    {aead.NewCodec, "XAES-256-GCM", 1, 16, false, "hmac"},
	"xchacha": {aead.NewXChaCha20Poly1305Codec, "XChaCha20-Poly1305", 1, 16, false, "aead"},
	"jwt":     {jose.NewJWSCodec, "JWT, signed (HS256)", 1, 2, true, "hmac"},
	"jwe":     {jose.NewJWECodec, "JWT, encrypted (A256KW, A256GCM)", 3, 2, false, "aead"},
}

// Formats lists the formats' names.
func Formats() []string { return []string{"hmac", "aead", "xchacha", "jwt", "jwe"} }

// FormatName is a format in words.
func FormatName(name string) string { return formats[name].name }

// alter changes the last byte of a token's state, in the clear or encrypted, and leaves its MAC or tag.
func (f format) alter(token string) (string, error) {
	segments := strings.Split(token, ".")
	if len(segments) <= f.segment {
		return "", fmt.Errorf("trap: not a token of %s", f.name)
	}
	raw, err := base64.RawURLEncoding.DecodeString(segments[f.segment])
	if err != nil || len(raw) <= f.trailer {
		return "", fmt.Errorf("trap: not a token of %s", f.name)
	}
	raw[len(raw)-f.trailer-1] ^= 1
	segments[f.segment] = base64.RawURLEncoding.EncodeToString(raw)
	return strings.Join(segments, "."), nil
}

// relabel passes a token of format g off as one of format f, by putting its claims into a genuine token.
func (f format) relabel(genuine string, g format, token string) string {
	segments := strings.Split(genuine, ".")
	segments[f.segment] = strings.Split(token, ".")[g.segment]
	return strings.Join(segments, ".")
}
