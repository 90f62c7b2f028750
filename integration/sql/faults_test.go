//go:build unix

package sql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/faults"
	"github.com/mcp-requeststate/requeststate-go/integration/linear"
	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

const tokens = 200

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// fresh is a use of a new id that expires in five minutes.
func fresh(t testing.TB, s *sqlreplay.Store) requeststate.Use {
	t.Helper()
	epoch, err := s.Epoch(context.Background())
	require.NoError(t, err)
	return requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: time.Now().Truncate(time.Second).Add(5 * time.Minute)}
}

func again(u requeststate.Use) requeststate.Use { u.Attempt = random(); return u }

// tally is what became of tokens that were presented after a fault.
type tally struct{ tried, accepted, consumed, stale, undecided int }

func (c *tally) add(err error) {
	c.tried++
	switch {
	case err == nil:
		c.accepted++
	case errors.Is(err, requeststate.ErrUnavailable):
		c.undecided++
	case errors.Is(err, requeststate.ErrConsumed):
		c.consumed++
	case errors.Is(err, requeststate.ErrStale):
		c.stale++
	}
}

func spend(t testing.TB, s *sqlreplay.Store, n int) []requeststate.Use {
	t.Helper()
	uses := make([]requeststate.Use, n)
	for i := range uses {
		uses[i] = fresh(t, s)
		require.NoError(t, s.Consume(context.Background(), uses[i]))
	}
	return uses
}

func unspent(t testing.TB, s *sqlreplay.Store, n int) []requeststate.Use {
	uses := make([]requeststate.Use, n)
	for i := range uses {
		uses[i] = fresh(t, s)
	}
	return uses
}

func present(s requeststate.ReplayStore, uses []requeststate.Use) (c tally) {
	for _, u := range uses {
		c.add(s.Consume(context.Background(), again(u)))
	}
	return c
}

// toy is the negative control: an insert that knows nothing of histories.
type toy struct{ db *sql.DB }

func (n toy) spend(t testing.TB, ids []string) {
	_, err := n.db.Exec("CREATE TABLE IF NOT EXISTS toy (id text PRIMARY KEY)")
	require.NoError(t, err)
	for _, id := range ids {
		require.True(t, n.first(id))
	}
}

func (n toy) first(id string) bool {
	res, err := n.db.Exec("INSERT INTO toy VALUES ($1) ON CONFLICT DO NOTHING", id)
	if err != nil {
		return false
	}
	rows, err := res.RowsAffected()
	return err == nil && rows == 1
}

func (n toy) replay(ids []string) (c tally) {
	for _, id := range ids {
		c.tried++
		if n.first(id) {
			c.accepted++
		}
	}
	return c
}

func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = random()
	}
	return ids
}

func report(t testing.TB, row string, ours, honest, naive tally, forgets bool) {
	t.Helper()
	t.Logf("%-34s tried %d, accepted twice %d (used %d, stale %d, undecided %d); honest refused %d of %d; naive accepted %d of %d",
		row, ours.tried, ours.accepted, ours.consumed, ours.stale, ours.undecided, honest.tried-honest.accepted, honest.tried, naive.accepted, naive.tried)
	assert.Zero(t, ours.accepted, "%s: accepted twice", row)
	if forgets {
		assert.Positive(t, naive.accepted, "%s: the negative control forgot nothing", row)
	}
}

// Row 34: sixteen presentations of one token at once, one accepted, and nobody told anything but that or "used".
func TestConcurrentPresentations(t *testing.T) {
	for _, s := range stores {
		t.Run(s.dialect.String(), func(t *testing.T) {
			store, _ := s.open(t)
			var total tally
			for range 100 {
				u := fresh(t, store)
				var mu sync.Mutex
				var one tally
				var wg sync.WaitGroup
				for range 16 {
					wg.Go(func() {
						err := store.Consume(context.Background(), again(u))
						mu.Lock()
						defer mu.Unlock()
						one.add(err)
						total.add(err)
					})
				}
				wg.Wait()
				require.LessOrEqual(t, one.accepted, 1)
				require.Zero(t, one.stale)
			}
			t.Logf("34 16 at once, 100 tokens: accepted %d, used %d, undecided %d", total.accepted, total.consumed, total.undecided)
			assert.GreaterOrEqual(t, total.accepted, 95) // a loaded machine may leave a race undecided
		})
	}
}

