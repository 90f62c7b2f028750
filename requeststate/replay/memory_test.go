package replay_test

import (
	"context"
	"crypto/rand"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

func newMemory(t testing.TB, opts ...replay.Option) *replay.Memory {
	t.Helper()
	m, err := replay.NewMemory(opts...)
	require.NoError(t, err)
	return m
}

func TestMemoryPassesTheSuite(t *testing.T) {
	clocked := func(t *testing.T, now func() time.Time) requeststate.ReplayStore {
		return newMemory(t, replay.WithClock(now))
	}
	peer := func(_ *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore { return s }
	replaytest.Run(t, func(t *testing.T) requeststate.ReplayStore { return newMemory(t) },
		replaytest.WithClock(clocked), replaytest.WithPeer(peer))
}

func use(m *replay.Memory, exp time.Time) requeststate.Use {
	return requeststate.Use{ID: rand.Text(), Epoch: must(m.Epoch(context.Background())), Attempt: rand.Text(), ExpiresAt: exp}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// at is a clock that tests set.
type at struct{ unix atomic.Int64 }

func (a *at) now() time.Time { return time.Unix(a.unix.Load(), 0) }

func TestMemoryChurn(t *testing.T) {
	// A shard keeps some ids whether they have expired or not, so the capacity goes with the traffic.
	n, capacity := 2_000_000, replay.DefaultCapacity
	if raceEnabled || testing.Short() {
		n, capacity = n/10, capacity/10
	}
	replaytest.Churn(t, func(t *testing.T, now func() time.Time) replaytest.Counted {
		// Without Sweep: it keeps clean by itself.
		return struct{ replaytest.Counted }{newMemory(t, replay.WithClock(now), replay.WithCapacity(capacity))}
	}, n)
}

// A full store refuses what is new, keeps what it has, and takes new ids again once old ones have expired.
func TestMemoryFull(t *testing.T) {
	for _, capacity := range []int{1, 10, 1000, 2047, 2048, 5000} {
		clock := &at{}
		clock.unix.Store(1_800_000_000)
		m := newMemory(t, replay.WithCapacity(capacity), replay.WithClock(clock.now))
		var held []requeststate.Use
		full := 0
		for range 2 * capacity {
			u := use(m, clock.now().Add(time.Minute))
			switch err := m.Consume(t.Context(), u); {
			case err == nil:
				held = append(held, u)
			default:
				require.ErrorIs(t, err, requeststate.ErrUnavailable)
				require.NotErrorIs(t, err, requeststate.ErrInvalid)
				full++
			}
		}
		require.GreaterOrEqual(t, len(held), capacity)
		require.LessOrEqual(t, m.Len(), capacity*12/10+1)
		require.Positive(t, full)
		for _, u := range held {
			u.Attempt = rand.Text()
			require.ErrorIs(t, m.Consume(t.Context(), u), requeststate.ErrConsumed, "no live id is evicted")
		}
		clock.unix.Add(60)
		for range capacity { // all have expired, and there is room at once
			require.NoError(t, m.Consume(t.Context(), use(m, clock.now().Add(time.Minute))))
		}
		for _, u := range held {
			u.Attempt = rand.Text()
			require.ErrorIs(t, m.Consume(t.Context(), u), requeststate.ErrInvalid, "and none reopens")
		}
	}
}

// Two processes with a store each refuse each other's tokens.
func TestMemoriesDoNotMix(t *testing.T) {
	a, b := newMemory(t), newMemory(t)
	u := use(a, time.Now().Add(time.Minute))
	require.ErrorIs(t, b.Consume(t.Context(), u), requeststate.ErrStale)
	require.NoError(t, a.Consume(t.Context(), u))
	require.ErrorIs(t, new(replay.Memory).Consume(t.Context(), u), requeststate.ErrStale)
	u.Epoch = ""
	require.ErrorIs(t, new(replay.Memory).Consume(t.Context(), u), requeststate.ErrStale)
}

func TestMemorySweep(t *testing.T) {
	clock := &at{}
	clock.unix.Store(1_800_000_000)
	m := newMemory(t, replay.WithClock(clock.now))
	for i := range 5000 {
		require.NoError(t, m.Consume(t.Context(), use(m, clock.now().Add(time.Duration(59+i%2)*time.Second))))
	}
	require.Equal(t, 5000, m.Len())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	clock.unix.Add(118)
	require.NoError(t, m.Sweep(t.Context()))
	require.Equal(t, 5000, m.Len(), "the earlier ones expired 59 seconds ago")
	clock.unix.Add(1)
	require.NoError(t, m.Sweep(t.Context()))
	require.Equal(t, 2500, m.Len(), "a minute ago: these may go, and no other")
	clock.unix.Add(1)
	require.ErrorIs(t, m.Sweep(cancelled), context.Canceled)
	require.NoError(t, m.Sweep(t.Context()))
	require.Zero(t, m.Len())
}

// What was forgotten stays refused, whatever is forgotten after it.
func TestMemoryForgetsForGood(t *testing.T) {
	clock := &at{}
	clock.unix.Store(1_800_000_000)
	m := newMemory(t, replay.WithCapacity(10), replay.WithClock(clock.now))
	later, sooner := use(m, clock.now().Add(time.Hour)), use(m, clock.now().Add(time.Minute))
	require.NoError(t, m.Consume(t.Context(), later))
	require.NoError(t, m.Consume(t.Context(), sooner))
	clock.unix.Add(2 * 3600)
	require.NoError(t, m.Sweep(t.Context()))
	require.Zero(t, m.Len())
	clock.unix.Add(-2 * 3600)
	for _, u := range []requeststate.Use{later, sooner} {
		u.Attempt = rand.Text()
		require.ErrorIs(t, m.Consume(t.Context(), u), requeststate.ErrStale)
	}
}

// Under steady traffic ids that expire make room in place.
func TestMemoryAllocations(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates; nothing is counted")
		return
	}
	clock := &at{}
	clock.unix.Store(1_800_000_000)
	m := newMemory(t, replay.WithCapacity(2000), replay.WithClock(clock.now))
	u := use(m, time.Time{})
	ids := make([]string, 30_000)
	for i := range ids {
		ids[i] = rand.Text()
	}
	ctx, n := t.Context(), 0
	spend := func() { // ten a second, of which each is kept for a hundred: a thousand at a time
		for range 10_000 {
			if n%10 == 0 {
				clock.unix.Add(1)
			}
			u.ID, u.ExpiresAt = ids[n], time.Unix(clock.unix.Load()+40, 0)
			n++
			if err := m.Consume(ctx, u); err != nil {
				t.Fatal(err)
			}
		}
	}
	spend() // until its room is what it needs
	require.Less(t, testing.AllocsPerRun(1, spend), 10.0, "in ten thousand calls; the runtime itself may make a few")
}

func TestMemoryOptions(t *testing.T) {
	for name, opt := range map[string]replay.Option{
		"no room": replay.WithCapacity(0), "negative": replay.WithCapacity(-1), "absurd": replay.WithCapacity(1<<31 - 1), "no clock": replay.WithClock(nil), "nil": nil,
	} {
		m, err := replay.NewMemory(opt)
		require.Error(t, err, name)
		require.Nil(t, m, name)
	}
}

// Dates at the edges of what an entry holds keep their order, and years after 2106 are never forgotten.
func TestMemoryDates(t *testing.T) {
	clock := &at{}
	m := newMemory(t, replay.WithCapacity(10), replay.WithClock(clock.now))
	clock.unix.Store(1 << 33)
	far := use(m, time.Unix(1<<34, 1))
	require.NoError(t, m.Consume(t.Context(), far))
	require.NoError(t, m.Sweep(t.Context()))
	far.Attempt = rand.Text()
	require.ErrorIs(t, m.Consume(t.Context(), far), requeststate.ErrConsumed)
	for _, endless := range []time.Time{time.Unix(math.MaxInt64, 0), time.Unix(math.MaxInt64, 1)} {
		u := use(m, endless)
		require.NoError(t, m.Consume(t.Context(), u))
		require.NoError(t, m.Sweep(t.Context()))
		u.Attempt = rand.Text()
		require.ErrorIs(t, m.Consume(t.Context(), u), requeststate.ErrConsumed)
	}
	past := use(m, time.Unix(-5, 0))
	require.NoError(t, m.Consume(t.Context(), past))
	past.Attempt = rand.Text()
	require.ErrorIs(t, m.Consume(t.Context(), past), requeststate.ErrConsumed)
}

func BenchmarkMemory(b *testing.B) {
	const live = 1 << 20
	uses := func(m *replay.Memory, n int) []requeststate.Use {
		out := make([]requeststate.Use, n)
		for i := range out {
			out[i] = use(m, time.Now().Add(time.Hour))
		}
		return out
	}
	filled := func(b *testing.B) (*replay.Memory, []requeststate.Use) {
		m := newMemory(b, replay.WithCapacity(8*live))
		us := uses(m, live)
		for _, u := range us {
			require.NoError(b, m.Consume(b.Context(), u))
		}
		return m, us
	}
	b.Run("fresh", func(b *testing.B) {
		m, _ := filled(b)
		us := uses(m, 1<<20)
		b.ResetTimer()
		for i := range b.N {
			_ = m.Consume(context.Background(), us[i%len(us)])
		}
	})
	b.Run("again", func(b *testing.B) {
		m, us := filled(b)
		for i := range us {
			us[i].Attempt = "another"
		}
		b.ResetTimer()
		for i := range b.N {
			_ = m.Consume(context.Background(), us[i%len(us)])
		}
	})
	b.Run("parallel", func(b *testing.B) {
		m, us := filled(b)
		for i := range us {
			us[i].Attempt = "another"
		}
		var next atomic.Int64
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for i := next.Add(1 << 17); pb.Next(); i++ {
				_ = m.Consume(context.Background(), us[i%int64(len(us))])
			}
		})
	})
	b.Run("bytes", func(b *testing.B) {
		us := uses(newMemory(b), live)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := newMemory(b, replay.WithCapacity(live))
		for _, u := range us {
			u.Epoch = must(m.Epoch(context.Background()))
			_ = m.Consume(context.Background(), u)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(m.Len()), "B/id")
		runtime.KeepAlive(us)
	})
}
