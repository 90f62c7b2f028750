package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
)

// configs is every set of switches in every format, and what could break out of a Go string.
func configs() (list []trap.Config) {
	for _, format := range trap.Formats() {
		for i := range 32 {
			c := trap.Default()
			c.Format, c.Without = format, trap.Set{}
			for bit, name := range []trap.Switch{trap.Integrity, trap.Principal, trap.TTL, trap.Request, trap.SingleUse} {
				c.Without[name] = i>>bit&1 == 1
			}
			list = append(list, c)
		}
	}
	nasty := trap.Default()
	nasty.Principal, nasty.Name = "a`b\"c\\", "x\") }; func init() { panic(`oops`) } //\u2028\n"
	nasty.State = []byte{0, 255, '`', '"'}
	return append(list, nasty)
}

// TestSnippetsCompile vets all of them together, in a module of their own, as a reader would paste them.
func TestSnippetsCompile(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod")) // for its requirements
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/mcp-requeststate/requeststate-go\n", "module snippets\n", 1) +
		"\nrequire github.com/mcp-requeststate/requeststate-go v0.0.0\n" +
		"replace github.com/mcp-requeststate/requeststate-go => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))

	seen := map[string]int{}
	for i, c := range configs() {
		source, err := snippet(c)
		require.NoError(t, err)
		seen[source] = i
		folder := filepath.Join(dir, "s"+strconv.Itoa(i))
		require.NoError(t, os.Mkdir(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(source), 0o600))
	}
	assert.Len(t, seen, 161, "each configuration has a program of its own")
	command := exec.Command("go", "vet", "./...")
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))

	first := func(folder string) string {
		run := exec.Command("go", "run", "./"+folder)
		run.Dir, run.Env = dir, command.Env
		out, err := run.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	const state = `PASS: {"confirmed":true,"amount":25}`
	refused := " refused: -32602 Invalid or expired requestState\n"
	assert.Equal(t, "1 "+state+"\n2"+refused+"3"+refused+"4"+refused+"5"+refused, first("s0"), "all bindings")
	assert.Equal(t, 5, strings.Count(first("s16"), state), "without single use")
}

func TestSnippetSaysWhatItCannotDo(t *testing.T) {
	c := trap.Default()
	c.Without = trap.Set{trap.Integrity: true, trap.TTL: true}
	source, err := snippet(c)
	require.NoError(t, err)
	assert.Contains(t, source, "The library has no way to leave it out")
	assert.Contains(t, source, "requeststate.WithTTL(86400*time.Second), // the longest there is")
	c = trap.Default()
	c.TTL = 7 * time.Second
	source, err = snippet(c)
	require.NoError(t, err)
	assert.Contains(t, source, "requeststate.WithTTL(7*time.Second),\n")
	assert.NotContains(t, source, "longest")
}
