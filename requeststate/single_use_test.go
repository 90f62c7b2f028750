package requeststate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

func storeSealer(t testing.TB, c *clock, store requeststate.ReplayStore, opts ...requeststate.Option) requeststate.Sealer {
	opts = append([]requeststate.Option{requeststate.WithoutAudience(), requeststate.WithClock(c.Now), requeststate.WithReplayStore(store)}, opts...)
	s, err := hmac.New(testRing(t, "a"), opts...)
	require.NoError(t, err)
	return s
}

// The trap: every check passes, five times.
func TestWithoutSingleUseATokenWorksFiveTimes(t *testing.T) {
	s := hmacSealer(t, newClock())
	token := mustSeal(t, s, "card 7", alice, deploy)
	for range 5 {
		mustOpen(t, s, token, alice, deploy)
	}
}

func TestSingleUse(t *testing.T) {
	s := hmacSealer(t, newClock())
	token := mustSeal(t, s, "card 7", alice, deploy, once)
	o := mustOpen(t, s, token, alice, deploy, once)
	assert.Equal(t, "card 7", string(o.State))
	for range 4 {
		_, err := s.Open(ctx, token, alice, deploy, once)
		requireReason(t, requeststate.ErrConsumed, err)
	}
	assertMisuse(t, o.Redeem(ctx))
}

// The store is asked once for each redemption, for this token's id, its expiry and epoch, with a fresh attempt.
func TestWhatIsConsumed(t *testing.T) {
	store := &fakeStore{epoch: func() (string, error) { return "history 1", nil }}
	s := storeSealer(t, newClock(), store, requeststate.WithFlowTTL(30*time.Minute))
	token := mustSeal(t, s, "", alice, deploy, once)
	o := mustOpen(t, s, token, alice, deploy, once)
	o2 := mustOpen(t, s, token, alice, deploy, once) // the fake lets everything through
	require.Len(t, store.uses, 2)
	for _, use := range store.uses {
		assert.Equal(t, o.ID.String(), use.ID)
		assert.Equal(t, "history 1", use.Epoch)
		assert.True(t, use.ExpiresAt.Equal(o.ExpiresAt))
		assert.Len(t, use.Attempt, 22)
	}
	assert.NotEqual(t, store.uses[0].Attempt, store.uses[1].Attempt)

	child := mustSeal(t, s, "", requeststate.Continue(o2))
	store.epoch = func() (string, error) { return "history 2", nil }
	c := mustOpen(t, s, child, alice, deploy, once)
	assert.Equal(t, c.ID.String(), store.uses[2].ID, "under SingleUse each token's own id is spent")
	assert.Equal(t, "history 1", store.uses[2].Epoch, "the epoch is round 1's")

	flow := mustSeal(t, s, "", alice, deploy, redeem)
	r := mustOpen(t, s, flow, alice, deploy, redeem)
	r = mustOpen(t, s, mustSeal(t, s, "", requeststate.Continue(r)), alice, deploy, redeem)
	require.Len(t, store.uses, 3, "opening spends nothing under SingleRedemption")
	require.NoError(t, r.Redeem(ctx))
	assert.Equal(t, r.Flow.String(), store.uses[3].ID, "the flow is spent, not the round")
	assert.NotEqual(t, r.ID, r.Flow)
	assert.True(t, store.uses[3].ExpiresAt.Equal(started.Add(30*time.Minute)), "until the flow's deadline")
	assert.Equal(t, 2, store.epochs, "the store is asked for its epoch in round 1 alone")
}

// Round 1 replayed five times: five branches, five last tokens, one redemption.
func TestForkUnderSingleRedemption(t *testing.T) {
	s := hmacSealer(t, newClock())
	first := mustSeal(t, s, "1", alice, deploy, redeem)
	var lasts []string
	for range 5 {
		o := mustOpen(t, s, first, alice, deploy, redeem)
		o = mustOpen(t, s, mustSeal(t, s, "2", requeststate.Continue(o)), alice, deploy, redeem)
		lasts = append(lasts, mustSeal(t, s, "3", requeststate.Continue(o)))
	}
	redeemed := 0
	for _, token := range append(lasts, lasts...) {
		switch err := mustOpen(t, s, token, alice, deploy, redeem).Redeem(ctx); {
		case err == nil:
			redeemed++
		default:
			requireReason(t, requeststate.ErrConsumed, err)
		}
	}
	assert.Equal(t, 1, redeemed)
}

