package hmac_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/codectest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

func ring(t testing.TB) *requeststate.Keyring {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	return ring
}

func TestCodec(t *testing.T) {
	codectest.Run(t, func(t *testing.T) requeststate.Codec {
		codec, err := hmac.NewCodec(ring(t))
		require.NoError(t, err)
		return codec
	})
}

func TestNewWithoutKeys(t *testing.T) {
	for _, r := range []*requeststate.Keyring{nil, {}} {
		s, err := hmac.New(r, requeststate.WithoutAudience())
		assert.ErrorContains(t, err, "NewKeyring")
		assert.Nil(t, s)
	}
}

func TestNewPassesOptionErrorsOn(t *testing.T) {
	_, err := hmac.New(ring(t))
	assert.ErrorContains(t, err, "WithAudience")
}
