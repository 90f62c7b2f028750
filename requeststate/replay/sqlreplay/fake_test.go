package sqlreplay

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
)

// fake is a driver that answers as a function says. It may ignore its context, as bad drivers do.
type fake func(ctx context.Context, query string, args []driver.NamedValue) (rows []any, affected int64, err error)

func (f fake) open(t testing.TB) *sql.DB {
	db := sql.OpenDB(connector{f})
	t.Cleanup(func() { _ = db.Close() })
	return db
}

type connector struct{ fake }

func (c connector) Connect(context.Context) (driver.Conn, error) { return conn(c), nil }
func (c connector) Driver() driver.Driver                        { return nil }

type conn struct{ fake }

func (conn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return tx{}, nil }

type tx struct{}

func (tx) Commit() error   { return nil }
func (tx) Rollback() error { return nil }

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	values, _, err := c.fake(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &rows{values}, nil
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	_, n, err := c.fake(ctx, query, args)
	return driver.RowsAffected(n), err
}

// rows has one column, and a row for each value.
type rows struct{ values []any }

func (*rows) Columns() []string { return []string{"answer"} }
func (*rows) Close() error      { return nil }
func (r *rows) Next(to []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	to[0], r.values = r.values[0], r.values[1:]
	return nil
}

// healthy answers New's questions, and a spend as next says.
func healthy(next func(ctx context.Context) (code, error)) fake {
	return func(ctx context.Context, query string, _ []driver.NamedValue) ([]any, int64, error) {
		switch {
		case strings.HasPrefix(query, "WITH gate"):
			c, err := next(ctx)
			return []any{int64(c)}, 0, err
		case strings.HasPrefix(query, "SELECT epoch"):
			return []any{"epoch"}, 0, nil
		}
		return []any{""}, 0, nil // the check: nothing is wrong
	}
}
