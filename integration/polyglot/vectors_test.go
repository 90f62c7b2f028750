package polyglot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// TestDigest holds the other implementations against the vectors of the request digest.
func TestDigest(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/request-digest.json")
	require.NoError(t, err)
	var vectors struct {
		Equal []struct {
			Method    string
			Params    []string
			Canonical string
		}
		Refused []struct{ Method, Params, Hex, Name string }
	}
	require.NoError(t, json.Unmarshal(raw, &vectors))
	var calls []call
	var want []string
	for _, v := range vectors.Equal {
		for _, p := range v.Params {
			calls = append(calls, call{Op: "digest", Method: v.Method, Params: base64.StdEncoding.EncodeToString([]byte(p))})
			want = append(want, v.Canonical)
		}
	}
	for _, v := range vectors.Refused {
		p := []byte(v.Params)
		if v.Hex != "" {
			p, err = hex.DecodeString(v.Hex)
			require.NoError(t, err)
		}
		calls = append(calls, call{Op: "digest", Method: v.Method, Params: base64.StdEncoding.EncodeToString(p)})
		want = append(want, "")
	}
	require.Greater(t, len(calls), 50)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			for i, a := range p.run(t, newRing(t), "", calls...) {
				assert.Equal(t, want[i], a.Canonical, "call %d: %s", i, calls[i].Params)
				assert.Equal(t, want[i] == "", a.Error != "", "call %d: %s %s", i, calls[i].Params, a.Error)
			}
		})
	}
}

// TestClaims gives the other implementations authentic tokens with good and bad claims.
func TestClaims(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/jwt-claims.json")
	require.NoError(t, err)
	var file struct {
		Good, Refused []struct{ Payload, State []byte }
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	require.NotEmpty(t, file.Good)
	require.Greater(t, len(file.Refused), 100)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			ring := newRing(t)
			var calls []call
			for _, v := range append(file.Good, file.Refused...) {
				calls = append(calls, call{Op: "open", Format: "jws", Token: sign(t, ring, v.Payload), Now: issued.Unix()})
			}
			for i, a := range p.run(t, ring, "", calls...) {
				if i < len(file.Good) {
					assert.Equal(t, string(file.Good[i].State), string(a.State), "%s: %s", file.Good[i].Payload, a.Error)
				} else {
					assert.Equal(t, "malformed", a.Error, "%s", file.Refused[i-len(file.Good)].Payload)
				}
			}
		})
	}
}

// sign makes a JWS of any payload, by hand.
func sign(t *testing.T, ring *requeststate.Keyring, payload []byte) string {
	key, err := ring.First().Subkey("mcp-requeststate v1 token jws")
	require.NoError(t, err)
	b64 := base64.RawURLEncoding
	input := b64.EncodeToString([]byte(`{"alg":"HS256","kid":"`+ring.First().ID().String()+`.jws","typ":"mcp-rs+jwt"}`)) + "." + b64.EncodeToString(payload)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(input))
	return input + "." + b64.EncodeToString(m.Sum(nil))
}

// TestVectors gives the other implementations the vectors of the JWT formats.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/vectors-jwt.json")
	require.NoError(t, err)
	var file struct {
		Keys    []struct{ Secret string }
		Vectors []struct {
			Name, Reason, Flow string
			Round              int
			call
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Greater(t, len(file.Vectors), 80)
	var keys []requeststate.Key
	for _, k := range file.Keys {
		key, err := requeststate.ParseKey(k.Secret)
		require.NoError(t, err)
		keys = append(keys, key)
	}
	ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
	require.NoError(t, err)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			var calls []call
			for _, v := range file.Vectors {
				v.Op = "open"
				calls = append(calls, v.call)
			}
			for i, a := range p.run(t, ring, base64.RawURLEncoding.EncodeToString([]byte("epoch")), calls...) {
				v := file.Vectors[i]
				assert.Equal(t, v.Reason, a.Error, "%s %s", v.Format, v.Name)
				assert.Equal(t, string(v.State), string(a.State), "%s %s", v.Format, v.Name)
				if v.Flow != "" {
					assert.Equal(t, v.Flow, a.Flow, v.Name)
					assert.Equal(t, v.Round, a.Round, v.Name)
				}
			}
		})
	}
}
