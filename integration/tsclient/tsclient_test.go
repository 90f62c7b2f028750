// Package tsclient has the official TypeScript client drive examples/redeem.
package tsclient

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/npm"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
)

func TestTypeScriptClient(t *testing.T) {
	place := npm.Install(t, ".")
	node := npm.Node(t, place)
	at := startRedeem(t)

	// Node looks for packages beside the script.
	script, err := os.ReadFile("client.mjs")
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "client.mjs")
	require.NoError(t, os.WriteFile(copied, script, 0o644))
	packages := filepath.Join(filepath.Dir(copied), "node_modules")
	require.NoError(t, os.Symlink(filepath.Join(place, "node_modules"), packages))

	out, err := exec.CommandContext(t.Context(), node, copied, at).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	assert.Contains(t, string(out), "ok: with it, once\n")
	assert.Contains(t, string(out), "ok: answers without a token are asked for again\n")
}

// startRedeem builds and starts the example, and returns the line that says where it is.
func startRedeem(t *testing.T) string {
	server := exec.Command(svc.Example(t, "redeem"), "-serve", "127.0.0.1:0")
	server.Stderr = os.Stderr
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		stopped := make(chan error, 1)
		go func() { stopped <- server.Wait() }()
		select {
		case err := <-stopped:
			assert.NoError(t, err, "the server did not end cleanly")
		case <-time.After(time.Minute):
			_ = server.Process.Kill()
			t.Error("the server did not end")
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return line
}
