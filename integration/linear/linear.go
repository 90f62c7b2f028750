// Package linear checks that a replay store is linearizable: that there is one order of all calls, each between its start and
// its end, in which every id is spent by one attempt. An undecided call may or may not have spent, now or later.
package linear

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Recorder wraps a store and remembers every call. It is a ReplayStore itself.
type Recorder struct {
	requeststate.ReplayStore
	start time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// NewRecorder returns a recorder of calls to s.
func NewRecorder(s requeststate.ReplayStore) *Recorder {
	return &Recorder{ReplayStore: s, start: time.Now()}
}

// Consume passes the call on and records it.
func (r *Recorder) Consume(ctx context.Context, use requeststate.Use) error {
	call := time.Since(r.start).Nanoseconds()
	err := r.ReplayStore.Consume(ctx, use)
	r.mu.Lock()
	defer r.mu.Unlock()
	op := porcupine.Operation{Input: use, Call: call, Output: judge(err), Return: time.Since(r.start).Nanoseconds()}
	if op.Output == undecided {
		op.Return = int64(1) << 62 // it may still take effect
	}
	if op.Output == stale {
		// A try of this call may have spent the id and lost its reply, before the history that its last try met.
		tried := op
		tried.Output, tried.ClientId = undecided, len(r.ops)
		r.ops = append(r.ops, tried)
	}
	op.ClientId = len(r.ops)
	r.ops = append(r.ops, op)
	return err
}

// Join makes one history of those that several recorders hold.
func Join(recorders ...*Recorder) *Recorder {
	all := &Recorder{}
	for _, r := range recorders {
		r.mu.Lock()
		shift := r.start.Sub(recorders[0].start).Nanoseconds()
		for _, op := range r.ops {
			op.Call += shift
			if op.Output != undecided {
				op.Return += shift
			}
			op.ClientId = len(all.ops)
			all.ops = append(all.ops, op)
		}
		r.mu.Unlock()
	}
	return all
}

type output int

const (
	spent output = iota
	consumed
	stale
	undecided
)

func (o output) String() string { return [...]string{"spent", "consumed", "stale", "undecided"}[o] }

func judge(err error) output {
	switch {
	case err == nil:
		return spent
	case errors.Is(err, requeststate.ErrUnavailable):
		return undecided
	case errors.Is(err, requeststate.ErrConsumed):
		return consumed
	case errors.Is(err, requeststate.ErrStale):
		return stale
	}
	return undecided
}

// Len is the number of calls recorded.
func (r *Recorder) Len() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.ops) }

// Linearizable reports whether the history is. It ends the test if that cannot be found out within a minute.
func (r *Recorder) Linearizable(t *testing.T) bool {
	t.Helper()
	result := porcupine.CheckOperationsTimeout(model.ToModel(), r.ops, time.Minute)
	if result == porcupine.Unknown {
		t.Fatal("porcupine found no answer within a minute")
	}
	if result == porcupine.Illegal {
		for _, part := range model.Partition(r.ops) {
			if porcupine.CheckOperations(model.ToModel(), part) {
				continue
			}
			for _, op := range part {
				u := op.Input.(requeststate.Use)
				t.Logf("illegal: id %.4s epoch %.4s attempt %.4s from %v to %v: %v", u.ID, u.Epoch, u.Attempt,
					time.Duration(op.Call), time.Duration(op.Return), op.Output)
			}
			break // one says enough
		}
	}
	return result == porcupine.Ok
}

// The state of an id is the attempt that spent it, "" before, and gone once its history was forgotten: a store that lost its
// memory answers stale from then on, and never spends the id again.
const gone = "\x00gone"

// model is what a store may do to one id.
var model = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byID := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(requeststate.Use).ID
			byID[id] = append(byID[id], op)
		}
		for _, part := range byID {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{""} },
	Step: func(state, input, result any) []any {
		holder, attempt := state.(string), input.(requeststate.Use).Attempt
		switch result.(output) {
		case spent:
			if holder == "" || holder == attempt {
				return []any{attempt}
			}
		case consumed:
			if holder != "" && holder != attempt && holder != gone {
				return []any{holder}
			}
		case stale:
			return []any{gone}
		case undecided:
			if holder == "" {
				return []any{"", attempt}
			}
			return []any{holder}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// A Fault does harm to a store's server, the i-th of its kind, while calls go on.
type Fault struct {
	// Every is the number of calls from one fault to the next. It goes by calls and not by time, so that a slow machine gets
	// as many faults as a fast one.
	Every int
	Do    func(i int)
}

// Load makes n calls on ids that several goroutines fight over: workers at a time, fresh attempts and retries of the same one, with
// contexts from newContext. stores are clients of one store.
func Load(stores []*Recorder, n, workers int, newContext func() (context.Context, context.CancelFunc), faults ...Fault) {
	uses := make(chan requeststate.Use, workers)
	go func() {
		defer close(uses)
		for i := 0; i < n; i += 4 {
			epoch, err := stores[0].Epoch(context.Background())
			if err != nil {
				epoch = "unknown"
			}
			u := requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: time.Now().Truncate(time.Second).Add(5 * time.Minute)}
			other := u
			other.Attempt = random()
			for _, use := range []requeststate.Use{u, other, u, other} {
				uses <- use
			}
		}
	}()
	var calls atomic.Int64
	var one sync.Mutex // fault at a time
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for use := range uses {
				ctx, cancel := newContext()
				_ = stores[w%len(stores)].Consume(ctx, use)
				cancel()
				done := int(calls.Add(1))
				for _, f := range faults {
					if done%f.Every == 0 {
						one.Lock()
						f.Do(done / f.Every)
						one.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
}

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}
