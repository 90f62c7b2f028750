//go:build unix

package redis_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

var namespaces atomic.Int64

// open opens a store in a namespace of its own.
func open(t testing.TB, client redis.UniversalClient, opts ...redisreplay.Option) *redisreplay.Store {
	t.Helper()
	ns := fmt.Sprintf("test%d", namespaces.Add(1))
	store, err := redisreplay.New(context.Background(), client, append([]redisreplay.Option{
		redisreplay.WithNamespace(ns), redisreplay.WithTimeout(2 * time.Second)}, opts...)...)
	require.NoError(t, err)
	return store
}

func TestSuite(t *testing.T) {
	server := svc.StartRedis(t)
	names := map[requeststate.ReplayStore]string{}
	replaytest.Run(t,
		func(t *testing.T) requeststate.ReplayStore {
			ns := fmt.Sprintf("suite%d", namespaces.Add(1))
			s := open(t, server.Client(), redisreplay.WithNamespace(ns))
			names[s] = ns
			return s
		},
		replaytest.WithTrials(100),
		replaytest.WithPeer(func(t *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore {
			return open(t, server.Client(), redisreplay.WithNamespace(names[s]))
		}),
	)
}

// rights are those that the documentation lists.
var rights = []string{"+eval", "+evalsha", "+info", "+hmget", "+hget", "+hset", "+hdel", "+hscan", "+hrandfield", "+unlink",
	"+time", "+ping", "+hello", "+client"}

// The rights that the documentation lists are enough, and each that is missing is named at start.
func TestLeastPrivilege(t *testing.T) {
	server := svc.StartRedis(t)
	try := func(without string) error {
		acl := []any{"ACL", "SETUSER", "app", "reset", "on", ">pw", "~app:*", "-@all"}
		for _, right := range rights {
			if right != without {
				acl = append(acl, right)
			}
		}
		server.Do(acl...)
		client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "app", Password: "pw"})
		defer func() { _ = client.Close() }()
		store, err := redisreplay.New(t.Context(), client, redisreplay.WithNamespace("app"), redisreplay.WithTimeout(2*time.Second))
		if err != nil {
			return err
		}
		u := fresh(t, store)
		require.NoError(t, store.Consume(t.Context(), u))
		require.ErrorIs(t, store.Consume(t.Context(), again(u)), requeststate.ErrConsumed)
		return store.Sweep(t.Context())
	}
	require.NoError(t, try(""))
	server.Do("FLUSHALL") // so that the script has to write a bucket's head
	for _, right := range rights[:len(rights)-3] {
		server.Do("FLUSHALL")
		err := try(right)
		t.Logf("33 without %s: %v", right, err)
		require.Error(t, err, right)
		assert.Contains(t, err.Error(), right)
	}
}

func TestOptionErrors(t *testing.T) {
	client := svc.NewClient(t, "127.0.0.1:1")
	for name, opt := range map[string]redisreplay.Option{
		"namespace": redisreplay.WithNamespace(""), "no buckets": redisreplay.WithBuckets(0), "too many": redisreplay.WithBuckets(1 << 20),
		"timeout": redisreplay.WithTimeout(time.Millisecond),
	} {
		_, err := redisreplay.New(t.Context(), client, opt)
		assert.ErrorContains(t, err, "wants", name)
	}
	_, err := redisreplay.New(t.Context(), nil)
	assert.Error(t, err)
	_, err = redisreplay.New(t.Context(), client)
	assert.ErrorContains(t, err, "does not answer")
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { _ = cluster.Close() }()
	_, err = redisreplay.New(t.Context(), cluster)
	assert.ErrorContains(t, err, "ContextTimeoutEnabled")
}
