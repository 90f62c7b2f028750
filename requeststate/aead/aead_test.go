package aead_test

import (
	"crypto/fips140"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/codectest"
)

func ring(t testing.TB) *requeststate.Keyring {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	return ring
}

var formats = []struct {
	name  string
	codec func(*requeststate.Keyring) (requeststate.Codec, error)
	new   func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)
}{
	{"XAES-256-GCM", aead.NewCodec, aead.New},
	{"XChaCha20-Poly1305", aead.NewXChaCha20Poly1305Codec, aead.NewXChaCha20Poly1305},
}

func TestCodec(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			if f.name == "XChaCha20-Poly1305" && fips140.Enforced() {
				_, err := f.codec(ring(t))
				assert.ErrorContains(t, err, "not approved")
				return
			}
			codectest.Run(t, func(t *testing.T) requeststate.Codec {
				codec, err := f.codec(ring(t))
				require.NoError(t, err)
				return codec
			})
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, f := range formats {
		if fips140.Enforced() && f.name != "XAES-256-GCM" {
			continue
		}
		for _, r := range []*requeststate.Keyring{nil, {}} {
			s, err := f.new(r, requeststate.WithoutAudience())
			assert.ErrorContains(t, err, "NewKeyring")
			assert.Nil(t, s)
		}
		_, err := f.new(ring(t))
		assert.ErrorContains(t, err, "WithAudience")
	}
}
