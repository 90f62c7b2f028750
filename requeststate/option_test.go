package requeststate_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

func TestOptions(t *testing.T) {
	aud := requeststate.WithAudience("svc")
	type opts = []requeststate.Option
	for name, c := range map[string]struct {
		opts opts
		err  string
	}{
		"nothing":             {nil, "WithAudience and WithoutAudience"},
		"audience":            {opts{aud}, ""},
		"no audience":         {opts{requeststate.WithoutAudience()}, ""},
		"both":                {opts{aud, requeststate.WithoutAudience()}, "exactly one"},
		"empty audience":      {opts{requeststate.WithAudience("")}, "1 to 255"},
		"long audience":       {opts{requeststate.WithAudience(strings.Repeat("a", 256))}, "1 to 255"},
		"TTL 0":               {opts{aud, requeststate.WithTTL(0)}, "WithTTL"},
		"TTL -1 s":            {opts{aud, requeststate.WithTTL(-time.Second)}, "WithTTL"},
		"TTL 1 ns":            {opts{aud, requeststate.WithTTL(1)}, "WithTTL"},
		"TTL 1.5 s":           {opts{aud, requeststate.WithTTL(1500 * time.Millisecond)}, "WithTTL"},
		"TTL 400 years":       {opts{aud, requeststate.WithTTL(292 * 365 * 24 * time.Hour)}, "WithTTL"},
		"TTL 24 h":            {opts{aud, requeststate.WithTTL(24 * time.Hour)}, ""},
		"max TTL below":       {opts{aud, requeststate.WithMaxTTL(time.Minute)}, "below"},
		"max TTL 1.5 s":       {opts{aud, requeststate.WithMaxTTL(1500 * time.Millisecond)}, "WithMaxTTL"},
		"flow TTL below":      {opts{aud, requeststate.WithFlowTTL(time.Minute)}, "below"},
		"flow below max":      {opts{aud, requeststate.WithMaxTTL(time.Hour), requeststate.WithFlowTTL(time.Minute * 10)}, "below"},
		"flow 8 days":         {opts{aud, requeststate.WithFlowTTL(8 * 24 * time.Hour)}, "WithFlowTTL"},
		"flow 7 days":         {opts{aud, requeststate.WithFlowTTL(7 * 24 * time.Hour)}, ""},
		"audience not text":   {opts{requeststate.WithAudience("\xff")}, "UTF-8"},
		"audience twice":      {opts{aud, requeststate.WithAudience("other")}, "twice"},
		"typed nil store":     {opts{aud, requeststate.WithReplayStore((*replay.Memory)(nil))}, "WithReplayStore"},
		"nil store":           {opts{aud, requeststate.WithReplayStore(nil)}, "WithReplayStore"},
		"size 100":            {opts{aud, requeststate.WithMaxTokenSize(100)}, "256"},
		"nil clock":           {opts{aud, requeststate.WithClock(nil)}, "WithClock"},
		"nil option":          {opts{aud, nil}, "nil Option"},
		"two faults, one run": {opts{requeststate.WithTTL(0), requeststate.WithMaxTokenSize(1)}, "WithMaxTokenSize"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := hmac.New(testRing(t, "a"), c.opts...)
			if c.err == "" {
				require.NoError(t, err)
				assert.NotNil(t, s)
				return
			}
			require.ErrorContains(t, err, c.err)
			assert.Nil(t, s)
		})
	}
	_, err := requeststate.New(nil)
	assert.Error(t, err)
}

func TestMaxTTLBoundsEachToken(t *testing.T) {
	s := hmacSealer(t, newClock(), requeststate.WithMaxTTL(2*time.Hour))
	o := mustOpen(t, s, mustSeal(t, s, "", alice, deploy, requeststate.TTL(2*time.Hour)), alice, deploy)
	assert.Equal(t, 2*time.Hour, o.ExpiresAt.Sub(o.IssuedAt))
	_, err := s.Seal(ctx, nil, alice, deploy, requeststate.TTL(2*time.Hour+time.Second))
	assert.ErrorContains(t, err, "maximum")
}

