package redisreplay

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// A server is a redis-server of this machine on a free port of 127.0.0.1. It dies with the test.
type server struct {
	t    testing.TB
	addr string
	args []string
	cmd  *exec.Cmd
}

// start starts a server without persistence, unless args say otherwise.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	s := &server{t: t, addr: "127.0.0.1:" + port}
	s.args = append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(),
		"--save", "", "--loglevel", "warning"}, args...)
	s.run()
	t.Cleanup(s.kill)
	return s
}

func (s *server) run() {
	s.t.Helper()
	s.cmd = exec.Command(program(s.t), s.args...)
	child.Bind(s.cmd)
	require.NoError(s.t, s.cmd.Start())
	c := s.client()
	require.Eventually(s.t, func() bool { return c.Ping(s.t.Context()).Err() == nil }, 30*time.Second, 10*time.Millisecond)
}

func (s *server) kill() { _, _ = s.cmd.Process.Kill(), s.cmd.Wait() }

func (s *server) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) do(args ...any) {
	s.t.Helper()
	require.NoError(s.t, s.client().Do(s.t.Context(), args...).Err())
}

// program is the path of redis-server. Without it the test is skipped, and fails if REQUIRE_SERVICES=1.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("REQUIRE_SERVICES") != "1" {
		t.Skip("redis-server is missing: apt-get install redis-server (REQUIRE_SERVICES=1 makes this a failure)")
	}
	require.NoError(t, err)
	return path
}
