//go:build unix

// Package figures measures the replay stores in one run:
//
//	go test ./integration/figures -v -figures
//
// Client and servers share the machine, so the figures are low; the ratios between stores are what they are for.
package figures

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

var long = flag.Bool("figures", false, "measure for three seconds a row, not for a moment")

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// measure spends fresh ids for a while and prints a row.
func measure(t *testing.T, name string, s requeststate.ReplayStore, callers int) (spent int) {
	length := 100 * time.Millisecond
	if *long {
		length = 3 * time.Second
	}
	var mu sync.Mutex
	var took []time.Duration
	refused := 0
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	start := time.Now()
	for range callers {
		wg.Go(func() {
			var mine []time.Duration
			no := 0
			epoch, err := s.Epoch(context.Background()) // a seal's cost, not a redemption's
			for time.Now().Before(end) {
				u := requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: time.Now().Truncate(time.Second).Add(5 * time.Minute)}
				begin := time.Now()
				if err != nil || s.Consume(context.Background(), u) != nil {
					no++
					continue
				}
				mine = append(mine, time.Since(begin))
			}
			mu.Lock()
			defer mu.Unlock()
			took, refused = append(took, mine...), refused+no
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	require.NotEmpty(t, took)
	slices.Sort(took)
	t.Logf("%-28s %3d callers %9.0f/s   p50 %8v   p99 %8v   refused %d", name, callers, float64(len(took))/elapsed.Seconds(),
		took[len(took)/2].Round(time.Microsecond), took[len(took)*99/100].Round(time.Microsecond), refused)
	return len(took)
}

var callers = []int{1, 16, 64}

func TestMemory(t *testing.T) {
	s, err := replay.NewMemory(replay.WithCapacity(1 << 24))
	require.NoError(t, err)
	for _, n := range callers {
		measure(t, "memory", s, n)
	}
}

func TestRedis(t *testing.T) {
	server := svc.StartRedis(t)
	client := server.Client()
	s, err := redisreplay.New(t.Context(), client, redisreplay.WithTimeout(5*time.Second))
	require.NoError(t, err)
	before := field(t, client, "memory", "used_memory:")
	total := 0
	for _, n := range callers {
		total += measure(t, "redis", s, n)
	}
	calls := field(t, client, "commandstats", "cmdstat_evalsha:calls=")
	micros := value(t, client, "commandstats", "cmdstat_evalsha:", "usec=")
	require.NoError(t, client.Close()) // connections have buffers
	client = server.Client()
	bytes := float64(field(t, client, "memory", "used_memory:")-before) / float64(total)
	t.Logf("redis: %.1f server µs a call, %.0f bytes a live id (%d ids)", float64(micros)/float64(calls), bytes, total)
}

// field is the number behind prefix in a section of INFO.
func field(t *testing.T, c *redis.Client, section, prefix string) int64 {
	return value(t, c, section, prefix, "")
}

func value(t *testing.T, c *redis.Client, section, prefix, key string) int64 {
	t.Helper()
	info, err := c.Info(t.Context(), section).Result()
	require.NoError(t, err)
	_, rest, ok := strings.Cut(info, prefix)
	require.True(t, ok, prefix)
	if key != "" {
		_, rest, ok = strings.Cut(rest, key)
		require.True(t, ok, key)
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(rest[:end], 10, 64)
	require.NoError(t, err)
	return n
}

func TestPostgres(t *testing.T) {
	dir, err := os.MkdirTemp("", "requeststate-pg-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	svc.Need(t, "psql", "apt-get install postgresql")
	server, err := pgserver.New(dir)
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	total, before := 0, cpu(server)
	var db *sql.DB
	for _, conns := range []int{1, 16} {
		var s *sqlreplay.Store
		s, db = openSQL(t, sqlreplay.Postgres, "pgx", server.URL("postgres"), conns)
		for _, n := range callers {
			total += measure(t, fmt.Sprintf("postgres, %d connections", conns), s, n)
		}
	}
	used := cpu(server) - before
	var size int64
	require.NoError(t, db.QueryRow("SELECT pg_total_relation_size('requeststate_spent')").Scan(&size))
	t.Logf("postgres: %.1f server µs a call, %d bytes an id, with its indexes (%d ids)", float64(used.Microseconds())/float64(total),
		size/int64(total), total)
}

// cpu is what the server's processes have used so far, as Linux tells it in hundredths of a second.
func cpu(s *pgserver.Server) (used time.Duration) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	main := strconv.Itoa(s.PID())
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // from the third on: state, parent, …, user and system time
		if len(fields) < 13 || fields[1] != main && filepath.Base(filepath.Dir(stat)) != main {
			continue
		}
		for _, field := range fields[11:13] {
			ticks, _ := strconv.Atoi(field)
			used += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return used
}

func TestSQLite(t *testing.T) {
	s, db := openSQL(t, sqlreplay.SQLite, "sqlite", "file:"+filepath.Join(t.TempDir(), "spent.db")+
		"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=FULL&_txlock=immediate", 4)
	total := 0
	for _, n := range callers {
		total += measure(t, "sqlite, synchronous=FULL", s, n)
	}
	var size int
	require.NoError(t, db.QueryRow("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size))
	t.Logf("sqlite: %d bytes an id, with its index (%d ids)", size/total, total)
}

func openSQL(t *testing.T, d sqlreplay.Dialect, driver, name string, conns int) (*sqlreplay.Store, *sql.DB) {
	db, err := sql.Open(driver, name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	require.NoError(t, sqlreplay.Migrate(t.Context(), db, d))
	s, err := sqlreplay.New(t.Context(), db, d, sqlreplay.WithTimeout(10*time.Second))
	require.NoError(t, err)
	return s, db
}