// Row 35: whatever the isolation level, and whether the rival commits or rolls back, one transaction spends the id; a
// serialization failure is no verdict.
func TestIsolationLevels(t *testing.T) {
	store, db := newPostgres(t)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprint(level, " rival commits ", commits), func(t *testing.T) {
				u := fresh(t, store)
				begin := func() *sql.Tx {
					tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					require.NoError(t, err)
					_, err = tx.Exec("SELECT 1") // takes the snapshot
					require.NoError(t, err)
					return tx
				}
				rival, ours := begin(), begin()
				require.NoError(t, store.ConsumeTx(t.Context(), rival, u))
				busy := store.ConsumeTx(t.Context(), ours, again(u))
				require.ErrorIs(t, busy, requeststate.ErrUnavailable)
				require.ErrorIs(t, busy, sqlreplay.ErrBusy)
				if commits {
					require.NoError(t, rival.Commit())
				} else {
					require.NoError(t, rival.Rollback())
				}
				err := store.ConsumeTx(t.Context(), ours, again(u))
				switch {
				case commits:
					require.Error(t, err)
					if !errors.Is(err, requeststate.ErrConsumed) { // then it is the database's "could not serialize"
						require.ErrorIs(t, err, requeststate.ErrUnavailable)
						var pg *pgconn.PgError
						require.ErrorAs(t, err, &pg, "a loop that retries transactions must recognise it")
						require.Equal(t, "40001", pg.Code)
					}
					_ = ours.Rollback()
				default:
					require.NoError(t, err)
					require.NoError(t, ours.Commit())
				}
				require.ErrorIs(t, store.Consume(t.Context(), again(u)), requeststate.ErrConsumed)
			})
		}
	}
}

// Row 36: a flood of replays on a transaction that is under way blocks no connection.
func TestReplayFlood(t *testing.T) {
	store, db := newPostgres(t)
	u := fresh(t, store)
	tx, err := db.Begin()
	require.NoError(t, err)
	require.NoError(t, store.ConsumeTx(t.Context(), tx, u))
	stop := make(chan struct{})
	var flood sync.WaitGroup
	for range 30 {
		flood.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					assert.Error(t, store.Consume(context.Background(), again(u)))
				}
			}
		})
	}
	worst := time.Duration(0)
	for range 20 {
		start := time.Now()
		var one int
		require.NoError(t, db.QueryRow("SELECT 1").Scan(&one))
		worst = max(worst, time.Since(start))
	}
	close(stop)
	flood.Wait()
	require.NoError(t, tx.Rollback())
	t.Logf("36 30 replays at a time, pool of 10: an unrelated query waits %v at most", worst)
	assert.Less(t, worst, 500*time.Millisecond)
	require.NoError(t, store.Consume(t.Context(), u), "rolled back, so not spent")
}

// Row 37, which is documented and not mended: a savepoint from before ConsumeTx undoes the spending and keeps the rest.
func TestSavepointIsTheDocumentedResidue(t *testing.T) {
	store, db := newPostgres(t)
	u := fresh(t, store)
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("SAVEPOINT before")
	require.NoError(t, err)
	require.NoError(t, store.ConsumeTx(t.Context(), tx, u))
	_, err = tx.Exec("ROLLBACK TO SAVEPOINT before")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.NoError(t, store.Consume(t.Context(), again(u)))
}

// Row 38: the database commits, the reply is lost. The same attempt finds its own row, which is an error of its own in a
// transaction; in Consume, which has no effect beside it, it is the answer.
func TestCommitReplyLost(t *testing.T) {
	name := database(t)
	direct := newStore(t, openPostgres(t, shared.server, name), sqlreplay.Postgres)
	proxy := faults.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", shared.server.Port))
	lossy := openURL(t, "postgres://postgres@"+proxy.Addr+"/"+name+"?sslmode=disable")
	store, err := sqlreplay.New(t.Context(), lossy, sqlreplay.Postgres)
	require.NoError(t, err)
	u := fresh(t, store)
	tx, err := lossy.Begin()
	require.NoError(t, err)
	require.NoError(t, store.ConsumeTx(t.Context(), tx, u))
	proxy.Drop(1)
	require.Error(t, tx.Commit(), "the reply is lost")
	require.Eventually(t, func() bool { return errors.Is(direct.Consume(t.Context(), again(u)), requeststate.ErrConsumed) },
		10*time.Second, 10*time.Millisecond, "and yet it was committed")
	tx, err = lossy.Begin()
	require.NoError(t, err)
	err = store.ConsumeTx(t.Context(), tx, u)
	require.ErrorIs(t, err, sqlreplay.ErrCommitted)
	require.NotErrorIs(t, err, requeststate.ErrInvalid)
	require.NoError(t, tx.Rollback())

	for losses := 1; losses <= 3; losses++ {
		v := fresh(t, store)
		require.NoError(t, lossy.Ping())
		proxy.Drop(losses)
		require.NoError(t, store.Consume(t.Context(), v), "%d lost replies inside one call", losses)
		proxy.Pass()
	}
	v := fresh(t, store)
	proxy.Drop(1000)
	require.ErrorIs(t, store.Consume(t.Context(), v), requeststate.ErrUnavailable)
	proxy.Pass()
}

