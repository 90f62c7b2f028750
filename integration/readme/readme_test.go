// Package readme compiles the Go blocks of the README.
package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is what the blocks stand in: names that the reader has, and errors that the reader handles.
const program = `package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

func readme(ctx context.Context, server *mcp.Server, state []byte, issuer, subject, requestState string, arguments json.RawMessage) error {
BLOCKS
	_, _, _ = token, opened, ctx
	return err
}

func main() { _, _ = readme, os.Args }
`

func TestREADMECompiles(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	require.NotEmpty(t, blocks)
	source := strings.ReplaceAll(program, "BLOCKS", strings.Join(blocks, "\n"))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "blocks", "main.go"): filepath.Join(dir, "main.go")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", os.DevNull, "./blocks").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
}