func TestNoForkUnderSingleUse(t *testing.T) {
	s := hmacSealer(t, newClock())
	first := mustSeal(t, s, "1", alice, deploy, once)
	o := mustOpen(t, s, first, alice, deploy, once)
	_, err := s.Open(ctx, first, alice, deploy, once)
	requireReason(t, requeststate.ErrConsumed, err)
	second := mustSeal(t, s, "2", requeststate.Continue(o))
	_, err = s.Seal(ctx, []byte("2"), requeststate.Continue(o))
	require.ErrorContains(t, err, "continued before")
	mustOpen(t, s, second, alice, deploy, once)
}

// Two Continues of one Opened race: one child.
func TestContinueRacesUnderSingleUse(t *testing.T) {
	s := hmacSealer(t, newClock())
	for range 100 {
		o := mustOpen(t, s, mustSeal(t, s, "1", alice, deploy, once), alice, deploy, once)
		var children atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if token, err := s.Seal(ctx, nil, requeststate.Continue(o)); err == nil && token != "" {
					children.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, children.Load())
	}
}

func TestContinueRefuses(t *testing.T) {
	clk := newClock()
	s, other := hmacSealer(t, clk), hmacSealer(t, clk)
	open := func(opts ...requeststate.Binding) *requeststate.Opened {
		return mustOpen(t, s, mustSeal(t, s, "", opts...), opts...)
	}
	plain, flow := open(alice, deploy), open(alice, deploy, redeem)
	spent := open(alice, deploy, redeem)
	require.NoError(t, spent.Redeem(ctx))
	for name, c := range map[string]struct {
		s    requeststate.Sealer
		opts bindings
		text string
	}{
		"redeemed":            {s, bindings{requeststate.Continue(spent)}, "redeemed"},
		"other sealer":        {other, bindings{requeststate.Continue(plain)}, "another sealer"},
		"other principal":     {s, bindings{requeststate.Continue(plain), bob}, "Principal"},
		"other request":       {s, bindings{requeststate.Continue(plain), destroy}, "Request"},
		"adds single use":     {s, bindings{requeststate.Continue(plain), once}, "cannot change"},
		"adds redemption":     {s, bindings{requeststate.Continue(plain), redeem}, "cannot change"},
		"changes the mode":    {s, bindings{requeststate.Continue(flow), once}, "cannot change"},
		"of a foreign Opened": {s, bindings{requeststate.Continue(&requeststate.Opened{})}, "another sealer"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := c.s.Seal(ctx, nil, c.opts...)
			require.ErrorContains(t, err, c.text)
			assert.Empty(t, token)
			assertMisuse(t, err)
		})
	}
	t.Run("same again is fine", func(t *testing.T) {
		child := mustSeal(t, s, "", requeststate.Continue(flow), alice, deploy, redeem)
		mustOpen(t, s, child, alice, deploy, redeem)
	})
	t.Run("drops single use", func(t *testing.T) {
		child := mustSeal(t, s, "", requeststate.Continue(flow))
		_, err := s.Open(ctx, child, alice, deploy)
		requireReason(t, requeststate.ErrUse, err)
	})
	t.Run("adds a principal to an anonymous flow", func(t *testing.T) {
		free := hmacSealer(t, clk, requeststate.AllowAnonymous(), requeststate.AllowAnyRequest())
		o := mustOpen(t, free, mustSeal(t, free, ""))
		for _, b := range (bindings{alice, deploy}) {
			_, err := free.Seal(ctx, nil, requeststate.Continue(o), b)
			require.Error(t, err)
		}
		o = mustOpen(t, free, mustSeal(t, free, "", requeststate.Continue(o)))
		assert.Equal(t, 2, o.Round)
	})
}

func TestFlowDeadline(t *testing.T) {
	clk := newClock()
	s := hmacSealer(t, clk, requeststate.WithFlowTTL(6*time.Minute))
	token := mustSeal(t, s, "", alice, deploy, redeem)
	clk.add(4 * time.Minute)
	o := mustOpen(t, s, token, alice, deploy, redeem)
	o2 := mustOpen(t, s, mustSeal(t, s, "", requeststate.Continue(o)), alice, deploy, redeem)
	assert.True(t, o2.ExpiresAt.Equal(started.Add(6*time.Minute)), "a further round does not outlive the flow")
	clk.add(2 * time.Minute)
	_, err := s.Seal(ctx, nil, requeststate.Continue(o2))
	requireReason(t, requeststate.ErrExpired, err)
	requireReason(t, requeststate.ErrExpired, o2.Redeem(ctx))
}

