package requeststate_test

import (
	"bytes"
	"context"
	"crypto/fips140"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

var update = flag.Bool("update", false, "write testdata/vectors.json from the reference in reference_test.go")

const vectorsFile = "../testdata/vectors.json"

// vectorSet is testdata/vectors.json.
type vectorSet struct {
	About   string            `json:"about"`
	Keys    map[string]string `json:"keys"` // secrets in hex
	Vectors []vector          `json:"vectors"`
}

// vector is a token, how it is presented, and what must come of it.
type vector struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Token  string `json:"token"`
	// How it is presented.
	Ring      []string `json:"ring"` // key names, the one that seals first
	Now       int64    `json:"now"`
	MaxSize   int      `json:"max_size,omitempty"`
	Audience  *string  `json:"audience,omitempty"`
	Principal []string `json:"principal,omitempty"`
	Method    string   `json:"method,omitempty"`
	Params    string   `json:"params,omitempty"` // JSON text
	Use       string   `json:"use,omitempty"`
	Epoch     string   `json:"epoch,omitempty"` // of the store now
	Spent     bool     `json:"spent,omitempty"` // the store has the token's id, or flow, already
	// What must come of it: a reason, or the rest.
	Reason   string `json:"reason,omitempty"`
	State    string `json:"state_hex,omitempty"`
	ID       string `json:"id,omitempty"`
	Flow     string `json:"flow,omitempty"`
	Round    int    `json:"round,omitempty"`
	IssuedAt int64  `json:"iat,omitempty"`
	Expires  int64  `json:"exp,omitempty"`
}

func readVectors(t *testing.T) vectorSet {
	var set vectorSet
	text, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&set))
	return set
}

// vectorStore has one epoch and, perhaps, everything spent.
type vectorStore struct {
	epoch string
	spent bool
}

func (s vectorStore) Epoch(context.Context) (string, error) { return s.epoch, nil }
func (s vectorStore) Consume(_ context.Context, use requeststate.Use) error {
	switch {
	case use.Epoch != s.epoch:
		return requeststate.ErrStale
	case s.spent:
		return requeststate.ErrConsumed
	}
	return nil
}

func (v vector) open(t *testing.T, keys map[string]string) (*requeststate.Opened, error) {
	var ring []requeststate.Key
	for _, name := range v.Ring {
		secret, err := hex.DecodeString(keys[name])
		require.NoError(t, err)
		key, err := requeststate.NewKey(secret)
		require.NoError(t, err)
		ring = append(ring, key)
	}
	r, err := requeststate.NewKeyring(ring[0], ring[1:]...)
	require.NoError(t, err)
	opts := []requeststate.Option{requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(),
		requeststate.WithClock(func() time.Time { return time.Unix(v.Now, 0) }),
		requeststate.WithReplayStore(vectorStore{v.Epoch, v.Spent})}
	if v.Audience != nil {
		opts = append(opts, requeststate.WithAudience(*v.Audience))
	} else {
		opts = append(opts, requeststate.WithoutAudience())
	}
	if v.MaxSize != 0 {
		opts = append(opts, requeststate.WithMaxTokenSize(v.MaxSize))
	}
	s, err := vectorFormats[v.Format](r, opts...)
	require.NoError(t, err)
	var with bindings
	if v.Principal != nil {
		with = append(with, requeststate.Principal(v.Principal...))
	}
	if v.Method != "" {
		with = append(with, requeststate.Request(v.Method, json.RawMessage(v.Params)))
	}
	switch v.Use {
	case "single use":
		with = append(with, once)
	case "single redemption":
		with = append(with, redeem)
	}
	o, err := s.Open(ctx, v.Token, with...)
	if err == nil && v.Use == "single redemption" {
		if err := o.Redeem(ctx); err != nil {
			return nil, err
		}
	}
	return o, err
}

// vectorFormats are the formats that the file may name.
var vectorFormats = map[string]newSealer{"hmac": formats["hmac"], "aead": formats["aead"], "xchacha": formats["xchacha"],
	"jws": jose.NewJWS, "jwe": jose.NewJWE}

func TestVectors(t *testing.T) {
	if *update {
		writeVectors(t)
	}
	set := readVectors(t)
	opening, failing := map[string]int{}, map[string]int{}
	for _, v := range set.Vectors {
		t.Run(v.Format+"/"+v.Name, func(t *testing.T) {
			if v.Format == "jwe" && fips140.Enforced() {
				return // go-jose needs what is refused there, and so does NewJWE
			}
			require.Contains(t, vectorFormats, v.Format)
			o, err := v.open(t, set.Keys)
			if v.Reason != "" {
				failing[v.Format]++
				assert.Nil(t, o)
				require.ErrorIs(t, err, requeststate.ErrInvalid)
				require.Equal(t, v.Reason, reasonOf(err))
				return
			}
			opening[v.Format]++
			require.NoError(t, err, reasonOf(err))
			assert.Equal(t, v.State, hex.EncodeToString(o.State))
			if v.ID == "" { // JWTs show theirs in the payload
				return
			}
			assert.Equal(t, v.ID, o.ID.String())
			assert.Equal(t, v.Flow, o.Flow.String())
			assert.Equal(t, v.Round, o.Round)
			assert.Equal(t, v.IssuedAt, o.IssuedAt.Unix())
			assert.Equal(t, v.Expires, o.ExpiresAt.Unix())
		})
	}
	for format := range vectorFormats {
		assert.GreaterOrEqual(t, opening[format], 10, "%s: tokens that open", format)
		assert.GreaterOrEqual(t, failing[format], 30, "%s: tokens that fail", format)
	}
}

// Production code writes what the reference writes: claims for claims, so that the file is about this library, too.
func TestReferenceAgreesWithClaims(t *testing.T) {
	for _, c := range openingCases() {
		t.Run(c.name, func(t *testing.T) {
			b := c.claims.bytes(vectorSecret("a"))
			var claims requeststate.Claims
			require.NoError(t, claims.Decode(bytes.Clone(b)))
			again, err := claims.Append(nil)
			require.NoError(t, err)
			assert.Equal(t, hex.EncodeToString(b), hex.EncodeToString(again))
		})
	}
}
