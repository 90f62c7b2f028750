package jose_test

import (
	"context"
	"crypto/fips140"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// TestVectorFile keeps the file equal to what makeVectors makes.
func TestVectorFile(t *testing.T) {
	if fips140.Enforced() {
		return // it cannot make JWEs
	}
	want, err := json.MarshalIndent(makeVectors(), "", " ")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(vectorFile, append(want, '\n'), 0o644))
	}
	got, err := os.ReadFile(vectorFile)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got), "run go test with -update")
}

// TestVectors opens the file's tokens.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile(vectorFile)
	require.NoError(t, err)
	var file vectors
	require.NoError(t, json.Unmarshal(raw, &file))
	require.Greater(t, len(file.Vectors), 80)
	var keys []requeststate.Key
	for _, k := range file.Keys {
		key, err := requeststate.ParseKey(k.Secret)
		require.NoError(t, err)
		assert.Equal(t, k.ID, key.ID().String())
		keys = append(keys, key)
		one, err := requeststate.NewKeyring(key)
		require.NoError(t, err)
		for purpose, want := range k.Subkeys {
			sub, _ := subkey(t, one, purpose)
			assert.Equal(t, want, b64.EncodeToString(sub), purpose)
		}
	}
	ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
	require.NoError(t, err)
	for _, v := range file.Vectors {
		t.Run(v.Format+"/"+v.Name, func(t *testing.T) { v.check(t, ring) })
	}
}

func (v vector) check(t *testing.T, ring *requeststate.Keyring) {
	if v.Format == "jwe" && fips140.Enforced() {
		return
	}
	new := map[string]func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error){"jws": jose.NewJWS, "jwe": jose.NewJWE}
	opts := []requeststate.Option{requeststate.WithAudience(v.Audience), requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(),
		requeststate.WithReplayStore(epochOnly{}), requeststate.WithClock(func() time.Time { return time.Unix(v.Now, 0) })}
	if v.Audience == "" {
		opts[0] = requeststate.WithoutAudience()
	}
	s, err := new[v.Format](ring, opts...)
	require.NoError(t, err)
	var bind []requeststate.Binding
	if v.Principal != nil {
		bind = append(bind, requeststate.Principal(v.Principal...))
	}
	if v.Method != "" {
		bind = append(bind, requeststate.Request(v.Method, json.RawMessage(v.Params)))
	}
	switch v.Use {
	case "single":
		bind = append(bind, requeststate.SingleUse())
	case "redemption":
		bind = append(bind, requeststate.SingleRedemption())
	}
	o, err := s.Open(ctx, v.Token, bind...)
	if v.Reason != "" {
		var rejected *requeststate.Error
		require.True(t, errors.As(err, &rejected), "%v", err)
		assert.Equal(t, v.Reason, rejected.Reason())
		assert.Nil(t, o)
		return
	}
	require.NoError(t, err)
	assert.Equal(t, string(v.State), string(o.State))
	assert.Equal(t, max(v.Round, 1), o.Round)
	if v.Flow != "" {
		assert.Equal(t, v.Flow, o.Flow.String())
	}
}

// epochOnly is a replay store in which nothing was spent.
type epochOnly struct{}

func (epochOnly) Epoch(context.Context) (string, error) { return "epoch", nil }

func (epochOnly) Consume(_ context.Context, use requeststate.Use) error {
	if use.Epoch != "epoch" {
		return requeststate.ErrStale
	}
	return nil
}
