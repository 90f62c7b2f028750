package lab

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// need skips a test whose outside program is missing, unless REQUIRE_SERVICES says that none may be.
func need(t *testing.T, ok bool, missing string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// browsers are the names that Chromium has in distributions.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

func browser(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	need(t, false, "the lab's browser tests need Chromium: apt-get install chromium")
	return ""
}

// program builds the lab once and returns where it is. TestMain removes it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir, "./lab")
	build.Dir = filepath.Join("..", "..", "examples")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	built = dir
	return filepath.Join(dir, "lab"), err
})

var built string // a folder

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// startLab runs the program on a free port and returns its address. It ends with the test.
func startLab(t *testing.T) string {
	t.Helper()
	browser(t) // without one there is nothing to build for
	path, err := program()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, path, "-addr", "127.0.0.1:0")
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	server.Stderr = os.Stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // killed
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, stdout) }() // ends with the program
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(t, address, line)
	return address
}
