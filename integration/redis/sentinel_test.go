//go:build unix

package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

// Row 13 with a real Sentinel, which promotes a replica that lacks the last writes, and a client that follows it.
func TestSentinelFailover(t *testing.T) {
	primary, replica := svc.StartRedis(t), svc.StartRedis(t)
	replicate(t, primary.Addr, replica)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: []string{svc.StartSentinel(t, "main", primary)}})
	t.Cleanup(func() { _ = client.Close() })
	store, toy := open(t, client, redisreplay.WithTimeout(5*time.Second)), naive{client}
	spend(t, store, 10)

	replica.Pause()
	defer replica.Resume()
	fill(t, primary)
	spent, toys, held := spend(t, store, tokens), spend(t, toy, tokens), unspent(t, store, tokens)
	primary.Kill()
	replica.Resume()
	replica.Wait(func() bool {
		return strings.Contains(replica.Do("INFO", "replication").(string), "role:master")
	})
	replica.Wait(func() bool { return client.Ping(context.Background()).Err() == nil })
	assert.NoError(t, store.Consume(t.Context(), fresh(t, store)), "new tokens work at once")
	report(t, "13 failover by Sentinel", present(store, spent), present(store, held), present(toy, toys), true)
}
