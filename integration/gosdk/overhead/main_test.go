//go:build unix

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestItRuns says nothing of the numbers.
func TestItRuns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "overhead")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "-drawn", "8", "-pairs", "2", "-flows", "16", "-clients", "4").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "redeemed")
}
