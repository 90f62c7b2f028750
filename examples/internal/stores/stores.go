// Package stores opens the replay store that a flag names.
package stores

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

// Kinds are the stores that Open knows, and what it takes for an address if it gets none.
const Kinds = "memory, sqlite (a file; spent.db), redis (host:port; 127.0.0.1:6379), postgres (a URL; the environment's)"

// Open opens the store of one kind, and returns what closes it.
func Open(ctx context.Context, kind, at string) (store requeststate.ReplayStore, closeStore func() error, err error) {
	switch kind {
	case "memory": // for one process: replicas need a store that they share
		store, err = replay.NewMemory()
		return store, func() error { return nil }, err
	case "sqlite": // survives a restart; the parameters are those of sqlreplay's documentation
		return openSQL(ctx, sqlreplay.SQLite, "sqlite",
			"file:"+cmp.Or(at, "spent.db")+"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	case "postgres":
		return openSQL(ctx, sqlreplay.Postgres, "pgx", at)
	case "redis":
		client := redis.NewClient(&redis.Options{Addr: cmp.Or(at, "127.0.0.1:6379")})
		store, err := redisreplay.New(ctx, client)
		if err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
		return store, client.Close, nil
	}
	return nil, nil, fmt.Errorf("no store %q; there are: %s", kind, Kinds)
}

func openSQL(ctx context.Context, d sqlreplay.Dialect, driver, name string) (requeststate.ReplayStore, func() error, error) {
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, nil, err
	}
	err = sqlreplay.Migrate(ctx, db, d)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	store, err := sqlreplay.New(ctx, db, d)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, db.Close, nil
}
