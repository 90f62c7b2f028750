//go:build unix

package redis_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/faults"
	"github.com/mcp-requeststate/requeststate-go/integration/linear"
	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

// Row 19: the server spends, the reply is lost, the client library tries again by itself. Honest users must not be told that
// they have used their token already.
func TestLostReplies(t *testing.T) {
	server := svc.StartRedis(t)
	for losses := 1; losses <= 3; losses++ {
		proxy := faults.NewProxy(t, server.Addr)
		store := open(t, svc.NewClient(t, proxy.Addr))
		toy := naive{svc.NewClient(t, proxy.Addr)}
		var ours, theirs tally
		for range 10 {
			u, v := fresh(t, store), fresh(t, toy)
			spend(t, store, 1) // the script is known, the connection made
			proxy.Drop(losses)
			ours.add(store.Consume(t.Context(), u))
			proxy.Pass()
			spend(t, toy, 1)
			proxy.Drop(losses)
			theirs.add(toy.Consume(t.Context(), v))
			proxy.Pass()
		}
		t.Logf("19 %d replies lost: accepted %d, falsely used %d, undecided %d; naive falsely used %d of %d",
			losses, ours.accepted, ours.consumed, ours.undecided, theirs.consumed, theirs.tried)
		assert.Zero(t, ours.consumed)
		assert.Zero(t, ours.stale)
		if losses == 1 {
			assert.Positive(t, theirs.consumed, "the negative control was right every time")
			assert.Equal(t, ours.tried, ours.accepted)
		}
	}
}

// Row 20: a reply is withheld, the client's read ends, and its second attempt finds the first one's write.
func TestWithheldReply(t *testing.T) {
	server := svc.StartRedis(t)
	proxy := faults.NewProxy(t, server.Addr)
	store := open(t, svc.NewClient(t, proxy.Addr), redisreplay.WithTimeout(4*time.Second))
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr, ReadTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	toy := naive{client}
	withhold := func(s requeststate.ReplayStore, d time.Duration) (c tally) {
		spend(t, s, 1)
		u := fresh(t, s)
		proxy.Hold()
		time.AfterFunc(d, proxy.Pass)
		c.add(s.Consume(t.Context(), u))
		return c
	}
	ours, theirs := withhold(store, 2500*time.Millisecond), withhold(toy, 1500*time.Millisecond)
	t.Logf("20 a reply withheld: accepted %d, falsely used %d of %d; naive falsely used %d of %d",
		ours.accepted, ours.consumed, ours.tried, theirs.consumed, theirs.tried)
	assert.Equal(t, 1, ours.accepted)
	assert.Equal(t, 1, theirs.consumed, "the negative control was right")
}

// Row 21: all replies are lost: undecided, never used.
func TestAllRepliesLost(t *testing.T) {
	server := svc.StartRedis(t)
	proxy := faults.NewProxy(t, server.Addr)
	store := open(t, svc.NewClient(t, proxy.Addr))
	u := fresh(t, store)
	proxy.Drop(1000)
	err := store.Consume(t.Context(), u)
	require.ErrorIs(t, err, requeststate.ErrUnavailable)
	require.NotErrorIs(t, err, requeststate.ErrInvalid)
	t.Logf("21 all replies lost: %v (%v)", err, errors.Unwrap(err))
}

// Rows 22, 23 and 24: a server that does not answer. The call ends with the deadline, the cancel, or the timeout.
func TestDeadlines(t *testing.T) {
	server := svc.StartRedis(t)
	proxy := faults.NewProxy(t, server.Addr)
	store := open(t, svc.NewClient(t, proxy.Addr), redisreplay.WithTimeout(time.Second))
	uses := unspent(t, store, 3)
	const slack = 150 * time.Millisecond // a loaded machine; 50 ms is the aim
	proxy.Hold()
	took := func(f func() error) time.Duration {
		start := time.Now()
		require.ErrorIs(t, f(), requeststate.ErrUnavailable)
		return time.Since(start)
	}
	deadline := took(func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return store.Consume(ctx, uses[0])
	})
	cancelled := took(func() error {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		return store.Consume(ctx, uses[1])
	})
	timeout := took(func() error { return store.Consume(t.Context(), uses[2]) })
	t.Logf("22 deadline 200 ms: %v; 23 cancel at 100 ms: %v; timeout 1 s: %v", deadline, cancelled, timeout)
	assert.Less(t, deadline, 200*time.Millisecond+slack)
	assert.Less(t, cancelled, 100*time.Millisecond+slack)
	assert.Less(t, timeout, time.Second+slack)

	// 24: the first write had arrived. It is spent, though its caller was told that this is undecided, and ran no effect.
	// The other two waited for a connection.
	proxy.Pass()
	require.ErrorIs(t, store.Consume(t.Context(), again(uses[0])), requeststate.ErrConsumed)
}

