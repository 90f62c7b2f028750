//go:build unix

package sql_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// victim is a server that redeems and is killed before its effect. SQLREPLAY_USE is the use, SQLREPLAY_HOW how it redeems.
func victim(url string) {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	var use requeststate.Use
	must(json.Unmarshal([]byte(os.Getenv("SQLREPLAY_USE")), &use))
	db, err := sql.Open("pgx", url)
	must(err)
	store, err := sqlreplay.New(ctx, db, sqlreplay.Postgres)
	must(err)
	switch os.Getenv("SQLREPLAY_HOW") {
	case "Consume":
		must(store.Consume(ctx, use))
	case "ConsumeTx":
		tx, err := db.Begin()
		must(err)
		must(store.ConsumeTx(ctx, tx, use))
		_, err = tx.Exec("INSERT INTO effects VALUES ('half done')")
		must(err)
	}
	fmt.Println("spent")
	select {} // killed here, before the effect or its commit
}

// Row 44: a process that dies between the redemption and the effect. With Consume the redemption is lost and the effect never
// happens; with ConsumeTx neither happened, and the token is still good. Never does the effect happen twice.
func TestKilledBeforeTheEffect(t *testing.T) {
	for how, alive := range map[string]bool{"Consume": false, "ConsumeTx": true} {
		t.Run(how, func(t *testing.T) {
			name := database(t)
			db := openPostgres(t, shared.server, name)
			store := newStore(t, db, sqlreplay.Postgres)
			_, err := db.Exec("CREATE TABLE effects (what text)")
			require.NoError(t, err)
			u := fresh(t, store)
			text, err := json.Marshal(u)
			require.NoError(t, err)
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "SQLREPLAY_CHILD="+pgserver.URL(shared.server.Port, name), "SQLREPLAY_USE="+string(text), "SQLREPLAY_HOW="+how)
			child.Bind(cmd)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "spent", strings.TrimSpace(line))
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()

			// The server notices that the connection is gone; until then the id is busy, which Consume waits for.
			require.Eventually(t, func() bool {
				var n int
				return db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid() AND state = 'idle in transaction'", name).Scan(&n) == nil && n == 0
			}, 20*time.Second, 20*time.Millisecond)
			err = store.Consume(t.Context(), again(u))
			if alive {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, requeststate.ErrConsumed)
			}
			var effects int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM effects").Scan(&effects))
			assert.Zero(t, effects)
			t.Logf("44 killed after %s: token still good: %v, effects: %d", how, alive, effects)
		})
	}
}
