// Package property checks what must hold for any input, with generated ones.
package property

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

var formats = map[string]func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error){
	"hmac": hmac.New, "aead": aead.New, "xchacha": aead.NewXChaCha20Poly1305, "jws": jose.NewJWS, "jwe": jose.NewJWE,
}

// input is everything that a token is bound to.
type input struct {
	key, audience string
	principal     []string
	tool          string
	arguments     json.RawMessage
	single        bool
	now           int64
}

func (in input) sealer(t require.TestingT, format string, store requeststate.ReplayStore) requeststate.Sealer {
	secret := sha256.Sum256([]byte(in.key))
	key, err := requeststate.NewKey(secret[:])
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	s, err := formats[format](ring, requeststate.WithAudience(in.audience), requeststate.WithReplayStore(store),
		requeststate.WithClock(func() time.Time { return time.Unix(in.now, 0) }))
	require.NoError(t, err)
	return s
}

func (in input) bindings() []requeststate.Binding {
	b := []requeststate.Binding{requeststate.Principal(in.principal...), requeststate.ToolCall(in.tool, in.arguments)}
	if in.single {
		b = append(b, requeststate.SingleUse())
	}
	return b
}

// draw makes an input.
func draw(t *rapid.T) input {
	text := rapid.StringN(1, 20, 60)
	arguments, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "arguments"))
	require.NoError(t, err)
	return input{
		key: text.Draw(t, "key"), audience: text.Draw(t, "audience"),
		principal: rapid.SliceOfN(text, 1, 4).Draw(t, "principal"), tool: text.Draw(t, "tool"), arguments: arguments,
		single: rapid.Bool().Draw(t, "single"), now: rapid.Int64Range(1_000, 1<<39).Draw(t, "now"),
	}
}

// Any state, under any bindings, comes back whole; and any one binding changed is refused for its own reason.
func TestAnyOneChangeIsRefused(t *testing.T) {
	changes := map[string]struct {
		apply func(*input)
		want  error
	}{
		"key":            {func(in *input) { in.key += "x" }, requeststate.ErrUnknownKey},
		"audience":       {func(in *input) { in.audience += "x" }, requeststate.ErrAudience},
		"part more":      {func(in *input) { in.principal = append(in.principal[:len(in.principal):len(in.principal)], "x") }, requeststate.ErrPrincipal},
		"part longer":    {func(in *input) { in.principal = append([]string{in.principal[0] + "x"}, in.principal[1:]...) }, requeststate.ErrPrincipal},
		"parts as one":   {func(in *input) { in.principal = []string{in.principal[0] + "\x00" + in.tool} }, requeststate.ErrPrincipal},
		"tool":           {func(in *input) { in.tool += "x" }, requeststate.ErrRequest},
		"an argument":    {func(in *input) { in.arguments = json.RawMessage(`{"\u0000another one":0}`) }, requeststate.ErrRequest},
		"mode":           {func(in *input) { in.single = !in.single }, requeststate.ErrUse},
		"past expiry":    {func(in *input) { in.now += 300 }, requeststate.ErrExpired},
		"before issuing": {func(in *input) { in.now -= 61 }, requeststate.ErrNotYetValid},
	}
	for format := range formats {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := draw(t)
				state := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "state")
				state = bytes.Repeat(state, rapid.SampledFrom([]int{1, 1, 1, 200}).Draw(t, "times")) // up to 40 kB
				store, err := replay.NewMemory()
				require.NoError(t, err)
				token, err := in.sealer(t, format, store).Seal(context.Background(), state, in.bindings()...)
				require.NoError(t, err)
				for name, change := range changes {
					other := in
					change.apply(&other)
					_, err := other.sealer(t, format, store).Open(context.Background(), token, other.bindings()...)
					require.ErrorIs(t, err, change.want, name)
				}
				o, err := in.sealer(t, format, store).Open(context.Background(), token, in.bindings()...)
				require.NoError(t, err)
				require.Equal(t, string(state), string(o.State))
				_, err = in.sealer(t, format, store).Open(context.Background(), token, in.bindings()...)
				require.Equal(t, in.single, errors.Is(err, requeststate.ErrConsumed))
			})
		})
	}
}

// A flow, played at random: tokens are opened, continued and redeemed in any order, old ones too. It is redeemed at most once.
func TestAFlowIsRedeemedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := input{key: "k", audience: "a", principal: []string{"p"}, tool: "t", arguments: json.RawMessage(`{}`), now: 1_800_000_000}
		store, err := replay.NewMemory(replay.WithClock(func() time.Time { return time.Unix(in.now, 0) }))
		require.NoError(t, err)
		s, ctx := in.sealer(t, "hmac", store), context.Background()
		with := append(in.bindings(), requeststate.SingleRedemption())
		first, err := s.Seal(ctx, nil, with...)
		require.NoError(t, err)
		tokens, redeemed := []string{first}, 0
		var opened []*requeststate.Opened
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				o, err := s.Open(ctx, rapid.SampledFrom(tokens).Draw(t, "token"), with...)
				require.NoError(t, err)
				opened = append(opened, o)
			},
			"continue": func(t *rapid.T) {
				if len(opened) == 0 {
					return
				}
				if token, err := s.Seal(ctx, nil, requeststate.Continue(rapid.SampledFrom(opened).Draw(t, "parent"))); err == nil {
					tokens = append(tokens, token)
				}
			},
			"redeem": func(t *rapid.T) {
				if len(opened) == 0 {
					return
				}
				if rapid.SampledFrom(opened).Draw(t, "opened").Redeem(ctx) == nil {
					redeemed++
				}
			},
			"": func(t *rapid.T) { require.LessOrEqual(t, redeemed, 1) },
		})
	})
}
