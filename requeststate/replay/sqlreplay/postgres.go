package sqlreplay

import (
	"strconv"
	"strings"
)

// The history row starts without an epoch, so that the first call of Epoch draws one. The horizon is a sequence because a
// sequence is read and written outside of transactions: every statement sees it as it is now, whatever snapshot its
// transaction has.
var postgresSchema = []string{
	`CREATE TABLE IF NOT EXISTS requeststate_spent (
	id bytea PRIMARY KEY,
	attempt bytea NOT NULL,
	expires bigint NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS requeststate_spent_expires ON requeststate_spent (expires)`,
	`CREATE TABLE IF NOT EXISTS requeststate_history (
	one integer PRIMARY KEY CHECK (one = 1),
	epoch text COLLATE "C" NOT NULL,
	identity text COLLATE "C" NOT NULL
)`,
	`INSERT INTO requeststate_history (one, epoch, identity) VALUES (1, '', '') ON CONFLICT (one) DO NOTHING`,
	`CREATE SEQUENCE IF NOT EXISTS requeststate_horizon MINVALUE 0 START 0`,
}

// postgresIdentity changes when the database's history does. The system identifier tells clusters apart, the timeline
// (the first eight digits of a WAL file's name) rises with each promotion and point-in-time recovery and not with crash
// recovery, and the file of the table changes with TRUNCATE and with a restored dump. pg_relation_filenode reads the
// catalogue as it is now, not as an old snapshot has it. On a standby pg_current_wal_lsn is an error, as it should be.
const postgresIdentity = `((SELECT system_identifier FROM pg_control_system())::text || '/' ||
	left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' || pg_relation_filenode('requeststate_spent')::text)`

// postgresSpend answers with one code. The lock makes rivals for one id answer at once: without it, ON CONFLICT waits, and
// holds its connection, until the transaction that inserted the id ends. It is held until the transaction ends, so who
// gets it afterwards meets the committed row.
//
// The horizon is compared before the insert, so that nobody fills the table with old ids, and again after it: a sweep
// raises the horizon before it deletes, so an insert that succeeded because a sweep had just deleted the id sees a
// horizon above it. The comparison in RETURNING uses the inserted row, so it cannot be evaluated earlier.
//
// A row that was committed after the statement's snapshot makes the insert do nothing and is not visible to the last
// SELECT: that is codeUnseen, to be asked again. Under REPEATABLE READ the insert fails with 40001 instead.
const postgresSpend = `WITH gate AS MATERIALIZED (
	SELECT pg_try_advisory_xact_lock($5::bigint) AS free, {durable} AS durable,
		EXISTS (SELECT FROM requeststate_history WHERE epoch = $4::text AND identity = {identity}) AS known
), ours AS (
	INSERT INTO requeststate_spent AS s (id, attempt, expires)
	SELECT $1::bytea, $2::bytea, $3::bigint FROM gate WHERE free AND durable AND known
		AND EXISTS (SELECT FROM requeststate_horizon WHERE last_value < $3::bigint)
	ON CONFLICT (id) DO NOTHING
	RETURNING EXISTS (SELECT FROM requeststate_horizon WHERE last_value < s.expires) AS kept
)
SELECT CASE WHEN NOT durable THEN {lossy} WHEN NOT known THEN {stale} WHEN NOT free THEN {busy}
	ELSE COALESCE(
		(SELECT CASE WHEN kept THEN {spent} ELSE {stale} END FROM ours),
		(SELECT CASE WHEN attempt = $2::bytea THEN {own} ELSE {consumed} END FROM requeststate_spent WHERE id = $1::bytea),
		(SELECT CASE WHEN last_value < $3::bigint THEN {unseen} ELSE {stale} END FROM requeststate_horizon)) END
FROM gate`

