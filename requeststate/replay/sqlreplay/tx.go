package sqlreplay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A querier is a *sql.DB or a *sql.Tx.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ConsumeTx spends use.ID in the caller's transaction, so that the spending and whatever else the transaction does happen
// together or not at all. Only after the commit has succeeded is anything decided. It returns
//
//   - nil: spent, if the transaction commits;
//   - [requeststate.ErrConsumed] and [requeststate.ErrStale] as Consume does;
//   - [ErrCommitted]: this attempt has spent it before; do not run the effect;
//   - an [requeststate.ErrUnavailable] that unwraps to the driver's error, so that a loop which retries transactions
//     recognises its serialization failures (SQLSTATE 40001, 40P01, 55P03; SQLITE_BUSY), or to [ErrBusy].
//
// After any error roll back. The same use may be tried again in a new transaction of the same call of RedeemWith.
//
// It never waits for another transaction on Postgres, at any isolation level. On SQLite a transaction waits for the one
// writer, for as long as busy_timeout says; begin it with BEGIN IMMEDIATE (_txlock=immediate), or let ConsumeTx be its first
// statement, because one that has read before cannot wait. Call it outside of savepoints.
//
// It runs in the caller's goroutine and returns when the driver does.
func (s *Store) ConsumeTx(ctx context.Context, tx *sql.Tx, use requeststate.Use) error {
	if err := complete(use); err != nil {
		return err
	}
	c, err := s.spend(ctx, tx, use)
	if err == nil && c == codeUnseen {
		c, err = s.spend(ctx, tx, use) // with a new snapshot, which has the row
	}
	return Verdict(int(c), err)
}

// Statement is what ConsumeTx sends to Postgres, for those who use another library than database/sql. The one row that it
// returns has one integer, for [Verdict]. With pgx:
//
//	query, args := store.Statement(use)
//	var code int
//	err := tx.QueryRow(ctx, query, args...).Scan(&code)
//	err = sqlreplay.Verdict(code, err)
//
// For SQLite, where one statement does not suffice, query is empty.
func (s *Store) Statement(use requeststate.Use) (query string, args []any) {
	if s.dialect != Postgres {
		return "", nil
	}
	return s.sql.spend, append(arguments(use), lockKey("id "+use.ID))
}

// Verdict translates the answer to [Store.Statement], the integer and the error of the query, to what ConsumeTx returns.
// An unknown integer is an error.
func Verdict(answer int, err error) error {
	if err != nil {
		return requeststate.Unavailable(err)
	}
	switch code(answer) {
	case codeSpent:
		return nil
	case codeConsumed:
		return requeststate.ErrConsumed
	case codeOwn:
		return ErrCommitted
	case codeStale:
		return requeststate.ErrStale
	case codeBusy, codeUnseen:
		return requeststate.Unavailable(ErrBusy)
	case codeLossy:
		return requeststate.Unavailable(errLossy)
	}
	return requeststate.Unavailable(fmt.Errorf("sqlreplay: the statement answered %d", answer))
}

// spend runs the statements of a use once.
func (s *Store) spend(ctx context.Context, q querier, use requeststate.Use) (c code, err error) {
	if query, args := s.Statement(use); query != "" {
		err = q.QueryRowContext(ctx, query, args...).Scan(&c)
		return c, err
	}
	res, err := q.ExecContext(ctx, s.sql.spend, arguments(use)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil || n == 1 {
		return codeSpent, err
	}
	// Outside of a transaction the row may change between; whatever is there now, this statement did not spend.
	err = q.QueryRowContext(ctx, s.sql.explain, arguments(use)...).Scan(&c)
	return c, err
}

// arguments are the parameters that all statements of a use share. Ids and attempts are bytes: text has collations.
func arguments(use requeststate.Use) []any {
	expires := use.ExpiresAt.Unix()
	if use.ExpiresAt.Nanosecond() > 0 {
		expires++ // never earlier than it says
	}
	return []any{[]byte(use.ID), []byte(use.Attempt), expires, use.Epoch}
}

// complete refuses a use that lacks a part: two without an attempt would take each other for the same one.
func complete(use requeststate.Use) error {
	if use.ID == "" || use.Epoch == "" || use.Attempt == "" || use.ExpiresAt.IsZero() {
		return errors.New("sqlreplay: a use needs an id, an epoch, an attempt and an expiry")
	}
	return nil
}
