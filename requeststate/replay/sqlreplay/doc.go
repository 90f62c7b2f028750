// Package sqlreplay is the replay store in a database: PostgreSQL 12 or later, or SQLite 3.37 or later in a file. It uses
// database/sql only; the driver is the caller's.
//
//	db, err := sql.Open("pgx", url)
//	err = sqlreplay.Migrate(ctx, db, sqlreplay.Postgres) // or run sqlreplay.Schema in a migration of your own
//	store, err := sqlreplay.New(ctx, db, sqlreplay.Postgres)
//
// SQLite keeps single use across a restart of one machine, with nothing to run beside the program. This line opens it (the
// parameters are those of modernc.org/sqlite and of mattn/go-sqlite3 alike, with sqlite3 for the driver's name there):
//
//	db, err := sql.Open("sqlite", "file:spent.db?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
//
// # Single use and effect in one transaction
//
// [Store.ConsumeTx] spends inside the caller's transaction: if it commits, the effect has happened and the token is spent; if
// it does not, neither. It is called through Opened.RedeemWith:
//
//	err = opened.RedeemWith(ctx, func(ctx context.Context, use requeststate.Use) error {
//		tx, err := db.BeginTx(ctx, nil)
//		if err != nil {
//			return err
//		}
//		defer tx.Rollback()
//		if err := store.ConsumeTx(ctx, tx, use); err != nil {
//			return err
//		}
//		if _, err := tx.ExecContext(ctx, "UPDATE cards SET balance = 0 WHERE id = $1", card); err != nil {
//			return err
//		}
//		return tx.Commit()
//	})
//
// # How it decides
//
// A row per spent id, with a unique key, and one row that names the history: a random epoch beside the identity of the
// database that it was drawn for. For Postgres that is the system identifier, the WAL timeline and the table's file; so
// after a promotion of a standby, a point-in-time recovery, a restore of a dump, or TRUNCATE, tokens of the time before are
// refused as stale, on every side of a split brain, and [Store.Epoch] draws a new epoch. Rows are forgotten by [Store.Sweep]
// alone, behind a horizon that the database keeps.
//
// # What it cannot see
//
//   - ROLLBACK TO SAVEPOINT to a savepoint before ConsumeTx undoes the spending and keeps what the transaction did outside of
//     it. Call ConsumeTx at the top level of a transaction, before any savepoint, and the effect after it.
//   - SET LOCAL synchronous_commit = off after ConsumeTx.
//   - A snapshot of the whole machine or of the disk that is restored, a copy of an old SQLite file put back, and rows deleted
//     by hand: what was spent since may be spent again until it expires. Call [Store.Reset] after any of them, before
//     requests are served.
//   - Databases other than the writer: a pool whose connections go to a standby gets errors, never verdicts.
//   - A SQLite file on a network file system, whose locks or syncs may not hold, and, on macOS, a disk that does not obey
//     plain fsync (PRAGMA fullfsync=1).
package sqlreplay
