package sql_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

// sqliteSettings are the parameters of the line that sqlreplay's documentation gives.
const sqliteSettings = "?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate"

func openSQLite(t testing.TB, path, settings string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+settings)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// newSQLite opens a store in a new file.
func newSQLite(t testing.TB, opts ...sqlreplay.Option) (*sqlreplay.Store, *sql.DB) {
	t.Helper()
	db := openSQLite(t, filepath.Join(t.TempDir(), "spent.db"), sqliteSettings)
	return newStore(t, db, sqlreplay.SQLite, opts...), db
}

// newStore makes the tables and opens the store.
func newStore(t testing.TB, db *sql.DB, d sqlreplay.Dialect, opts ...sqlreplay.Option) *sqlreplay.Store {
	t.Helper()
	require.NoError(t, sqlreplay.Migrate(t.Context(), db, d))
	store, err := sqlreplay.New(t.Context(), db, d, opts...)
	require.NoError(t, err)
	return store
}

func TestSQLitePassesTheSuite(t *testing.T) {
	dbs := map[requeststate.ReplayStore]*sql.DB{}
	open := func(t *testing.T, opts ...sqlreplay.Option) requeststate.ReplayStore {
		store, db := newSQLite(t, opts...)
		dbs[store] = db
		return store
	}
	replaytest.Run(t,
		func(t *testing.T) requeststate.ReplayStore { return open(t) },
		replaytest.WithClock(func(t *testing.T, now func() time.Time) requeststate.ReplayStore {
			return open(t, sqlreplay.WithClock(now))
		}),
		replaytest.WithPeer(func(t *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore {
			peer, err := sqlreplay.New(t.Context(), dbs[s], sqlreplay.SQLite)
			require.NoError(t, err)
			return peer
		}),
		replaytest.WithTrials(50),
	)
}
