package sqlreplay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

const (
	// DefaultTimeout bounds a call of Epoch or Consume, unless [WithTimeout] says otherwise.
	DefaultTimeout = 5 * time.Second
	// DefaultMargin is how long after its expiry Sweep keeps an id, unless [WithMargin] says otherwise.
	DefaultMargin = time.Hour
	// maxCalls is how many calls of the driver run at once. It bounds the goroutines that a driver which does not obey its
	// context leaves behind; a call beyond it waits, as it would for a connection.
	maxCalls = 256
)

// A Store is a [requeststate.ReplayStore] in a database. It is safe for concurrent use, and any number of processes may have
// one on the same database.
type Store struct {
	db        *sql.DB
	dialect   Dialect
	sql       statements
	allowLoss bool
	timeout   time.Duration
	margin    time.Duration
	now       func() time.Time // nil: the database's clock
	calls     chan struct{}
}

var _ requeststate.ReplayStore = (*Store)(nil)

// An Option configures [New].
type Option func(*Store) error

// WithTimeout bounds each call of Epoch and Consume whose context has no earlier deadline. The default is [DefaultTimeout].
// A driver that obeys its context ends all work of a call by then.
func WithTimeout(d time.Duration) Option {
	return func(s *Store) error {
		if d <= 0 {
			return fmt.Errorf("sqlreplay: timeout %v is not positive", d)
		}
		s.timeout = d
		return nil
	}
}

// WithMargin sets how long after its expiry, by the database's clock, Sweep keeps an id. The default is [DefaultMargin].
// Safety does not hang on it: a sealer whose clock is further behind gets [requeststate.ErrStale] for tokens that it takes
// to be alive.
func WithMargin(d time.Duration) Option {
	return func(s *Store) error {
		if d < 0 {
			return fmt.Errorf("sqlreplay: margin %v is negative", d)
		}
		s.margin = d
		return nil
	}
}

// WithClock replaces the database's clock, which Sweep asks what has expired, for tests. It decides nothing else.
func WithClock(now func() time.Time) Option {
	return func(s *Store) error {
		if now == nil {
			return errors.New("sqlreplay: WithClock needs a clock")
		}
		s.now = now
		return nil
	}
}

// AllowDataLoss lets the database forget what it acknowledged: synchronous_commit or fsync off, unlogged tables, SQLite below
// synchronous=FULL or in memory. After a crash spent tokens may be spent again. It is for tests that want speed.
func AllowDataLoss() Option {
	return func(s *Store) error {
		s.allowLoss = true
		return nil
	}
}

// New returns the store whose tables are in db; see [Migrate]. It asks the database whether it can keep the promise, and
// spends an id in a transaction that it rolls back, to see that the rights suffice. The error says what is missing: tables,
// a right, a setting that loses commits in a crash, or the primary instead of a standby. It is
// [requeststate.ErrUnavailable] if the database did not answer. db stays the caller's, who closes it after the last call.
func New(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) (*Store, error) {
	s := &Store{db: db, dialect: d, timeout: DefaultTimeout, margin: DefaultMargin, calls: make(chan struct{}, maxCalls)}
	for _, opt := range opts {
		if err := opt(s); err != nil {
			return nil, err
		}
	}
	if db == nil {
		return nil, errors.New("sqlreplay: New needs a database")
	}
	var err error
	if s.sql, err = d.statements(s.allowLoss); err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	epoch, err := s.Epoch(ctx)
	if err != nil {
		return nil, explained(err)
	}
	if err := s.rehearse(ctx, epoch); err != nil {
		return nil, explained(err)
	}
	return s, nil
}

// check asks the database what is wrong with it.
func (s *Store) check(ctx context.Context) error {
	var wrong string
	if err := s.db.QueryRowContext(ctx, s.sql.check).Scan(&wrong); err != nil {
		return explained(requeststate.Unavailable(err))
	}
	if wrong != "" {
		return fmt.Errorf("sqlreplay: %v: %s", s.dialect, wrong)
	}
	return nil
}

// rehearse spends an id and takes it back.
func (s *Store) rehearse(ctx context.Context, epoch string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return requeststate.Unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // the server rolls back what it is not told to commit
	const year = 365 * 24 * time.Hour    // later than any horizon
	use := requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: time.Now().Add(year)}
	return s.ConsumeTx(ctx, tx, use)
}

// explained is err with the text of its cause, for who starts the program.
func explained(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return fmt.Errorf("sqlreplay: %w: %s", err, cause.Error())
	}
	return err
}

// Epoch returns the name of the database's history. It asks the database at each call, so that the tokens that are sealed
// just after a failover are good. If the history is another than the one on record, Epoch first gives it a new name.
func (s *Store) Epoch(ctx context.Context) (string, error) {
	var epoch string
	err := s.within(ctx, func(ctx context.Context) (err error) {
		epoch, err = s.readEpoch(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	return epoch, nil
}

func (s *Store) readEpoch(ctx context.Context) (epoch string, err error) {
	err = s.db.QueryRowContext(ctx, s.sql.epoch).Scan(&epoch)
	if !errors.Is(err, sql.ErrNoRows) {
		return epoch, unavailable(err)
	}
	// A table that was rewritten may have become an unlogged one.
	if err := s.check(ctx); err != nil {
		return "", unavailable(err)
	}
	// Of several that come here at once one succeeds; all read what it wrote.
	if _, err := s.db.ExecContext(ctx, s.sql.rotate, random()); err != nil {
		return "", unavailable(err)
	}
	return epoch, unavailable(s.db.QueryRowContext(ctx, s.sql.epoch).Scan(&epoch))
}

// Reset gives the history a new name, so that every token sealed before is refused as stale. Call it, before requests are
// served, when the database was put back to an earlier state in a way that it cannot see: a snapshot of a disk or a
// machine, an old copy of a SQLite file, rows deleted by hand. A ConsumeTx whose transaction began before may still commit.
func (s *Store) Reset(ctx context.Context) error {
	res, err := s.db.ExecContext(ctx, s.sql.reset, random())
	if err != nil {
		return unavailable(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return unavailable(fmt.Errorf("sqlreplay: reset changed %d rows of requeststate_history, not 1 (%v)", n, err))
	}
	return nil
}

// unavailable wraps err unless it is nil.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return requeststate.Unavailable(err)
}

// random is 128 random bits in base64url.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail: it ends the program if the system has no randomness
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// lockKey is the key of a Postgres advisory lock. All users of such locks in a database share 64 bits: a collision makes
// somebody wait or try again, no more.
func lockKey(name string) int64 {
	sum := sha256.Sum256([]byte("mcp-requeststate sqlreplay " + name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
