package sqlreplay

// STRICT and WITHOUT ROWID: ids are compared as bytes, and NULL is no key. The history row starts without an epoch, so that
// the first call of Epoch draws one.
var sqliteSchema = []string{
	`CREATE TABLE IF NOT EXISTS requeststate_spent (
	id BLOB NOT NULL PRIMARY KEY,
	attempt BLOB NOT NULL,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID`,
	`CREATE INDEX IF NOT EXISTS requeststate_spent_expires ON requeststate_spent (expires)`,
	`CREATE TABLE IF NOT EXISTS requeststate_history (
	one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	epoch TEXT NOT NULL,
	identity TEXT NOT NULL,
	horizon INTEGER NOT NULL
) STRICT`,
	`INSERT INTO requeststate_history (one, epoch, identity, horizon) VALUES (1, '', '', 0) ON CONFLICT (one) DO NOTHING`,
}

// sqliteDurable asks the connection that runs the statement: the settings are each connection's own. FULL (2) syncs each
// commit in WAL mode. With a rollback journal a commit is the end of the journal, and only EXTRA (3) syncs the directory
// it is deleted from: a power cut could bring the journal back, and with it the state before.
const sqliteDurable = `(SELECT CASE WHEN journal_mode = 'wal' THEN synchronous >= 2
	WHEN journal_mode IN ('delete', 'truncate', 'persist') THEN synchronous >= 3 ELSE 0 END
	FROM pragma_journal_mode, pragma_synchronous)`

// sqliteSpend is one statement under the database's only write lock, which it takes before it reads: whatever it compares
// is as it will commit. The conflict target is named: without it a NULL would be ignored in silence.
const sqliteSpend = `INSERT INTO requeststate_spent (id, attempt, expires)
SELECT ?1, ?2, ?3 FROM requeststate_history
WHERE epoch = ?4 AND identity = 'sqlite' AND horizon < ?3 AND {durable}
ON CONFLICT (id) DO NOTHING`

const sqliteExplain = `SELECT CASE WHEN NOT {durable} THEN {lossy}
	WHEN NOT (epoch = ?4 AND identity = 'sqlite') THEN {stale}
	ELSE COALESCE(
		(SELECT CASE WHEN attempt = ?2 THEN {own} ELSE {consumed} END FROM requeststate_spent WHERE id = ?1),
		CASE WHEN horizon < ?3 THEN {unseen} ELSE {stale} END) END
FROM requeststate_history`

const sqliteCheck = `SELECT CASE
	WHEN (SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name IN ('requeststate_spent',
		'requeststate_history')) < 2 THEN 'its tables are missing: run Migrate or Schema'
	WHEN (SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name = 'requeststate_spent' AND type = 'table'
		AND wr AND strict) < 1
		OR (SELECT count(*) FROM pragma_table_info('requeststate_spent') WHERE "notnull" AND (
		name = 'id' AND type = 'BLOB' AND pk = 1 OR name = 'attempt' AND type = 'BLOB' OR
		name = 'expires' AND type = 'INTEGER')) < 3
		THEN 'requeststate_spent is another table than Schema says'
	WHEN NOT {durable} THEN 'a power cut may forget what was spent: want journal_mode WAL with synchronous FULL, or a ' ||
		'rollback journal with EXTRA, in every connection, and not ' || (SELECT journal_mode FROM pragma_journal_mode) ||
		' with ' || (SELECT synchronous FROM pragma_synchronous)
	ELSE '' END`

const sqliteOldest = `(SELECT max(expires) FROM (
	SELECT expires FROM requeststate_spent WHERE expires <= ?1 ORDER BY expires LIMIT 1000))`

func sqlite(allowLoss bool) statements {
	durable := sqliteDurable
	if allowLoss {
		durable = `1`
	}
	fill := filler("{durable}", durable, "{oldest}", sqliteOldest)
	return statements{
		schema:  sqliteSchema,
		check:   fill(sqliteCheck),
		spend:   fill(sqliteSpend),
		explain: fill(sqliteExplain),
		epoch:   `SELECT epoch FROM requeststate_history WHERE identity = 'sqlite'`,
		rotate:  `UPDATE requeststate_history SET epoch = ?1, identity = 'sqlite' WHERE identity <> 'sqlite'`,
		reset:   `UPDATE requeststate_history SET epoch = ?1, identity = 'sqlite'`,
		now:     `SELECT CAST(strftime('%s', 'now') AS INTEGER)`,
		raise:   fill(`UPDATE requeststate_history SET horizon = {oldest} WHERE horizon < {oldest}`),
		forget:  `DELETE FROM requeststate_spent WHERE expires <= (SELECT horizon FROM requeststate_history)`,
	}
}
