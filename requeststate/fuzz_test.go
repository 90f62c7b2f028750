package requeststate_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// fuzzOpen: whatever an attacker sends, only what was sealed here opens, and every answer is a rejection with the one text.
func fuzzOpen(f *testing.F, format string) {
	text, err := os.ReadFile(vectorsFile)
	require.NoError(f, err)
	var set vectorSet
	require.NoError(f, json.Unmarshal(text, &set))
	seeds := 0
	for _, v := range set.Vectors {
		if v.Format == format {
			f.Add(v.Token)
			seeds++
		}
	}
	require.Positive(f, seeds)
	s, err := formats[format](testRing(f, "a"), requeststate.WithoutAudience())
	require.NoError(f, err)
	sealed := mustSeal(f, s, "state", alice, deploy)
	f.Add(sealed)
	f.Add(sealed + "\n")
	f.Add(strings.Repeat(".", 1000))
	f.Fuzz(func(t *testing.T, token string) {
		o, err := s.Open(ctx, token, alice, deploy)
		if err == nil {
			// Each fuzzing process sealed one under the same key: it has that state, and one spelling.
			require.Equal(t, "state", string(o.State))
			prefix, body, _ := strings.Cut(token, ".")
			raw, err := base64.RawURLEncoding.DecodeString(body)
			require.NoError(t, err)
			require.Equal(t, refPrefix[format], prefix+".")
			require.Equal(t, token, refToken(prefix+".", raw))
			return
		}
		require.Nil(t, o)
		require.ErrorIs(t, err, requeststate.ErrInvalid)
		require.Equal(t, requeststate.ErrInvalid.Error(), err.Error())
	})
}

func FuzzOpenHMAC(f *testing.F)    { fuzzOpen(f, "hmac") }
func FuzzOpenAEAD(f *testing.F)    { fuzzOpen(f, "aead") }
func FuzzOpenXChaCha(f *testing.F) { fuzzOpen(f, "xchacha") }
