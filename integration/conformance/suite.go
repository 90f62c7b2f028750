// Package conformance runs the official MCP conformance suite (npm: @modelcontextprotocol/conformance) against
// servers of this project.
package conformance

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-requeststate/requeststate-go/integration/npm"
)

// Version is the protocol version of the scenarios.
const Version = "2026-07-28"

// Scenarios are all that are about input-required results.
var Scenarios = []string{
	"input-required-result-basic-elicitation",
	"input-required-result-basic-list-roots",
	"input-required-result-basic-sampling",
	"input-required-result-capability-check",
	"input-required-result-ignore-extra-params",
	"input-required-result-missing-input-response",
	"input-required-result-multi-round",
	"input-required-result-multiple-input-requests",
	"input-required-result-non-tool-request",
	"input-required-result-request-state",
	"input-required-result-result-type",
	"input-required-result-tampered-state",
	"input-required-result-unsupported-methods",
	"input-required-result-validate-input",
}

// A Suite is an installed one.
type Suite struct{ node, script string }

// Install installs the suite, or skips the test.
func Install(t testing.TB) Suite {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	place := npm.Install(t, filepath.Dir(here))
	return Suite{
		node:   npm.Node(t, place),
		script: filepath.Join(place, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
}

// A Check is one of a scenario's.
type Check struct{ ID, Status, ErrorMessage string }

// Listed returns the names of the suite's scenarios for servers that begin with prefix.
func (s Suite) Listed(t testing.TB, prefix string) (names []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.node, s.script, "list", "--server").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, prefix) {
			names = append(names, word)
		}
	}
	return names
}

// Run runs one scenario against the server at url and returns its checks. A scenario without any is a failure.
func (s Suite) Run(t testing.TB, url, scenario string) (checks []Check) {
	t.Helper()
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), s.node, s.script, "server", "--url", url, "--scenario", scenario,
		"--spec-version", Version, "--output-dir", results, "--timeout", "120000")
	cmd.Dir = results
	out, runErr := cmd.CombinedOutput() // it ends with 1 if a check failed, which the file says better
	err := filepath.WalkDir(results, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		return err
	})
	if err != nil || len(checks) == 0 {
		t.Fatalf("%s: no checks: %v, %v\n%s", scenario, err, runErr, out)
	}
	return checks
}
