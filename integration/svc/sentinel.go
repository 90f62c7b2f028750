//go:build unix

package svc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// StartSentinel starts a Sentinel that watches primary under name and decides alone. It returns its address. It dies with
// the test.
func StartSentinel(t testing.TB, name string, primary *Redis) string {
	t.Helper()
	port := Port(t)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `port %d
bind 127.0.0.1
sentinel monitor %s 127.0.0.1 %d 1
sentinel down-after-milliseconds %s 1000
sentinel failover-timeout %s 3000
`, port, name, primary.Port, name, name), 0o600))
	cmd := exec.Command(Need(t, "redis-server", "apt-get install redis-server"), config, "--sentinel")
	child.Bind(cmd)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	c := redis.NewSentinelClient(&redis.Options{Addr: addr})
	defer func() { _ = c.Close() }()
	primary.Wait(func() bool {
		replicas, err := c.Replicas(context.Background(), name).Result()
		return err == nil && len(replicas) > 0
	})
	return addr
}
