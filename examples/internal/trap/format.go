package trap

import (
	"maps"
	"slices"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

// A format is one of the library's codecs and what an attacker knows about its tokens.
type format struct {
	codec func(*requeststate.Keyring) (requeststate.Codec, error)
	// Name is the format in words.
	name   string
	prefix string
	// trailer is how many bytes of MAC or tag follow the claims, or their ciphertext.
	trailer int
	// readable says that the claims stand in the token for everybody to read.
	readable bool
	// other is the format whose tokens are tried on a server of this one.
	other string
}

var formats = map[string]format{
	"hmac": {
		codec: hmac.NewCodec, name: "HMAC-SHA-256", prefix: hmac.Prefix, trailer: 32, readable: true, other: "aead",
	},
	"aead": {
		codec: aead.NewCodec, name: "XAES-256-GCM", prefix: aead.PrefixXAES, trailer: 16, other: "hmac",
	},
	"xchacha": {
		codec: aead.NewXChaCha20Poly1305Codec, name: "XChaCha20-Poly1305", prefix: aead.PrefixXChaCha, trailer: 16,
		other: "aead",
	},
}

// Formats lists the formats' names.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// FormatName is a format in words.
func FormatName(name string) string { return formats[name].name }
