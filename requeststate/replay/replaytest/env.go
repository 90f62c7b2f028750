package replaytest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A check is one property of a store.
type check struct {
	name  string
	needs need
	run   func(*env)
}

type need int

const (
	nothing need = iota
	clock
	peer
)

func (c check) applies(cfg config) bool {
	return c.needs == nothing || c.needs == clock && cfg.openClock != nil || c.needs == peer && cfg.openPeer != nil
}

// An env is what a check works with.
type env struct {
	reporter
	config
	t    *testing.T
	open Open
}

func (e *env) ctx() context.Context { return e.t.Context() }

func (e *env) store() requeststate.ReplayStore { return e.open(e.t) }

// clocked opens a store whose clock stands at start.
func (e *env) clocked(start time.Time) (requeststate.ReplayStore, *fakeClock) {
	c := &fakeClock{}
	c.set(start)
	return e.openClock(e.t, c.now), c
}

// random is 128 bits in base64url, as ids and attempts are.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// soon is an expiry as tokens have it: whole seconds, some minutes ahead.
func soon() time.Time { return time.Now().Truncate(time.Second).Add(5 * time.Minute) }

// use is a use of a new id that expires at exp.
func (e *env) use(s requeststate.ReplayStore, exp time.Time) requeststate.Use {
	e.Helper()
	return requeststate.Use{ID: random(), Epoch: e.epoch(s), Attempt: random(), ExpiresAt: exp}
}

// again is another attempt on the id of u.
func again(u requeststate.Use) requeststate.Use {
	u.Attempt = random()
	return u
}

func (e *env) epoch(s requeststate.ReplayStore) string {
	e.Helper()
	epoch, err := s.Epoch(e.ctx())
	if err != nil {
		e.Fatalf("Epoch: %v", err)
	}
	return epoch
}

// verdict is an answer of Consume.
type verdict string

const (
	spent     verdict = "nil"
	consumed  verdict = "ErrConsumed"
	stale     verdict = "ErrStale"
	undecided verdict = "undecided"
	confused  verdict = "confused"
)

// judge sorts an error of Consume, or finds that it says two things at once.
func judge(err error) verdict {
	var found []verdict
	if errors.Is(err, requeststate.ErrConsumed) {
		found = append(found, consumed)
	}
	if errors.Is(err, requeststate.ErrStale) {
		found = append(found, stale)
	}
	if errors.Is(err, requeststate.ErrUnavailable) {
		found = append(found, undecided)
	}
	switch {
	case err == nil:
		return spent
	case len(found) > 1:
		return confused
	case len(found) == 0 && errors.Is(err, requeststate.ErrInvalid):
		return confused // a rejection, but none that a store can give
	case len(found) == 0:
		return undecided
	}
	return found[0]
}

// want consumes u and reports an answer that is none of the verdicts.
func (e *env) want(s requeststate.ReplayStore, u requeststate.Use, what string, verdicts ...verdict) verdict {
	e.Helper()
	return e.wantCtx(e.ctx(), s, u, what, verdicts...)
}

func (e *env) wantCtx(
	ctx context.Context, s requeststate.ReplayStore, u requeststate.Use, what string, verdicts ...verdict,
) verdict {
	e.Helper()
	err := s.Consume(ctx, u)
	got := judge(err)
	for _, v := range verdicts {
		if got == v {
			return got
		}
	}
	e.Errorf("%s: got %s (%v), want one of %v", what, got, err, verdicts)
	return got
}

// clean makes a store that cleans as it goes, or on demand, forget what it may: n fresh ids are spent.
func (e *env) clean(s requeststate.ReplayStore, exp time.Time, n int) {
	e.Helper()
	for range n {
		e.want(s, e.use(s, exp), "a fresh id", spent)
	}
	if sweeper, ok := s.(Sweeper); ok {
		if err := sweeper.Sweep(e.ctx()); err != nil {
			e.Fatalf("Sweep: %v", err)
		}
	}
}

// A fakeClock is a clock that stands until it is moved.
type fakeClock struct{ nano atomic.Int64 }

func (c *fakeClock) now() time.Time      { return time.Unix(0, c.nano.Load()) }
func (c *fakeClock) set(t time.Time)     { c.nano.Store(t.UnixNano()) }
func (c *fakeClock) add(d time.Duration) { c.nano.Add(int64(d)) }

// spend spends n ids that expire at exp.
func spend(e *env, s requeststate.ReplayStore, exp time.Time, n int) []requeststate.Use {
	e.Helper()
	uses := make([]requeststate.Use, n)
	for i := range uses {
		uses[i] = e.use(s, exp)
		e.want(s, uses[i], "first", spent)
	}
	return uses
}