func TestSixteenRounds(t *testing.T) {
	s := hmacSealer(t, newClock())
	o := mustOpen(t, s, mustSeal(t, s, "", alice, deploy), alice, deploy)
	for range 15 {
		o = mustOpen(t, s, mustSeal(t, s, "", requeststate.Continue(o)), alice, deploy)
	}
	assert.Equal(t, 16, o.Round)
	_, err := s.Seal(ctx, nil, requeststate.Continue(o))
	require.ErrorContains(t, err, "16 rounds")
}

// Redeem raced on one Opened is nil once, and so it is on many Openeds of one flow.
func TestRedeemRaces(t *testing.T) {
	s := hmacSealer(t, newClock())
	for _, shared := range []bool{true, false} {
		for range 50 {
			token := mustSeal(t, s, "", alice, deploy, redeem)
			one := mustOpen(t, s, token, alice, deploy, redeem)
			var wins atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					o := one
					if !shared {
						var err error
						if o, err = s.Open(ctx, token, alice, deploy, redeem); !assert.NoError(t, err) {
							return
						}
					}
					if o.Redeem(ctx) == nil {
						wins.Add(1)
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, 1, wins.Load())
		}
	}
}

func TestRedeemTwiceOnOneOpened(t *testing.T) {
	store := &fakeStore{}
	s := storeSealer(t, newClock(), store)
	o := mustOpen(t, s, mustSeal(t, s, "", alice, deploy, redeem), alice, deploy, redeem)
	require.NoError(t, o.Redeem(ctx))
	requireReason(t, requeststate.ErrConsumed, o.Redeem(ctx))
	assert.Len(t, store.uses, 1, "nil at most once, even if the store would let it through")
}

func TestRedeemWhileRedeeming(t *testing.T) {
	s := storeSealer(t, newClock(), &fakeStore{})
	o := mustOpen(t, s, mustSeal(t, s, "", alice, deploy, redeem), alice, deploy, redeem)
	err := o.RedeemWith(ctx, func(context.Context, requeststate.Use) error {
		inner := o.Redeem(ctx)
		assertMisuse(t, inner)
		assert.ErrorContains(t, inner, "at once")
		_, err := s.Seal(ctx, nil, requeststate.Continue(o))
		assert.Error(t, err)
		return nil
	})
	require.NoError(t, err)
}

// What a store may answer, and what becomes of it, in both modes and through RedeemWith.
func TestStoreAnswers(t *testing.T) {
	boom := errors.New("connection reset")
	for name, c := range map[string]struct {
		answer func() error
		want   error
	}{
		"spent now":           {func() error { return nil }, nil},
		"consumed":            {func() error { return requeststate.ErrConsumed }, requeststate.ErrConsumed},
		"stale":               {func() error { return requeststate.ErrStale }, requeststate.ErrStale},
		"outage":              {func() error { return requeststate.Unavailable(boom) }, requeststate.ErrUnavailable},
		"unknown error":       {func() error { return boom }, requeststate.ErrUnavailable},
		"deadline":            {func() error { return context.DeadlineExceeded }, requeststate.ErrUnavailable},
		"another rejection":   {func() error { return requeststate.ErrForged }, requeststate.ErrUnavailable},
		"any rejection":       {func() error { return requeststate.ErrInvalid }, requeststate.ErrUnavailable},
		"both":                {func() error { return errors.Join(requeststate.ErrConsumed, requeststate.ErrUnavailable) }, requeststate.ErrUnavailable},
		"panic":               {func() error { panic("boom") }, requeststate.ErrUnavailable},
		"outage of rejection": {func() error { return requeststate.Unavailable(requeststate.ErrConsumed) }, requeststate.ErrUnavailable},
		"bare outage":         {func() error { return requeststate.Unavailable(nil) }, requeststate.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			store := &fakeStore{consume: func(requeststate.Use) error { return c.answer() }}
			s := storeSealer(t, newClock(), store)
			check := func(err error) {
				t.Helper()
				switch c.want {
				case nil:
					require.NoError(t, err)
				case requeststate.ErrUnavailable:
					require.ErrorIs(t, err, requeststate.ErrUnavailable)
					require.NotErrorIs(t, err, requeststate.ErrInvalid)
					require.Equal(t, requeststate.ErrUnavailable.Error(), err.Error())
				default:
					requireReason(t, c.want, err)
				}
			}
			o, err := s.Open(ctx, mustSeal(t, s, "", alice, deploy, once), alice, deploy, once)
			check(err)
			assert.Equal(t, c.want == nil, o != nil, "after an undecided spend nothing is handed out")

			token := mustSeal(t, s, "", alice, deploy, redeem)
			o = mustOpen(t, s, token, alice, deploy, redeem)
			check(o.Redeem(ctx))
			before := len(store.uses)
			if c.want != nil { // dead: the store is not asked again, and no child may be sealed
				require.Error(t, o.Redeem(ctx))
				_, err = s.Seal(ctx, nil, requeststate.Continue(o))
				require.Error(t, err)
				assert.Len(t, store.uses, before)
			}

			o = mustOpen(t, s, token, alice, deploy, redeem)
			check(o.RedeemWith(ctx, func(context.Context, requeststate.Use) error { return c.answer() }))
			assert.Len(t, store.uses, before, "RedeemWith goes past the store")
		})
	}
}

