//go:build unix

package sql_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/sql/pgserver"
)

// The redeem example on Postgres; its own tests have the other stores.
func TestRedeemExample(t *testing.T) {
	name := database(t) // starts the server
	at := pgserver.URL(shared.server.Port, name)
	program := filepath.Join(t.TempDir(), "redeem")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./redeem")
	build.Dir = filepath.Join("..", "..", "examples")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "-store", "postgres", "-at", at).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "redeemed 5 times")
	assert.Contains(t, string(out), "redeemed 1 times")
}
