package jose_test

import (
	"encoding/json"
	"strings"
	"testing"

	gojose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func peer(t testing.TB, name string, key []byte, kid string) jwt.Builder {
	switch name {
	case "JWS":
		s, err := gojose.NewSigner(gojose.SigningKey{Algorithm: gojose.HS256, Key: key},
			(&gojose.SignerOptions{}).WithType("mcp-rs+jwt").WithHeader("kid", kid))
		require.NoError(t, err)
		return jwt.Signed(s)
	default:
		e, err := gojose.NewEncrypter(gojose.A256GCM, gojose.Recipient{Algorithm: gojose.A256KW, Key: key, KeyID: kid},
			(&gojose.EncrypterOptions{}).WithType("mcp-rs+jwt"))
		require.NoError(t, err)
		return jwt.Encrypted(e)
	}
}

func peerOpen(name, token string, key []byte, out any) error {
	if name == "JWS" {
		tok, err := jwt.ParseSigned(token, []gojose.SignatureAlgorithm{gojose.HS256})
		if err != nil {
			return err
		}
		return tok.Claims(key, out)
	}
	tok, err := jwt.ParseEncrypted(token, []gojose.KeyAlgorithm{gojose.A256KW}, []gojose.ContentEncryption{gojose.A256GCM})
	if err != nil {
		return err
	}
	return tok.Claims(key, out)
}

// BenchmarkSealOpen compares with go-jose on the same claims: "jwt" in the names is go-jose alone.
func BenchmarkSealOpen(b *testing.B) {
	state := map[string]string{"step": "confirm", "text": strings.Repeat("a", 200)}
	raw, _ := json.Marshal(state)
	for _, f := range formats() {
		ring := newRing(b)
		s, err := f.new(ring, requeststate.WithAudience("https://example.com/mcp"))
		require.NoError(b, err)
		bind := []requeststate.Binding{requeststate.Principal("https://issuer.example", "alice"), requeststate.ResourceRead("file:///a")}
		token, err := requeststate.SealJSON(ctx, s, json.RawMessage(raw), bind...)
		require.NoError(b, err)
		key, kid := subkey(b, ring, f.name)
		var claims peerClaims
		require.NoError(b, peerOpen(f.name, token, key, &claims))
		builder := peer(b, f.name, key, kid)
		b.Run(f.name+"/seal/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = s.Seal(ctx, raw, bind...)
			}
		})
		b.Run(f.name+"/seal/jwt", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = builder.Claims(claims).Serialize()
			}
		})
		b.Run(f.name+"/open/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Open(ctx, token, bind...); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.name+"/open/jwt", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var out peerClaims
				if err := peerOpen(f.name, token, key, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
