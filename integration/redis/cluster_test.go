package redis_test

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

// Row 17: slots move from node to node while ids are spent. A bucket is one key and moves whole; its identity does not move, so
// open tokens of moved buckets are stale, once.
func TestClusterResharding(t *testing.T) {
	cli := svc.Need(t, "redis-cli", "apt-get install redis-tools")
	var nodes []*svc.Redis
	var addrs []string
	for range 3 {
		n := svc.StartRedis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "15000")
		nodes, addrs = append(nodes, n), append(addrs, n.Addr)
	}
	run := func(args ...string) {
		out, err := exec.Command(cli, append([]string{"--cluster"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run(append(append([]string{"create"}, addrs...), "--cluster-yes")...)
	for _, n := range nodes {
		n.Wait(func() bool { return strings.Contains(n.Do("CLUSTER", "INFO").(string), "cluster_state:ok") })
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	store := open(t, client, redisreplay.WithNamespace("cluster"))

	var mu sync.Mutex
	var first, twice tally
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				epoch, err := store.Epoch(context.Background())
				if err != nil {
					continue
				}
				u := requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: time.Now().Truncate(time.Second).Add(5 * time.Minute)}
				a, b := store.Consume(context.Background(), u), store.Consume(context.Background(), again(u))
				mu.Lock()
				first.add(a)
				if a == nil {
					twice.add(b)
				}
				mu.Unlock()
			}
		})
	}
	id := func(n *svc.Redis) string { return n.Do("CLUSTER", "MYID").(string) }
	for i := range nodes {
		run("reshard", addrs[0], "--cluster-from", id(nodes[i]), "--cluster-to", id(nodes[(i+1)%3]), "--cluster-slots", "1500", "--cluster-yes")
	}
	close(stop)
	load.Wait()
	t.Logf("17 resharding of 4,500 slots: %d spent, accepted twice %d; honest: stale %d, undecided %d of %d",
		first.accepted, twice.accepted, first.stale, first.undecided, first.tried)
	assert.Zero(t, twice.accepted)
	assert.Greater(t, first.accepted, 1000)
	assert.Less(t, first.stale+first.undecided, first.tried/20)
}
