// Package replaytest checks that a [requeststate.ReplayStore] lets nothing be spent twice. Any store must pass [Run]:
//
//	func TestStore(t *testing.T) {
//		replaytest.Run(t, func(t *testing.T) requeststate.ReplayStore {
//			store, err := replay.NewMemory()
//			if err != nil {
//				t.Fatal(err)
//			}
//			return store
//		})
//	}
//
// [Churn] checks that a store forgets, and that forgetting reopens nothing. [Failures] runs the suite on a store that
// must fail it.
package replaytest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Open returns a new client of a store with a history of its own: nothing is spent in it, nothing forgotten. It is called
// once for each check, in that check's test, and cleans up with t.Cleanup.
type Open = func(t *testing.T) requeststate.ReplayStore

// OpenClock is [Open] for a store that takes the time from now, which is safe for concurrent use.
type OpenClock = func(t *testing.T, now func() time.Time) requeststate.ReplayStore

// OpenPeer returns another client of the store that s is a client of, as a second process would have it.
type OpenPeer = func(t *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore

// An Option changes what [Run] does.
type Option func(*config)

type config struct {
	trials    int
	openClock OpenClock
	openPeer  OpenPeer
}

// WithTrials sets how often 64 goroutines race for one id, for slow stores. The default is 1,000, or 100 under -short.
func WithTrials(n int) Option { return func(c *config) { c.trials = n } }

// WithClock adds the checks that move the store's clock: forgetting, the horizon, clocks that disagree. A store whose
// cleaning depends on time must have it.
func WithClock(open OpenClock) Option { return func(c *config) { c.openClock = open } }

// WithPeer adds the checks that use two clients of one store. A store that several processes share must have it.
func WithPeer(open OpenPeer) Option { return func(c *config) { c.openPeer = open } }

// A Sweeper is a store that can clean up on demand. The checks call Sweep where they want the store to forget.
type Sweeper interface {
	Sweep(ctx context.Context) error
}

// Run runs the suite on the store that open opens, one subtest for each check.
func Run(t *testing.T, open Open, opts ...Option) {
	t.Helper()
	c := newConfig(opts)
	for _, check := range checks {
		if !check.applies(c) {
			continue
		}
		t.Run(check.name, func(t *testing.T) { check.run(&env{reporter: t, t: t, config: c, open: open}) })
	}
}

// Failures runs the suite on a store that is known to be wrong and returns the names of the checks that failed, each with
// what it said, without failing t. It is for negative controls: a suite that has never been seen to fail proves little.
func Failures(t *testing.T, open Open, opts ...Option) map[string]string {
	t.Helper()
	c := newConfig(opts)
	failed := make(map[string]string)
	for _, check := range checks {
		if !check.applies(c) {
			continue
		}
		t.Run(check.name, func(t *testing.T) {
			rec := &recorder{}
			done := make(chan struct{})
			go func() { // of its own, because Fatalf ends it
				defer close(done)
				check.run(&env{reporter: rec, t: t, config: c, open: open})
			}()
			<-done
			if rec.text != "" {
				failed[check.name] = rec.text
			}
		})
	}
	return failed
}

func newConfig(opts []Option) config {
	c := config{trials: 1000}
	if testing.Short() {
		c.trials = 100
	}
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

// A reporter is what checks use of a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A recorder is the reporter of [Failures]. Checks report from one goroutine only.
type recorder struct{ text string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	if r.text == "" {
		r.text = fmt.Sprintf(format, args...)
	}
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
