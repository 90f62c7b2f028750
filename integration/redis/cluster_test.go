//go:build unix

package redis_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

const slots = 16384

// cluster starts three masters, which share the slots, and a replica of each: the server at i+3 has the master at i.
func cluster(t *testing.T) []*svc.Redis {
	t.Helper()
	var nodes []*svc.Redis
	bus := map[int]int{}
	for range 6 {
		port := svc.Port(t)
		nodes = append(nodes, svc.StartRedis(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(port),
			"--cluster-node-timeout", "15000", "--cluster-replica-validity-factor", "0"))
		bus[len(nodes)-1] = port
	}
	for i, node := range nodes[1:] {
		nodes[0].Do("CLUSTER", "MEET", "127.0.0.1", node.Port, bus[i+1])
	}
	for i, node := range nodes[:3] {
		node.Do("CLUSTER", "ADDSLOTSRANGE", i*slots/3, (i+1)*slots/3-1)
	}
	for i, node := range nodes[3:] {
		master := nodes[i]
		node.Wait(func() bool { return strings.Contains(node.Do("CLUSTER", "NODES").(string), id(master)) })
		node.Do("CLUSTER", "REPLICATE", id(master))
	}
	for _, node := range nodes {
		settled(node)
	}
	return nodes
}

func id(node *svc.Redis) string { return node.Do("CLUSTER", "MYID").(string) }

// settled waits until the node sees the whole cluster, its three replicas in step.
func settled(node *svc.Redis) {
	node.Wait(func() bool {
		return strings.Contains(node.Do("CLUSTER", "INFO").(string), "cluster_state:ok") &&
			strings.Count(node.Do("CLUSTER", "NODES").(string), "slave") == 3 &&
			!strings.Contains(node.Do("INFO", "replication").(string), "master_link_status:down")
	})
}

func clusterClient(t *testing.T, nodes []*svc.Redis) *redis.ClusterClient {
	var addrs []string
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Rows 16, 17 and 18.
func TestCluster(t *testing.T) {
	nodes := cluster(t)
	client := clusterClient(t, nodes)
	_, err := redisreplay.New(t.Context(), nodes[0].Client())
	require.ErrorContains(t, err, "NewClusterClient")

	store := open(t, client, redisreplay.WithTimeout(5*time.Second))
	spent := spend(t, store, tokens)
	assert.Equal(t, tokens, present(store, spent).consumed, "all masters work")
	t.Run("least rights", func(t *testing.T) { clusterRights(t, nodes) })
	t.Run("17 resharding", func(t *testing.T) { reshard(t, nodes, store) })
	t.Run("16 failover", func(t *testing.T) { clusterFailover(t, nodes, naive{client}) })
}

// clusterRights opens a store with the rights that the documentation lists for a Cluster.
func clusterRights(t *testing.T, nodes []*svc.Redis) {
	for _, node := range nodes {
		acl := []any{"ACL", "SETUSER", "app", "reset", "on", ">pw", "~app:*", "-@all"}
		for _, right := range append(rights, "+cluster|slots", "+asking", "+command") {
			acl = append(acl, right)
		}
		node.Do(acl...)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr}, Username: "app", Password: "pw",
		ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	store := open(t, client, redisreplay.WithNamespace("app"))
	spent := spend(t, store, 100)
	assert.Equal(t, 100, present(store, spent).consumed)
	require.NoError(t, store.Sweep(t.Context()))
}

// reshard moves a quarter of the first master's slots to the second one while tokens are spent, each presented twice.
func reshard(t *testing.T, nodes []*svc.Redis, store *redisreplay.Store) {
	var tried, once, twice, undecided atomic.Int64
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
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
				u := newUse(epoch)
				var c tally
				c.add(store.Consume(context.Background(), u))
				c.add(store.Consume(context.Background(), again(u)))
				tried.Add(1)
				once.Add(int64(min(c.accepted, 1)))
				twice.Add(int64(max(c.accepted-1, 0)))
				undecided.Add(int64(c.undecided))
			}
		})
	}
	from, to, fromID, toID := nodes[0].Client(), nodes[1].Client(), id(nodes[0]), id(nodes[1])
	for slot := range slots / 12 {
		move(t, from, to, fromID, toID, slot)
	}
	close(stop)
	workers.Wait()
	t.Logf("17 resharding of %d slots: tried %d, accepted twice %d; honest refused %d; undecided %d",
		slots/12, tried.Load(), twice.Load(), tried.Load()-once.Load(), undecided.Load())
	assert.Zero(t, twice.Load())
	assert.Less(t, tried.Load()-once.Load(), tried.Load()/20, "only what was under way in the moved buckets is refused")
}

// move moves a slot from the first master to the second, as redis-cli does.
func move(t *testing.T, from, to *redis.Client, fromID, toID string, slot int) {
	t.Helper()
	do := func(c *redis.Client, args ...any) any {
		v, err := c.Do(t.Context(), args...).Result()
		require.NoError(t, err)
		return v
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	for _, key := range do(from, "CLUSTER", "GETKEYSINSLOT", slot, 1000).([]any) {
		host, port, _ := strings.Cut(to.Options().Addr, ":")
		do(from, "MIGRATE", host, port, key, 0, 5000)
	}
	for _, c := range []*redis.Client{to, from} {
		do(c, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
}

// clusterFailover kills the third master before its replica has what was spent last.
func clusterFailover(t *testing.T, nodes []*svc.Redis, toy naive) {
	store := open(t, toy.client, redisreplay.WithTimeout(5*time.Second))
	master, replica := nodes[2], nodes[5]
	for _, node := range nodes {
		node.Do("CONFIG", "SET", "cluster-node-timeout", 3000)
	}
	replica.Pause()
	defer replica.Resume()
	fill(t, master) // more than the sockets to the replica hold, so that nothing after it gets there
	spent, toys, held := spend(t, store, 3*tokens), spend(t, toy, 3*tokens), unspent(t, store, 3*tokens)
	master.Kill()
	replica.Resume()
	nodes[0].Wait(func() bool {
		return strings.Contains(replica.Do("INFO", "replication").(string), "role:master") &&
			strings.Contains(nodes[0].Do("CLUSTER", "INFO").(string), "cluster_state:ok") &&
			strings.Contains(nodes[1].Do("CLUSTER", "INFO").(string), "cluster_state:ok")
	})
	nodes[0].Wait(func() bool { return present(store, spent[:20]).undecided == 0 })
	report(t, "16 Cluster failover", present(store, spent), present(store, held), present(toy, toys), true)
}

func fill(t *testing.T, master *svc.Redis) {
	t.Helper()
	client := master.Client()
	value := strings.Repeat("x", 1<<20)
	for i, written := 0, 0; written < 40; i++ {
		if client.Set(t.Context(), "fill:"+strconv.Itoa(i), value, 0).Err() == nil { // the others are another master's
			written++
		}
	}
}