func TestClockBeforeTheEpoch(t *testing.T) {
	for _, now := range []time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0)} {
		s, err := hmac.New(testRing(t, "a"), requeststate.WithoutAudience(), requeststate.WithClock(func() time.Time { return now }))
		require.NoError(t, err)
		_, err = s.Seal(ctx, nil, alice, deploy)
		assert.ErrorContains(t, err, "clock")
	}
}

// What the operator sees: one record for each refusal, with the reason; the observer gets every verdict. Neither gets a
// token, a state or a principal.
func TestLogAndEvents(t *testing.T) {
	var log bytes.Buffer
	var events []requeststate.Event
	store := &fakeStore{}
	s := storeSealer(t, newClock(), store,
		requeststate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		requeststate.WithObserver(func(_ context.Context, e requeststate.Event) { events = append(events, e) }))
	token := mustSeal(t, s, "the state", alice, deploy, redeem)
	o := mustOpen(t, s, token, alice, deploy, redeem)
	require.NoError(t, o.Redeem(ctx))
	assert.Empty(t, log.String())
	_, _ = s.Open(ctx, token, bob, deploy, redeem)
	_, _ = s.Open(ctx, "rs1h.!", bob, deploy)
	_, _ = s.Open(ctx, token, requeststate.Principal("p"), requeststate.ToolCall("x", []byte(`{"a":1,"a":2}`)), redeem)
	_, _ = s.Open(ctx, token, alice, requeststate.ToolCall("deploy", []byte(`{"secretname":1,"secretname":2}`)), redeem)
	o2 := mustOpen(t, s, token, alice, deploy, redeem)
	store.consume = func(requeststate.Use) error { return context.DeadlineExceeded }
	_ = o2.Redeem(ctx)
	_, _ = s.Seal(ctx, nil, alice)

	var got []string
	for _, e := range events {
		got = append(got, e.Op+" "+e.Verdict())
	}
	assert.Equal(t, []string{"seal ok", "open ok", "redeem ok", "open other principal", "open malformed", "open other principal",
		"open other request", "open ok", "redeem unavailable", "seal error"}, got)
	key, flow := testKey(t, "a").ID(), events[0].Flow
	assert.Len(t, flow, 12)
	for _, i := range []int{0, 1, 2, 3, 6, 8} {
		assert.Equal(t, key, events[i].Key, i)
		assert.Equal(t, flow, events[i].Flow, i)
		assert.Equal(t, requeststate.UseSingleRedemption, events[i].Use)
		assert.Equal(t, 1, events[i].Round)
	}
	assert.Zero(t, events[4].Flow, "nothing is known of what is not a token")

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 6)
	assert.Contains(t, lines[0], `level=WARN msg="requestState rejected" op=open token.reason="other principal" token.key=`+key.String()+" token.flow="+flow)
	assert.Contains(t, lines[1], "token.reason=malformed")
	assert.NotContains(t, lines[1], "token.flow")
	assert.Contains(t, lines[3], "token.detail=")
	assert.Contains(t, lines[4], "deadline exceeded")
	assert.Contains(t, lines[5], "AllowAnyRequest")
	for _, leak := range []string{token, "the state", "alice", "bob", "staging", o.Flow.String()} {
		assert.NotContains(t, log.String(), leak)
	}
}

// The sentinels are shared: what one call learns must not stick to them.
func TestRejectionsDoNotShareDetail(t *testing.T) {
	s := hmacSealer(t, newClock())
	token := mustSeal(t, s, "", alice, deploy)
	_, err := s.Open(ctx, token, bob, deploy)
	var e *requeststate.Error
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.LogValue().String(), "flow=")
	require.ErrorAs(t, requeststate.ErrPrincipal, &e)
	assert.NotContains(t, e.LogValue().String(), "flow=")
}
