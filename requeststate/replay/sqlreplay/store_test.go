package sqlreplay

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

var use = requeststate.Use{ID: "id", Epoch: "epoch", Attempt: "attempt", ExpiresAt: time.Now().Add(time.Hour)}

var errDriver = errors.New("driver: bad luck")

// script answers spends in this order, and then its last answer for ever. New's own spend is not counted.
func script(t *testing.T, answers ...any) (*Store, *atomic.Int64) {
	var calls atomic.Int64
	var started atomic.Bool
	f := healthy(func(context.Context) (code, error) {
		if !started.Load() {
			return codeSpent, nil
		}
		i := min(int(calls.Add(1)), len(answers)) - 1
		if err, ok := answers[i].(error); ok {
			return 0, err
		}
		return answers[i].(code), nil
	})
	s, err := New(t.Context(), f.open(t), Postgres)
	require.NoError(t, err)
	started.Store(true)
	return s, &calls
}

func TestVerdict(t *testing.T) {
	for c, want := range map[code]error{
		codeConsumed: requeststate.ErrConsumed, codeStale: requeststate.ErrStale, codeOwn: ErrCommitted,
		codeBusy: ErrBusy, codeUnseen: ErrBusy, codeLossy: errLossy,
	} {
		assert.ErrorIs(t, Verdict(int(c), nil), want)
	}
	assert.NoError(t, Verdict(int(codeSpent), nil))
	for _, c := range []code{codeBusy, codeUnseen, codeLossy, 0, -1, codeLossy + 1} {
		assert.ErrorIs(t, Verdict(int(c), nil), requeststate.ErrUnavailable, "%d", c)
	}
	assert.NotErrorIs(t, ErrCommitted, requeststate.ErrUnavailable)
	assert.NotErrorIs(t, ErrCommitted, requeststate.ErrInvalid)
	err := Verdict(int(codeSpent), errDriver) // an error wins over what else came
	assert.ErrorIs(t, err, requeststate.ErrUnavailable)
	assert.ErrorIs(t, err, errDriver)
}

func TestConsume(t *testing.T) {
	for name, test := range map[string]struct {
		answers []any
		want    error
		calls   int64
	}{
		"spent":                         {[]any{codeSpent}, nil, 1},
		"used":                          {[]any{codeConsumed}, requeststate.ErrConsumed, 1},
		"another history":               {[]any{codeStale}, requeststate.ErrStale, 1},
		"reply lost, then its own row":  {[]any{errDriver, codeOwn}, nil, 2},
		"reply lost, then another's":    {[]any{errDriver, codeConsumed}, requeststate.ErrConsumed, 2},
		"a rival that rolls back":       {[]any{codeBusy, codeUnseen, codeSpent}, nil, 3},
		"a rival that does not end":     {[]any{codeBusy}, ErrBusy, tries},
		"a driver that fails for ever":  {[]any{errDriver}, errDriver, tries},
		"a connection that may lose it": {[]any{codeLossy}, errLossy, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, calls := script(t, test.answers...)
				start := time.Now()
				err := s.Consume(t.Context(), use)
				if test.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, test.want)
				}
				assert.Equal(t, test.calls, calls.Load())
				assert.Less(t, time.Since(start), 200*time.Millisecond)
				require.NoError(t, s.db.Close())
			})
		})
	}
}

func TestUsesThatAreIncomplete(t *testing.T) {
	s, calls := script(t, codeSpent)
	for _, u := range []requeststate.Use{
		{}, {Epoch: use.Epoch, Attempt: use.Attempt, ExpiresAt: use.ExpiresAt}, {ID: use.ID, Attempt: use.Attempt, ExpiresAt: use.ExpiresAt},
		{ID: use.ID, Epoch: use.Epoch, ExpiresAt: use.ExpiresAt}, {ID: use.ID, Epoch: use.Epoch, Attempt: use.Attempt},
	} {
		err := s.Consume(t.Context(), u)
		require.ErrorContains(t, err, "a use needs")
		assert.NotErrorIs(t, err, requeststate.ErrUnavailable, "it is a mistake of the program")
	}
	assert.Zero(t, calls.Load())
}

// stuck is a store whose driver ignores its context until the returned function is called.
func stuck(t *testing.T) (*Store, func()) {
	release := make(chan struct{})
	var started atomic.Bool
	f := healthy(func(context.Context) (code, error) {
		if started.Load() {
			<-release
		}
		return codeSpent, nil
	})
	s, err := New(t.Context(), f.open(t), Postgres)
	require.NoError(t, err)
	started.Store(true)
	return s, func() { close(release) }
}

