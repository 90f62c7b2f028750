// Package svc starts the servers that tests need, from the programs of this machine, on free ports of 127.0.0.1.
package svc

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Need returns the path of a program. Without it the test is skipped with what to install, and fails if REQUIRE_SERVICES=1.
func Need(t testing.TB, program, install string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatalf("%s is missing: %s", program, install)
	}
	if err != nil {
		t.Skipf("%s is missing: %s (REQUIRE_SERVICES=1 makes this a failure)", program, install)
	}
	return path
}

// Port returns a port that was free a moment ago.
func Port(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
