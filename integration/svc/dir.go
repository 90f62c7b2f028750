package svc

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Dir is a new folder for a server's files, that other users can reach, and gone with the test. See [NewDir].
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := NewDir()
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// NewDir makes a folder for a server's files: in memory if there is room, because no test here cuts the power, and what a
// killed process has written is there afterwards either way. A slow disk would only make the tests slow.
func NewDir() (string, error) {
	const memory, room = "/dev/shm", 2 << 30
	if free(memory) >= room {
		if dir, err := os.MkdirTemp(memory, "requeststate-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "requeststate-")
}