func TestDeadlineHoldsWhateverTheDriverDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := stuck(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, s.Consume(ctx, use), requeststate.ErrUnavailable)
		assert.Equal(t, 100*time.Millisecond+grace, time.Since(start))

		start = time.Now()
		require.ErrorIs(t, s.Consume(t.Context(), use), requeststate.ErrUnavailable)
		assert.Equal(t, DefaultTimeout+grace, time.Since(start))
		release()
		require.NoError(t, s.db.Close())
	})
}

// What waits for a stuck driver is bounded, and a call beyond it ends with its context.
func TestGoroutinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := stuck(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		for range 3 * maxCalls {
			all.Go(func() { assert.ErrorIs(t, s.Consume(ctx, use), requeststate.ErrUnavailable) })
		}
		all.Wait()
		assert.Len(t, s.calls, maxCalls)
		release()
		synctest.Wait()
		assert.Empty(t, s.calls)
		require.NoError(t, s.Consume(t.Context(), use))
		require.NoError(t, s.db.Close())
	})
}

func TestPanicOfADriver(t *testing.T) {
	var started atomic.Bool
	f := healthy(func(context.Context) (code, error) {
		if started.Load() {
			panic("nil map")
		}
		return codeSpent, nil
	})
	s, err := New(t.Context(), f.open(t), Postgres)
	require.NoError(t, err)
	started.Store(true)
	err = s.Consume(t.Context(), use)
	require.ErrorIs(t, err, requeststate.ErrUnavailable)
	assert.ErrorContains(t, errors.Unwrap(err), "driver panicked")
}

// Epoch gives a history that is not on record a new name, after looking whether the table is still a safe one.
func TestEpochOfAnotherHistory(t *testing.T) {
	var asked []string
	known := true
	f := fake(func(_ context.Context, query string, _ []driver.NamedValue) ([]any, int64, error) {
		word := strings.Fields(query)[0]
		asked = append(asked, word)
		switch {
		case strings.HasPrefix(query, "WITH gate"):
			return []any{int64(codeSpent)}, 0, nil
		case word == "UPDATE":
			known = true
			return nil, 1, nil
		case strings.HasPrefix(query, "SELECT epoch") && !known:
			return nil, 0, nil
		case strings.HasPrefix(query, "SELECT epoch"):
			return []any{"new"}, 0, nil
		}
		return []any{""}, 0, nil
	})
	s, err := New(t.Context(), f.open(t), Postgres)
	require.NoError(t, err)
	known, asked = false, nil
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", epoch)
	assert.Equal(t, []string{"SELECT", "SELECT", "UPDATE", "SELECT"}, asked)
}

func TestNewRefuses(t *testing.T) {
	good := healthy(func(context.Context) (code, error) { return codeSpent, nil })
	for name, test := range map[string]struct {
		dialect Dialect
		opt     Option
		want    string
	}{
		"dialect": {0, nil, "unknown dialect"},
		"timeout": {Postgres, WithTimeout(0), "not positive"},
		"margin":  {Postgres, WithMargin(-1), "negative"},
		"clock":   {Postgres, WithClock(nil), "needs a clock"},
	} {
		opts := []Option{}
		if test.opt != nil {
			opts = append(opts, test.opt)
		}
		_, err := New(t.Context(), good.open(t), test.dialect, opts...)
		assert.ErrorContains(t, err, test.want, name)
	}
	_, err := New(t.Context(), nil, Postgres)
	assert.ErrorContains(t, err, "needs a database")

	unsafe := fake(func(context.Context, string, []driver.NamedValue) ([]any, int64, error) {
		return []any{"fsync is off"}, 0, nil
	})
	_, err = New(t.Context(), unsafe.open(t), Postgres)
	assert.ErrorContains(t, err, "fsync is off")

	denied := healthy(func(context.Context) (code, error) {
		return 0, errors.New("permission denied for table requeststate_spent")
	})
	_, err = New(t.Context(), denied.open(t), Postgres)
	assert.ErrorContains(t, err, "permission denied")
	assert.Empty(t, Schema(0))
	assert.ErrorContains(t, Migrate(t.Context(), good.open(t), 0), "unknown dialect")
	query, args := (&Store{dialect: SQLite}).Statement(use)
	assert.Empty(t, query)
	assert.Nil(t, args)
}