// postgresCheck finds what New refuses. to_regclass, and not a regclass constant, because the tables may be missing.
const postgresCheck = `SELECT CASE
	WHEN pg_is_in_recovery() THEN 'this is a standby: connect to the primary'
	WHEN (SELECT count(*) FROM pg_class WHERE oid IN (to_regclass('requeststate_spent'),
		to_regclass('requeststate_history'), to_regclass('requeststate_horizon'))) < 3
		THEN 'its tables are missing in ' || current_setting('search_path') || ': run Migrate or Schema'
	WHEN (SELECT count(*) FROM pg_class WHERE relkind = 'r' AND (relpersistence = 'p' OR {loss})
		AND oid IN (to_regclass('requeststate_spent'), to_regclass('requeststate_history'))) < 2
		OR (SELECT count(*) FROM pg_class WHERE relkind = 'S' AND (relpersistence = 'p' OR {loss})
		AND oid = to_regclass('requeststate_horizon')) < 1
		THEN 'its tables are unlogged, temporary, partitioned or foreign: a crash may empty them'
	WHEN (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('requeststate_spent') AND attnotnull AND (
		attname = 'id' AND atttypid = 'bytea'::regtype OR attname = 'attempt' AND atttypid = 'bytea'::regtype OR
		attname = 'expires' AND atttypid = 'bigint'::regtype)) < 3
		THEN 'requeststate_spent has other columns than Schema says'
	WHEN NOT {durable} THEN 'synchronous_commit is off: a crash forgets what was spent'
	WHEN NOT ({loss} OR current_setting('fsync') = 'on') THEN 'fsync is off: a power cut forgets what was spent'
	ELSE '' END`

// The sweeps of several processes must not lower the horizon again, hence the lock, and the comparison after it. The
// horizon moves to an expiry that is in the table, not to the clock's time less a margin: a clock that is a day ahead for a
// moment must not refuse a day's tokens.
const postgresRaise = `WITH lock AS MATERIALIZED (SELECT pg_try_advisory_xact_lock({sweep}) AS free)
SELECT setval('requeststate_horizon', oldest.until) FROM lock, LATERAL (
	SELECT max(expires) AS until FROM (SELECT expires FROM requeststate_spent
		WHERE lock.free AND expires <= $1::bigint ORDER BY expires LIMIT 10000) AS batch) AS oldest
WHERE EXISTS (SELECT FROM requeststate_horizon WHERE last_value < oldest.until)`

func postgres(allowLoss bool) statements {
	durable := `(current_setting('synchronous_commit') <> 'off')`
	if allowLoss {
		durable = `true`
	}
	fill := filler("{durable}", durable, "{loss}", strconv.FormatBool(allowLoss), "{identity}", postgresIdentity,
		"{sweep}", strconv.FormatInt(lockKey("sweep"), 10))
	return statements{
		schema: postgresSchema,
		check:  fill(postgresCheck),
		spend:  fill(postgresSpend),
		epoch:  fill(`SELECT epoch FROM requeststate_history WHERE identity = {identity}`),
		rotate: fill(`UPDATE requeststate_history SET epoch = $1, identity = {identity} WHERE identity <> {identity}`),
		reset:  fill(`UPDATE requeststate_history SET epoch = $1, identity = {identity}`),
		now:    `SELECT floor(extract(epoch FROM clock_timestamp()))::bigint`,
		raise:  fill(postgresRaise),
		forget: `DELETE FROM requeststate_spent WHERE expires <= (SELECT last_value FROM requeststate_horizon)`,
	}
}

// filler returns a function that puts the codes and the given pairs into a statement.
func filler(pairs ...string) func(string) string {
	for name, c := range map[string]code{"{spent}": codeSpent, "{consumed}": codeConsumed, "{own}": codeOwn,
		"{stale}": codeStale, "{busy}": codeBusy, "{unseen}": codeUnseen, "{lossy}": codeLossy} {
		pairs = append(pairs, name, strconv.Itoa(int(c)))
	}
	return strings.NewReplacer(pairs...).Replace
}
