//go:build unix

package sql_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
)

// The redeem example on Postgres; its own tests have the other stores.
func TestRedeemExample(t *testing.T) {
	name := database(t) // starts the server
	at := pgserver.URL(shared.server.Port, name)
	program := svc.Example(t, "redeem")
	out, err := exec.CommandContext(t.Context(), program, "-store", "postgres", "-at", at).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "redeemed 5 times")
	assert.Contains(t, string(out), "redeemed 1 times")
}
