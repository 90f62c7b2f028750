//go:build unix

package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/faults"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

const tokens = 200

// onOneServer spends tokens on a server, lets a fault happen to it, and presents them again.
func onOneServer(t *testing.T, row string, forgets bool, fault func(*svc.Redis, *redisreplay.Store), args ...string) {
	t.Run(row, func(t *testing.T) {
		server := svc.StartRedis(t, args...)
		store, toy := open(t, server.Client()), naive{server.Client()}
		spent, toys, held := spend(t, store, tokens), spend(t, toy, tokens), unspent(t, store, tokens)
		fault(server, store)
		report(t, row, present(store, spent), present(store, held), present(toy, toys), forgets)
		spend(t, store, 1) // new tokens work at once
	})
}

func TestOneServer(t *testing.T) {
	restart := func(end func(*svc.Redis)) func(*svc.Redis, *redisreplay.Store) {
		return func(r *svc.Redis, _ *redisreplay.Store) { end(r); r.Start() }
	}
	run := func(commands ...string) func(*svc.Redis, *redisreplay.Store) {
		return func(r *svc.Redis, _ *redisreplay.Store) {
			for _, c := range commands {
				var args []any
				for _, w := range strings.Fields(c) {
					args = append(args, w)
				}
				r.Do(args...)
			}
		}
	}
	onOneServer(t, "1 restart, SIGKILL", true, restart((*svc.Redis).Kill))
	onOneServer(t, "1 restart, SIGTERM", true, restart((*svc.Redis).Stop))
	onOneServer(t, "2 SIGKILL with saves configured", true, restart((*svc.Redis).Kill), "--save", "3600 1")
	onOneServer(t, "2 SIGTERM that saves", false, restart((*svc.Redis).Stop), "--save", "3600 1")
	onOneServer(t, "4 AOF everysec, SIGKILL", false, restart((*svc.Redis).Kill), "--appendonly", "yes")
	onOneServer(t, "9 FLUSHALL", true, run("FLUSHALL"))
	onOneServer(t, "9 FLUSHDB ASYNC", true, run("FLUSHDB ASYNC"))
	onOneServer(t, "9 SWAPDB", true, run("SWAPDB 0 1"))
	onOneServer(t, "32 SCRIPT FLUSH", false, run("SCRIPT FLUSH"))
}

// Row 3: a snapshot from before half of the tokens is what the server comes back with.
func TestOlderSnapshot(t *testing.T) {
	server := svc.StartRedis(t)
	store, toy := open(t, server.Client()), naive{server.Client()}
	spent, toys := spend(t, store, tokens/2), spend(t, toy, tokens/2)
	server.Do("SAVE")
	spent, toys = append(spent, spend(t, store, tokens/2)...), append(toys, spend(t, toy, tokens/2)...)
	held := unspent(t, store, tokens)
	server.Kill()
	server.Start()
	report(t, "3 older snapshot restored", present(store, spent), present(store, held), present(toy, toys), true)
}

// Rows 10 and 11: every eviction policy, on a server whose memory other data fills.
func TestEviction(t *testing.T) {
	for _, policy := range []string{"volatile-lru", "volatile-ttl", "volatile-random", "volatile-lfu", "allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		onOneServer(t, "10, 11 "+policy, true, func(r *svc.Redis, _ *redisreplay.Store) {
			pipe := r.Client().Pipeline()
			for i := range 40_000 {
				// With a TTL a little longer than the tokens', which volatile-ttl evicts last.
				pipe.Set(context.Background(), "cache:"+strconv.Itoa(i), strings.Repeat("x", 200), 10*time.Minute)
				if i%1000 == 999 {
					_, _ = pipe.Exec(context.Background()) // some fail for want of memory
				}
			}
		}, "--maxmemory", "4mb", "--maxmemory-policy", policy)
	}
}

