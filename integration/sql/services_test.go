//go:build unix

package sql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

// needs skips the test if err says that a program is missing, unless REQUIRE_SERVICES=1, and fails it for another error.
func needs(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, pgserver.ErrMissing) && os.Getenv("REQUIRE_SERVICES") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// shared is the server of the tests that leave it as it is.
var shared = struct {
	sync.Once
	server    *pgserver.Server
	err       error
	dir       string
	databases atomic.Int32
}{}

func TestMain(m *testing.M) {
	if url := os.Getenv("SQLREPLAY_CHILD"); url != "" {
		victim(url)
	}
	status := m.Run()
	if shared.server != nil {
		shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(status)
}

// database makes a new database on the shared server and returns its name.
func database(t testing.TB) string {
	t.Helper()
	shared.Do(func() {
		if shared.dir, shared.err = svc.NewDir(); shared.err == nil {
			shared.server, shared.err = pgserver.New(shared.dir)
		}
	})
	needs(t, shared.err)
	name := fmt.Sprintf("test_%d", shared.databases.Add(1))
	admin := openPostgres(t, shared.server, "postgres")
	_, err := admin.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	return name
}

// newServer starts a server of the test's own.
func newServer(t testing.TB, settings ...string) *pgserver.Server {
	t.Helper()
	s, err := pgserver.New(svc.Dir(t), settings...)
	if s != nil {
		t.Cleanup(s.Kill)
	}
	needs(t, err)
	return s
}

func openPostgres(t testing.TB, s *pgserver.Server, name string) *sql.DB {
	t.Helper()
	return openURL(t, s.URL(name))
}

func openURL(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(10)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// newPostgres opens a store in a new database of the shared server.
func newPostgres(t testing.TB, opts ...sqlreplay.Option) (*sqlreplay.Store, *sql.DB) {
	t.Helper()
	name := database(t)
	db := openPostgres(t, shared.server, name)
	return newStore(t, db, sqlreplay.Postgres, opts...), db
}
