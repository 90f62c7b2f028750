package replaytest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

// faulty is a correct store until a fault is switched on.
type faulty struct {
	mu      sync.Mutex
	epoch   string
	spent   map[string]string // id → attempt
	expires map[string]time.Time
	order   []string
	now     func() time.Time

	noCheck, race, fold, trim, anyEpoch, noAttempt, bare, swallow, ignoreContext, noHorizon, both bool
	capacity                                                                                      int // evicts the oldest above it
}

func newFaulty(now func() time.Time) *faulty {
	return &faulty{epoch: "history", spent: map[string]string{}, expires: map[string]time.Time{}, now: now}
}

func (f *faulty) Epoch(context.Context) (string, error) { return f.epoch, nil }

func (f *faulty) key(id string) string {
	if f.fold {
		id = strings.ToLower(id)
	}
	if f.trim {
		id = strings.TrimRight(id, " ")
	}
	return id
}

func (f *faulty) Consume(ctx context.Context, use requeststate.Use) error {
	if ctx.Err() != nil && !f.ignoreContext {
		if f.bare {
			return requeststate.ErrStale
		}
		return requeststate.Unavailable(ctx.Err())
	}
	if use.ID == "" || use.Attempt == "" || use.ExpiresAt.IsZero() {
		return errors.New("incomplete")
	}
	if use.Epoch != f.epoch && !f.anyEpoch {
		return requeststate.ErrStale
	}
	id := f.key(use.ID)
	f.mu.Lock()
	f.forget()
	attempt, known := f.spent[id]
	if f.race {
		f.mu.Unlock()
		runtime.Gosched()
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	if known && !f.noCheck {
		if attempt == use.Attempt && !f.noAttempt {
			return nil
		}
		if f.swallow {
			return nil
		}
		if f.both {
			return errors.Join(requeststate.ErrConsumed, requeststate.ErrUnavailable)
		}
		return requeststate.ErrConsumed
	}
	f.spent[id], f.expires[id] = use.Attempt, use.ExpiresAt
	f.order = append(f.order, id)
	if f.capacity > 0 && len(f.order) > f.capacity {
		delete(f.spent, f.order[0])
		f.order = f.order[1:]
	}
	return nil
}

// forget is what a TTL does: it drops what expired and keeps no horizon.
func (f *faulty) forget() {
	if !f.noHorizon {
		return
	}
	for id, exp := range f.expires {
		if exp.Before(f.now()) {
			delete(f.spent, id)
		}
	}
}

// eventual is a client that reads a copy of the ids, some operations old.
type eventual struct {
	*faulty
	copied map[string]bool
}

func (v *eventual) Consume(ctx context.Context, use requeststate.Use) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.copied[use.ID] {
		return requeststate.ErrConsumed
	}
	v.copied[use.ID] = true
	return nil
}

func run(t *testing.T, fault func(*faulty)) map[string]string {
	open := func(now func() time.Time) requeststate.ReplayStore {
		f := newFaulty(now)
		fault(f)
		return f
	}
	return replaytest.Failures(t, func(*testing.T) requeststate.ReplayStore { return open(time.Now) },
		replaytest.WithTrials(200),
		replaytest.WithClock(func(_ *testing.T, now func() time.Time) requeststate.ReplayStore { return open(now) }),
		replaytest.WithPeer(func(_ *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore { return s }))
}

// A suite that has never been seen to fail proves little: each of these stores lets something be spent twice, or says
// something that it must not.
func TestFaultyStoresAreCaught(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*faulty)
		check string
	}{
		"never looks":                {func(f *faulty) { f.noCheck = true }, "first and again"},
		"check, then mark":           {func(f *faulty) { f.race = true }, "race"},
		"case folded":                {func(f *faulty) { f.fold = true }, "ids are exact"},
		"trailing spaces cut":        {func(f *faulty) { f.trim = true }, "ids are exact"},
		"any epoch":                  {func(f *faulty) { f.anyEpoch = true }, "stale epoch"},
		"own attempt not recognised": {func(f *faulty) { f.noAttempt = true }, "own attempt"},
		"used is success":            {func(f *faulty) { f.swallow = true }, "first and again"},
		"a cancelled call is stale":  {func(f *faulty) { f.bare = true }, "cancelled context"},
		"ignores the context":        {func(f *faulty) { f.ignoreContext = true }, "cancelled context"},
		"evicts live ids":            {func(f *faulty) { f.capacity = 1000 }, "many others between"},
		"TTL without horizon":        {func(f *faulty) { f.noHorizon = true }, "horizon"},
		"TTL by a clock ahead":       {func(f *faulty) { f.noHorizon = true }, "clocks disagree"},
		"both verdicts":              {func(f *faulty) { f.both = true }, "first and again"},
	} {
		t.Run(name, func(t *testing.T) { assert.Contains(t, run(t, c.fault), c.check) })
	}
	t.Run("stale copies", func(t *testing.T) {
		failed := replaytest.Failures(t,
			func(*testing.T) requeststate.ReplayStore { return &eventual{newFaulty(time.Now), map[string]bool{}} },
			replaytest.WithTrials(1),
			replaytest.WithPeer(func(_ *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore {
				return &eventual{s.(*eventual).faulty, map[string]bool{}}
			}))
		assert.Contains(t, failed, "peer")
	})
}

func TestACorrectStorePasses(t *testing.T) {
	assert.Empty(t, run(t, func(*faulty) {}))
}