// Row 12: a full server that evicts nothing refuses, quickly.
func TestFullServer(t *testing.T) {
	server := svc.StartRedis(t, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
	store, toy := open(t, server.Client()), naive{server.Client()}
	spent, toys, held := spend(t, store, tokens), spend(t, toy, tokens), unspent(t, store, tokens)
	client := server.Client()
	for i := 0; ; i++ {
		if client.Set(t.Context(), "fill:"+strconv.Itoa(i), strings.Repeat("x", 2000), 0).Err() != nil {
			break
		}
	}
	honest := present(store, held)
	report(t, "12 full, noeviction", present(store, spent), honest, present(toy, toys), false)
	assert.Equal(t, tokens, honest.undecided+honest.accepted, "an honest user is told to try again")
}

// replicate makes a replica of the server behind a proxy and waits for it.
func replicate(t *testing.T, from string, to *svc.Redis) {
	host, port, _ := strings.Cut(from, ":")
	to.Do("REPLICAOF", host, port)
	to.Wait(func() bool { return strings.Contains(to.Do("INFO", "replication").(string), "master_link_status:up") })
}

// Rows 13, 14 and 15: a failover to a replica that lacks the writes, both sides of a split brain, and back again.
func TestFailover(t *testing.T) {
	primary, replica := svc.StartRedis(t), svc.StartRedis(t)
	link := faults.NewProxy(t, primary.Addr)
	replicate(t, link.Addr, replica)
	onPrimary, toyPrimary := open(t, primary.Client(), redisreplay.WithNamespace("failover")), naive{primary.Client()}
	spend(t, onPrimary, 10)
	link.Freeze()
	spent, toys, held := spend(t, onPrimary, tokens), spend(t, toyPrimary, tokens), unspent(t, onPrimary, tokens)
	replica.Do("REPLICAOF", "NO", "ONE")
	onReplica, toyReplica := open(t, replica.Client(), redisreplay.WithNamespace("failover")), naive{replica.Client()}
	report(t, "13 failover, writes lost", present(onReplica, spent), present(onReplica, held), present(toyReplica, toys), true)

	// Both accept writes now: a token works at one side, if at all.
	both, toyBoth := unspent(t, onPrimary, tokens), unspent(t, toyPrimary, tokens)
	var twice, toyTwice tally
	for i, u := range both {
		if onPrimary.Consume(t.Context(), again(u)) == nil {
			twice.add(onReplica.Consume(t.Context(), again(u)))
		}
		if toyPrimary.Consume(t.Context(), again(toyBoth[i])) == nil {
			toyTwice.add(toyReplica.Consume(t.Context(), again(toyBoth[i])))
		}
	}
	report(t, "14 split brain", twice, tally{}, toyTwice, true)

	// The old primary follows the new one, and is promoted again: the same process, another history, without what it spent
	// alone.
	alone, toysAlone := spend(t, onPrimary, tokens), spend(t, toyPrimary, tokens)
	link.Pass()
	spentB := spend(t, onReplica, tokens)
	replicate(t, replica.Addr, primary)
	primary.Do("REPLICAOF", "NO", "ONE")
	report(t, "15 A to B to A", present(onPrimary, append(spentB, alone...)), present(onPrimary, held), present(toyPrimary, toysAlone), true)
}

// Row 31: a server that turned into a replica says READONLY.
func TestReadOnly(t *testing.T) {
	primary, replica := svc.StartRedis(t), svc.StartRedis(t)
	store := open(t, replica.Client())
	held := unspent(t, store, 20)
	replicate(t, primary.Addr, replica)
	honest := present(store, held)
	assert.Zero(t, honest.accepted)
	t.Logf("%-34s tried %d, accepted %d, undecided %d", "31 replica", honest.tried, honest.accepted, honest.undecided)
}

// Row 45 and replicas: what one process spends another refuses; with stores on different servers nothing is shared, and nothing
// is accepted at the wrong one.
func TestTwoServersAreTwoHistories(t *testing.T) {
	a, b := svc.StartRedis(t), svc.StartRedis(t)
	storeA, storeB := open(t, a.Client(), redisreplay.WithNamespace("x")), open(t, b.Client(), redisreplay.WithNamespace("x"))
	spent := spend(t, storeA, tokens)
	honest := unspent(t, storeA, tokens)
	report(t, "45 another server", present(storeB, spent), present(storeB, honest), tally{}, false)
}

// Churn: an injected clock goes through a day; what is held stays under twice the live ones, and the horizon reopens nothing.
func TestForgetting(t *testing.T) {
	server := svc.StartRedis(t)
	store := open(t, server.Client(), redisreplay.WithBuckets(4))
	past := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	var old []any
	for i := range 2000 { // expired long enough to be forgotten
		u := fresh(t, store)
		u.ExpiresAt = past.Add(time.Duration(i%7) * time.Second)
		switch err := store.Consume(t.Context(), u); err {
		case nil:
			old = append(old, u)
		default: // the horizon has passed it already
		}
	}
	live := spend(t, store, 2000)
	require.NoError(t, store.Sweep(t.Context()))
	held := 0
	for n := range 4 {
		keys, err := server.Client().Keys(t.Context(), fmt.Sprintf("*:b:%d", n)).Result()
		require.NoError(t, err)
		for _, key := range keys {
			count, err := server.Client().HLen(t.Context(), key).Result()
			require.NoError(t, err)
			held += int(count) - 3
		}
	}
	t.Logf("%d expired and %d live ids spent, %d held after a sweep", len(old), len(live), held)
	assert.Equal(t, len(live), held)
	assert.Zero(t, present(store, live).accepted)
}