func TestCauseOfAnOutageIsForTheServer(t *testing.T) {
	boom := errors.New("dial tcp 10.0.0.7: refused")
	s := storeSealer(t, newClock(), &fakeStore{consume: func(requeststate.Use) error { return boom }})
	_, err := s.Open(ctx, mustSeal(t, s, "", alice, deploy, once), alice, deploy, once)
	require.ErrorIs(t, err, boom)
	assert.NotContains(t, err.Error(), "10.0.0.7")
	code, message, data := requeststate.RPCError(err)
	assert.Equal(t, -32603, code)
	assert.Equal(t, "Internal error", message)
	assert.Nil(t, data)
}

func TestStoreDownAtSeal(t *testing.T) {
	for name, epoch := range map[string]func() (string, error){
		"down":  func() (string, error) { return "", errors.New("down") },
		"panic": func() (string, error) { panic("boom") },
		"empty": func() (string, error) { return "", nil },
		"long":  func() (string, error) { return string(make([]byte, 256)), nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := storeSealer(t, newClock(), &fakeStore{epoch: epoch})
			for _, mode := range (bindings{once, redeem}) {
				token, err := s.Seal(ctx, nil, alice, deploy, mode)
				require.ErrorIs(t, err, requeststate.ErrUnavailable)
				assert.Empty(t, token)
			}
			mustSeal(t, s, "", alice, deploy) // without single use no store is needed
		})
	}
}

// A wrong caller, or a token that is no good, cannot burn a token.
func TestOnlyTheRightCallerSpends(t *testing.T) {
	clk := newClock()
	store := &fakeStore{}
	s := storeSealer(t, clk, store)
	token := mustSeal(t, s, "", alice, deploy, once)
	for _, opts := range []bindings{{bob, deploy, once}, {alice, destroy, once}, {alice, deploy}, {alice, deploy, redeem}} {
		_, err := s.Open(ctx, token, opts...)
		require.ErrorIs(t, err, requeststate.ErrInvalid)
	}
	for i := range 1000 {
		_, err := s.Open(ctx, flip(token, 5+i%(len(token)-5)), alice, deploy, once)
		require.ErrorIs(t, err, requeststate.ErrInvalid)
	}
	assert.Empty(t, store.uses)
	mustOpen(t, s, token, alice, deploy, once)
}

func TestOpenJSONDecodesBeforeSpending(t *testing.T) {
	store := &fakeStore{}
	s := storeSealer(t, newClock(), store)
	type v1 struct{ Card string }
	token, err := requeststate.SealJSON(ctx, s, v1{"7"}, alice, deploy, once)
	require.NoError(t, err)
	n, o, err := requeststate.OpenJSON[int](ctx, s, token, alice, deploy, once)
	require.ErrorContains(t, err, "does not fit")
	assert.NotContains(t, err.Error(), "7")
	assertMisuse(t, err)
	assert.Nil(t, o)
	assert.Zero(t, n)
	assert.Empty(t, store.uses, "not burnt")
	v, o, err := requeststate.OpenJSON[v1](ctx, s, token, alice, deploy, once)
	require.NoError(t, err)
	assert.Equal(t, v1{"7"}, v)
	assert.NotNil(t, o)
	assert.Len(t, store.uses, 1)
	_, err = requeststate.SealJSON(ctx, s, func() {}, alice, deploy)
	assert.Error(t, err)
	_, _, err = requeststate.OpenJSON[v1](ctx, s, token, bob, deploy, once)
	requireReason(t, requeststate.ErrPrincipal, err)
}
