package sqlreplay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

var (
	// ErrBusy is the cause of an [requeststate.ErrUnavailable]: another transaction is spending this id and has not ended,
	// so nobody knows yet. Roll back and try again.
	ErrBusy = errors.New("sqlreplay: another transaction is spending this id")

	// ErrCommitted is ConsumeTx's answer to an attempt that finds its own row: this very attempt has spent the id, in an
	// earlier transaction whose COMMIT was not answered, or earlier in the same one. The effect of that transaction has
	// happened and must not happen again. It is neither a rejection nor an ErrUnavailable.
	ErrCommitted = errors.New("sqlreplay: this attempt has spent the id already")

	errLossy = errors.New("sqlreplay: this connection loses commits in a crash (Postgres: synchronous_commit is off; " +
		"SQLite: synchronous is below FULL)")
)

// A code is what a statement says of a use. The numbers are in no stored data.
type code int

const (
	codeSpent    code = iota + 1 // by this statement
	codeConsumed                 // by another attempt
	codeOwn                      // by this attempt, before
	codeStale
	codeBusy
	codeUnseen // a rival has just committed or rolled back: ask again
	codeLossy
)

const (
	// tries is how often Consume asks, with pauses of 2, 4, 8, 16, 32 and 64 ms between: a lost connection, a rival in the
	// middle of its transaction, a deadlock.
	tries      = 7
	firstPause = 2 * time.Millisecond
	// grace is what Consume waits after its context has ended for the driver to say what became of the statement.
	grace = 20 * time.Millisecond
)

// Consume spends use.ID in a transaction of its own, as [requeststate.ReplayStore] says. When the database does not answer, a
// connection breaks or a rival is in the middle of its transaction, it asks a few times more, within 200 ms and holding no
// connection in between; the use's attempt tells whether an earlier try has spent the id. It returns at most 50 ms
// after ctx ends or [WithTimeout] has passed, also if the driver does not: then a goroutine, one of 256 at most, waits
// for the driver.
func (s *Store) Consume(ctx context.Context, use requeststate.Use) error {
	if err := complete(use); err != nil {
		return err
	}
	return s.within(ctx, func(ctx context.Context) error { return s.consume(ctx, use) })
}

func (s *Store) consume(ctx context.Context, use requeststate.Use) error {
	pause := firstPause
	for try := 1; ; try++ {
		c, err := s.spend(ctx, s.db, use)
		if err == nil && c == codeOwn {
			return nil // a try of this call, or the driver's own retry of it
		}
		if err == nil && c != codeBusy && c != codeUnseen {
			return Verdict(int(c), nil)
		}
		// Nothing was spent, or nobody knows. The same statement may run again: its row carries the attempt.
		if try == tries || !sleep(ctx, pause) {
			return Verdict(int(c), err)
		}
		pause *= 2
	}
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// within runs call in a goroutine, so that it can leave when ctx ends, whatever the driver does.
func (s *Store) within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	if err := ctx.Err(); err != nil {
		cancel()
		return requeststate.Unavailable(err)
	}
	select {
	case s.calls <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return requeststate.Unavailable(ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- requeststate.Unavailable(fmt.Errorf("sqlreplay: driver panicked: %v", p))
			}
			cancel()
			<-s.calls
		}()
		done <- call(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return requeststate.Unavailable(ctx.Err())
	}
}
