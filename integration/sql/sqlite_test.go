//go:build unix

package sql_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
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
	db := openSQLite(t, filepath.Join(svc.Dir(t), "spent.db"), sqliteSettings)
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
