//go:build unix

package svc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// A Redis is a running server. It dies with the test.
type Redis struct {
	Addr string
	Port int
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
}

// StartRedis starts a server without persistence, unless args say otherwise.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	r := &Redis{Port: Port(t), t: t, dir: t.TempDir(), args: args}
	r.Addr = "127.0.0.1:" + strconv.Itoa(r.Port)
	r.Start()
	t.Cleanup(r.Kill)
	return r
}

// Start starts the server again, on its port, with its files.
func (r *Redis) Start() {
	r.t.Helper()
	path := Need(r.t, "redis-server", "apt-get install redis-server")
	args := append([]string{"--port", strconv.Itoa(r.Port), "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0", "--loglevel", "warning"}, r.args...)
	r.cmd = exec.Command(path, args...)
	child.Bind(r.cmd)
	require.NoError(r.t, r.cmd.Start())
	c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	r.Wait(func() bool { return c.Ping(context.Background()).Err() == nil })
}

// Kill ends the server as kill -9 does.
func (r *Redis) Kill() { r.end(syscall.SIGKILL) }

// Stop ends the server as it is meant to be ended: it may save.
func (r *Redis) Stop() { r.end(syscall.SIGTERM) }

// Pause stops the process where it is, until Resume.
func (r *Redis) Pause() { _ = r.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (r *Redis) Resume() { _ = r.cmd.Process.Signal(syscall.SIGCONT) }

func (r *Redis) end(sig syscall.Signal) {
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(sig)
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// Client is a client with the library's defaults, closed with the test.
func (r *Redis) Client() *redis.Client { return NewClient(r.t, r.Addr) }

// NewClient is a client of addr with the library's defaults, closed with the test.
func NewClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Do sends a command and fails the test on an error.
func (r *Redis) Do(args ...any) any {
	r.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: r.Addr})
	defer func() { _ = c.Close() }()
	v, err := c.Do(context.Background(), args...).Result()
	require.NoError(r.t, err, fmt.Sprint(args...))
	return v
}

// Wait polls until ok, for half a minute at most.
func (r *Redis) Wait(ok func() bool) {
	r.t.Helper()
	require.Eventually(r.t, ok, 30*time.Second, 10*time.Millisecond)
}

// AOF returns the file that the server appends to, and how long it is now.
func (r *Redis) AOF() (path string, size int64) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "appendonlydir", "*.incr.aof"))
	require.NoError(r.t, err)
	if len(files) == 0 { // before version 7
		files = []string{filepath.Join(r.dir, "appendonly.aof")}
	}
	info, err := os.Stat(files[0])
	require.NoError(r.t, err)
	return files[0], info.Size()
}
