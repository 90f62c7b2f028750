// Package services starts servers for the examples' tests, on free ports of 127.0.0.1.
package services

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// Redis starts a redis-server that ends with the test and returns its address. Without the program the test is skipped, or
// fails if REQUIRE_SERVICES=1.
func Redis(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("REQUIRE_SERVICES") != "1" {
		t.Skip("redis-server is missing: apt-get install redis-server (REQUIRE_SERVICES=1 makes this a failure)")
	}
	require.NoError(t, err, "apt-get install redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	addr := "127.0.0.1:" + strconv.Itoa(port)
	cmd := exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--loglevel", "warning")
	child.Bind(cmd)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return addr
}
