package wire

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeRefuses(t *testing.T) {
	for name, token := range map[string]string{
		"no prefix":       "AAAA",
		"other prefix":    "q.AAAA",
		"prefix in caps":  "P.AAAA",
		"too short":       "p.AAA",
		"nothing":         "p.",
		"padding":         "p.AAAAA===",
		"CR":              "p.AAAA\r",
		"LF inside":       "p.AA\nAA",
		"space":           "p.AAAA AAAA",
		"standard":        "p.AAA+AAA/",
		"trailing bits":   "p.AAAAAB",
		"impossible size": "p.AAAAA",
		"not ASCII":       "p.AAAé",
		"two dots":        "p..AAAA",
	} {
		_, ok := Decode("p.", token, 3)
		assert.False(t, ok, name)
	}
	raw, ok := Decode("p.", "p.AAAA", 3)
	assert.True(t, ok)
	assert.Equal(t, []byte("p.\x00\x00\x00"), raw)
}

// FuzzDecode: what is accepted has one spelling, the one that Encode writes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"p.", "p.AAAA", "p.AAAA\n", "p.AAAAAA", "p.AAAAAB", "x", "p.-_-_"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		raw, ok := Decode("p.", token, 0)
		if !ok {
			require.Nil(t, raw)
			return
		}
		require.Equal(t, token, Encode("p.", &Buffer{B: raw}))
		require.Equal(t, "p."+base64.RawURLEncoding.EncodeToString(raw[2:]), token)
	})
}

func TestBuffersAreWiped(t *testing.T) {
	b := Get(64)
	b.B = append(b.B, strings.Repeat("secret", 10)...)
	held := b.B
	b.Put()
	assert.NotContains(t, string(held), "secret")
	big := Get(keep + 1)
	big.Put() // not kept; nothing to see but that it does not panic
	assert.LessOrEqual(t, 16, cap(Get(16).B))
}
