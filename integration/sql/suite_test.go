//go:build unix

package sql_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

// A maker opens a store on a new, empty database.
type maker func(t testing.TB, opts ...sqlreplay.Option) (*sqlreplay.Store, *sql.DB)

// stores are the stores that every store's tests run on.
var stores = []struct {
	dialect sqlreplay.Dialect
	open    maker
}{
	{sqlreplay.SQLite, newSQLite},
	{sqlreplay.Postgres, newPostgres},
}

func TestSuite(t *testing.T) {
	for _, s := range stores {
		t.Run(s.dialect.String(), func(t *testing.T) {
			dbs := map[requeststate.ReplayStore]*sql.DB{}
			open := func(t *testing.T, opts ...sqlreplay.Option) requeststate.ReplayStore {
				store, db := s.open(t, opts...)
				dbs[store] = db
				return store
			}
			replaytest.Run(t,
				func(t *testing.T) requeststate.ReplayStore { return open(t) },
				replaytest.WithClock(func(t *testing.T, now func() time.Time) requeststate.ReplayStore {
					return open(t, sqlreplay.WithClock(now))
				}),
				replaytest.WithPeer(func(t *testing.T, store requeststate.ReplayStore) requeststate.ReplayStore {
					peer, err := sqlreplay.New(t.Context(), dbs[store], s.dialect)
					require.NoError(t, err)
					return peer
				}),
				replaytest.WithTrials(20),
			)
		})
	}
}
