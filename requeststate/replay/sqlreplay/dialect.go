package sqlreplay

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// A Dialect is the kind of database.
type Dialect int

// The databases that the store works on.
const (
	// Postgres is PostgreSQL 12 or later.
	Postgres Dialect = iota + 1
	// SQLite is SQLite 3.37 or later, in a file on a local disk.
	SQLite
)

// String is the database's name.
func (d Dialect) String() string {
	switch d {
	case Postgres:
		return "Postgres"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

// statements is the SQL of one dialect. Parameters are, in order: id, attempt, expiry in Unix seconds, epoch, lock key.
type statements struct {
	schema  []string
	check   string // one text: what is wrong, or nothing
	spend   string // Postgres: one row, a code; SQLite: an insert, of one row if it spent
	explain string // SQLite: one row, the code of an insert that did not spend; Postgres: empty
	epoch   string // one row, unless the row in the database is of another history
	rotate  string // gives the history a new epoch ($1), if the row is of another one
	reset   string // gives it a new epoch ($1) anyway
	now     string // the database's clock in Unix seconds
	raise   string // moves the horizon over the oldest ids that expired by $1; one row affected if there are any
	forget  string // deletes what is below the horizon
}

// statements returns the SQL of d, with the part that asks whether a commit survives a crash unless loss is allowed.
func (d Dialect) statements(allowLoss bool) (statements, error) {
	switch d {
	case Postgres:
		return postgres(allowLoss), nil
	case SQLite:
		return sqlite(allowLoss), nil
	}
	return statements{}, fmt.Errorf("sqlreplay: unknown dialect %v", d)
}

// Schema returns the SQL that makes the tables, for a migration tool. It may run again. For an unknown dialect it is empty.
func Schema(d Dialect) string {
	st, err := d.statements(false)
	if err != nil {
		return ""
	}
	return strings.Join(st.schema, ";\n\n") + ";\n"
}

// Migrate makes the tables unless they are there. Several processes may do so at once. It needs the right to create tables,
// also if they exist; a program that must not have it leaves this to a migration with [Schema].
func Migrate(ctx context.Context, db *sql.DB, d Dialect) error {
	st, err := d.statements(false)
	if err != nil {
		return err
	}
	if err := migrate(ctx, db, d, st.schema); err != nil {
		return fmt.Errorf("sqlreplay: migrate: %w", err)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB, d Dialect, schema []string) error {
	if d == SQLite {
		// One by one: a deferred transaction that reads the schema first cannot wait for another writer.
		return execAll(ctx, db, schema)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	// CREATE TABLE IF NOT EXISTS of two processes at once fails in one of them.
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lockKey("migrate")); err != nil {
		return err
	}
	if err := execAll(ctx, tx, schema); err != nil {
		return err
	}
	return tx.Commit()
}

func execAll(ctx context.Context, q querier, schema []string) error {
	for _, text := range schema {
		if _, err := q.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
