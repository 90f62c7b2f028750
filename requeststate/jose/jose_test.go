package jose_test

import (
	"crypto/fips140"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/codectest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

func newRing(t testing.TB) *requeststate.Keyring {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	return ring
}

type formatCase struct {
	name  string
	codec func(*requeststate.Keyring) (requeststate.Codec, error)
	new   func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)
}

// formats are those that work here: go-jose's AES-GCM does not under GODEBUG=fips140=only.
func formats() []formatCase {
	f := []formatCase{{"JWS", jose.NewJWSCodec, jose.NewJWS}}
	if !fips140.Enforced() {
		f = append(f, formatCase{"JWE", jose.NewJWECodec, jose.NewJWE})
	}
	return f
}

func TestCodec(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			codectest.Run(t, func(t *testing.T) requeststate.Codec {
				codec, err := f.codec(newRing(t))
				require.NoError(t, err)
				return codec
			})
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, f := range formats() {
		for _, r := range []*requeststate.Keyring{nil, {}} {
			s, err := f.new(r, requeststate.WithoutAudience())
			assert.ErrorContains(t, err, "NewKeyring")
			assert.Nil(t, s)
		}
		_, err := f.new(newRing(t))
		assert.ErrorContains(t, err, "WithAudience")
	}
}

func TestJWEUnderFIPSOnly(t *testing.T) {
	s, err := jose.NewJWE(newRing(t), requeststate.WithoutAudience())
	if !fips140.Enforced() {
		require.NoError(t, err)
		return
	}
	assert.ErrorContains(t, err, "aead.New")
	assert.Nil(t, s)
}

func TestAudienceThatIsNotText(t *testing.T) {
	for _, f := range formats() {
		_, err := f.new(newRing(t), requeststate.WithAudience("a\xff"))
		assert.ErrorContains(t, err, "UTF-8")
	}
}
