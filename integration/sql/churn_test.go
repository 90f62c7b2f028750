//go:build unix

package sql_test

import (
	"database/sql"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/sqlreplay"
)

// counted counts the rows.
type counted struct {
	*sqlreplay.Store
	t  *testing.T
	db *sql.DB
}

func (c counted) Len() (n int) {
	require.NoError(c.t, c.db.QueryRow("SELECT count(*) FROM requeststate_spent").Scan(&n))
	return n
}

// A table that is swept holds fewer than twice the live ids, over a day of the store's clock; the default margin would keep an
// hour's more. CHURN=2000000 spends that many.
func TestChurn(t *testing.T) {
	n := 20_000
	if text := os.Getenv("CHURN"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for _, s := range stores {
		t.Run(s.dialect.String(), func(t *testing.T) {
			replaytest.Churn(t, func(t *testing.T, now func() time.Time) replaytest.Counted {
				store, db := s.open(t, sqlreplay.WithClock(now), sqlreplay.WithMargin(0))
				return counted{store, t, db}
			}, n)
		})
	}
}