// calls counts the goroutines of stores that are under way.
func calls() int {
	buf := make([]byte, 16<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "redisreplay.(*Store).call.func")
}

// While all replies are held, the goroutines that outlive their calls are bounded, and end with the timeout. Callers beyond
// the bound are told at once.
func TestGoroutinesAreBounded(t *testing.T) {
	const bound, callers = 1024, 2000
	server := svc.StartRedis(t)
	proxy := faults.NewProxy(t, server.Addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr, PoolSize: 50})
	t.Cleanup(func() { _ = client.Close() })
	store := open(t, client, redisreplay.WithTimeout(3*time.Second))
	u := fresh(t, store)
	proxy.Hold()
	var wg sync.WaitGroup
	var atOnce atomic.Int32
	most := 0
	for range callers {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			err := store.Consume(ctx, again(u))
			assert.ErrorIs(t, err, requeststate.ErrUnavailable)
			if ctx.Err() == nil {
				atOnce.Add(1)
			}
		})
	}
	server.Wait(func() bool { most = max(most, calls()); return most >= bound })
	wg.Wait()
	most = max(most, calls())
	t.Logf("%d callers gave up, %d of them at once; at most %d goroutines were under way", callers, atOnce.Load(), most)
	assert.LessOrEqual(t, most, bound)
	assert.Positive(t, atOnce.Load())
	server.Wait(func() bool { return calls() == 0 })
	proxy.Pass()
	proxy.Cut()
	server.Wait(func() bool { return store.Consume(t.Context(), fresh(t, store)) == nil })
}

// Row 25: no connection is free.
func TestPoolExhausted(t *testing.T) {
	server := svc.StartRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 1, PoolTimeout: 5 * time.Second, ReadTimeout: -1})
	t.Cleanup(func() { _ = client.Close() })
	store := open(t, client, redisreplay.WithTimeout(300*time.Millisecond))
	u := fresh(t, store)
	blocked := make(chan struct{})
	go func() { defer close(blocked); _ = client.BLPop(context.Background(), 2*time.Second, "nothing").Err() }()
	server.Wait(func() bool { return client.PoolStats().IdleConns == 0 })
	start := time.Now()
	require.ErrorIs(t, store.Consume(t.Context(), u), requeststate.ErrUnavailable)
	took := time.Since(start)
	t.Logf("25 no connection is free: undecided after %v", took)
	assert.Less(t, took, time.Second)
	<-blocked
}

// Ten thousand calls under lost replies, cuts, kills and flushes are linearizable; the naive store's are not.
func TestLinearizable(t *testing.T) {
	const calls = 12_000
	server := svc.StartRedis(t)
	proxy := faults.NewProxy(t, server.Addr)
	ours := linear.NewRecorder(open(t, svc.NewClient(t, proxy.Addr), redisreplay.WithTimeout(300*time.Millisecond)))
	toy := linear.NewRecorder(naive{svc.NewClient(t, proxy.Addr)})
	background := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), time.Second)
	}
	harm := linear.Fault{Every: 200, Do: func(i int) {
		switch i % 4 {
		case 0:
			proxy.Drop(3)
		case 1:
			proxy.Cut()
		case 2:
			_ = server.Client().FlushAll(context.Background()).Err()
		case 3:
			server.Kill()
			server.Start()
		}
	}}
	linear.Load([]*linear.Recorder{ours}, calls, 16, background, harm)
	linear.Load([]*linear.Recorder{toy}, calls, 16, background, harm)
	require.GreaterOrEqual(t, ours.Len(), 10_000)
	assert.True(t, ours.Linearizable(t))
	assert.False(t, toy.Linearizable(t), "the negative control must be illegal")
}