// Rows 22 and 23 for a database: nobody waits for a server that does not answer.
func TestDeadlines(t *testing.T) {
	name := database(t)
	newStore(t, openPostgres(t, shared.server, name), sqlreplay.Postgres)
	proxy := faults.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", shared.server.Port))
	store, err := sqlreplay.New(t.Context(), openURL(t, "postgres://postgres@"+proxy.Addr+"/"+name+"?sslmode=disable"), sqlreplay.Postgres)
	require.NoError(t, err)
	uses := unspent(t, store, 2)
	proxy.Hold()
	took := func(f func() error) time.Duration {
		start := time.Now()
		require.ErrorIs(t, f(), requeststate.ErrUnavailable)
		return time.Since(start)
	}
	deadline := took(func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return store.Consume(ctx, uses[0])
	})
	cancelled := took(func() error {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		return store.Consume(ctx, uses[1])
	})
	proxy.Pass()
	t.Logf("deadline 200 ms: %v; cancel at 100 ms: %v", deadline, cancelled)
	assert.Less(t, deadline, 350*time.Millisecond)
	assert.Less(t, cancelled, 250*time.Millisecond)
}

// Row 39: an asynchronous standby that lacks the writes is promoted; and then both sides accept writes.
func TestFailover(t *testing.T) {
	primary := newServer(t)
	link := faults.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", primary.Port))
	db := openPostgres(t, primary, "postgres")
	store, naive := newStore(t, db, sqlreplay.Postgres), toy{db}
	naive.spend(t, nil)
	_, port, _ := cutPort(link.Addr)
	standby, err := primary.Standby(svc.Dir(t), port)
	require.NoError(t, err)
	t.Cleanup(standby.Kill)
	dbB := openPostgres(t, standby, "postgres")
	waitStreaming(t, db)
	link.Freeze()
	ids := names(tokens)
	spent, held := spend(t, store, tokens), unspent(t, store, tokens)
	naive.spend(t, ids)
	require.NoError(t, standby.Promote())
	storeB, err := sqlreplay.New(t.Context(), dbB, sqlreplay.Postgres)
	require.NoError(t, err)
	report(t, "39 standby promoted, writes lost", present(storeB, spent), present(storeB, held), toy{dbB}.replay(ids), true)

	both, bothIDs := unspent(t, store, tokens), names(tokens)
	var twice, toyTwice tally
	for i, u := range both {
		if store.Consume(t.Context(), again(u)) == nil {
			twice.add(storeB.Consume(t.Context(), again(u)))
		}
		if naive.first(bothIDs[i]) {
			toyTwice.tried++
			if (toy{dbB}).first(bothIDs[i]) {
				toyTwice.accepted++
			}
		}
	}
	report(t, "39 split brain", twice, tally{}, toyTwice, true)
	spend(t, storeB, 1)
}

func cutPort(addr string) (host string, port int, err error) {
	_, err = fmt.Sscanf(addr, "127.0.0.1:%d", &port)
	return "127.0.0.1", port, err
}

func waitStreaming(t testing.TB, db *sql.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		return db.QueryRow("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn = pg_current_wal_lsn()").Scan(&n) == nil && n == 1
	}, 30*time.Second, 20*time.Millisecond)
}

// A crash and a restart of the same primary lose nothing and refuse nobody: row 4 for a database.
func TestCrash(t *testing.T) {
	server := newServer(t)
	db := openPostgres(t, server, "postgres")
	store := newStore(t, db, sqlreplay.Postgres)
	spent, held := spend(t, store, tokens), unspent(t, store, tokens)
	server.Kill()
	require.NoError(t, server.Restart())
	require.Eventually(t, func() bool { return db.Ping() == nil }, 20*time.Second, 20*time.Millisecond)
	honest := present(store, held)
	report(t, "crash of the primary", present(store, spent), honest, tally{}, false)
	assert.Equal(t, tokens, honest.accepted)
}

// Row 40: settings that lose commits are refused, at start and in a transaction; so are unlogged tables, and a standby.
func TestLossySettings(t *testing.T) {
	server := newServer(t, "synchronous_commit=off")
	db := openPostgres(t, server, "postgres")
	require.NoError(t, sqlreplay.Migrate(t.Context(), db, sqlreplay.Postgres))
	_, err := sqlreplay.New(t.Context(), db, sqlreplay.Postgres)
	require.ErrorContains(t, err, "synchronous_commit")

	store, db := newPostgres(t)
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("SET LOCAL synchronous_commit = off")
	require.NoError(t, err)
	require.ErrorIs(t, store.ConsumeTx(t.Context(), tx, fresh(t, store)), requeststate.ErrUnavailable)
	require.NoError(t, tx.Rollback())
	_, err = db.Exec("ALTER TABLE requeststate_spent SET UNLOGGED")
	require.NoError(t, err)
	_, err = sqlreplay.New(t.Context(), db, sqlreplay.Postgres)
	require.ErrorContains(t, err, "unlogged")
}

// Row 41: SQLite below FULL is refused, at start and, on a connection that was changed afterwards, in the statement.
func TestSQLiteSynchronous(t *testing.T) {
	for _, settings := range []string{"?_journal_mode=WAL&_synchronous=NORMAL", "?_journal_mode=WAL&_synchronous=OFF", "?_journal_mode=DELETE&_synchronous=FULL"} {
		path := t.TempDir() + "/spent.db"
		require.NoError(t, sqlreplay.Migrate(t.Context(), openSQLite(t, path, settings), sqlreplay.SQLite))
		_, err := sqlreplay.New(t.Context(), openSQLite(t, path, settings), sqlreplay.SQLite)
		require.ErrorContains(t, err, "power cut", settings)
	}
	store, db := newSQLite(t)
	db.SetMaxOpenConns(1)
	u := fresh(t, store)
	_, err := db.Exec("PRAGMA synchronous = OFF")
	require.NoError(t, err)
	require.ErrorIs(t, store.Consume(t.Context(), u), requeststate.ErrUnavailable)
}

// Row 42: sixteen connections that write at once.
func TestSQLiteBusy(t *testing.T) {
	store, db := newSQLite(t, sqlreplay.WithTimeout(30*time.Second))
	db.SetMaxOpenConns(16)
	var mu sync.Mutex
	var c tally
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				err := store.Consume(context.Background(), fresh(t, store))
				mu.Lock()
				c.add(err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("42 16 writers, 320 fresh ids: accepted %d, undecided %d", c.accepted, c.undecided)
	assert.Equal(t, 320, c.accepted)
}

// SQLite keeps what was spent across a restart; an old file that is put back needs Reset.
func TestSQLiteRestart(t *testing.T) {
	path := t.TempDir() + "/spent.db"
	db := openSQLite(t, path, sqliteSettings)
	store := newStore(t, db, sqlreplay.SQLite)
	spent, held := spend(t, store, 20), unspent(t, store, 20)
	require.NoError(t, db.Close())
	store = newStore(t, openSQLite(t, path, sqliteSettings), sqlreplay.SQLite)
	honest := present(store, held)
	report(t, "SQLite, restart", present(store, spent), honest, tally{}, false)
	assert.Equal(t, 20, honest.accepted)
	require.NoError(t, store.Reset(t.Context()))
	assert.Equal(t, 20, present(store, spent).stale)
}

// The statement for those who use pgx as it is.
func TestStatementWithPgx(t *testing.T) {
	store, _ := newPostgres(t)
	conn, err := pgx.Connect(t.Context(), pgserver.URL(shared.server.Port, fmt.Sprintf("test_%d", shared.databases.Load())))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	u := fresh(t, store)
	consume := func(u requeststate.Use) error {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		query, args := store.Statement(u)
		var code int
		err = tx.QueryRow(t.Context(), query, args...).Scan(&code)
		require.NoError(t, tx.Commit(t.Context()))
		return sqlreplay.Verdict(code, err)
	}
	require.NoError(t, consume(u))
	require.ErrorIs(t, consume(u), sqlreplay.ErrCommitted)
	require.ErrorIs(t, consume(again(u)), requeststate.ErrConsumed)
	require.ErrorIs(t, store.Consume(t.Context(), again(u)), requeststate.ErrConsumed)
}

// Ten thousand calls, with lost replies and cuts for Postgres, are linearizable.
func TestLinearizable(t *testing.T) {
	background := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), 5*time.Second)
	}
	t.Run("Postgres", func(t *testing.T) {
		name := database(t)
		newStore(t, openPostgres(t, shared.server, name), sqlreplay.Postgres)
		proxy := faults.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", shared.server.Port))
		store, err := sqlreplay.New(t.Context(), openURL(t, "postgres://postgres@"+proxy.Addr+"/"+name+"?sslmode=disable"), sqlreplay.Postgres)
		require.NoError(t, err)
		r := linear.NewRecorder(store)
		linear.Load([]*linear.Recorder{r}, 12_000, 8, background, linear.Fault{Every: 150, Do: func(i int) {
			if i%2 == 0 {
				proxy.Drop(3)
			} else {
				proxy.Cut()
			}
		}})
		require.GreaterOrEqual(t, r.Len(), 10_000)
		assert.True(t, r.Linearizable(t))
	})
	t.Run("SQLite", func(t *testing.T) {
		store, _ := newSQLite(t)
		r := linear.NewRecorder(store)
		linear.Load([]*linear.Recorder{r}, 10_000, 4, background)
		require.GreaterOrEqual(t, r.Len(), 10_000)
		assert.True(t, r.Linearizable(t))
	})
}
