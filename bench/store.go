package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// stores measures the memory store beside a sync.Map that keeps the expiry of each id and forgets nothing.
func stores(out *bytes.Buffer, sizes []int) {
	fmt.Fprintf(out, "\n## The memory store\n\nRedemptions of new ids, one goroutine; the worst call is the longest of as many that\n"+
		"came while all of the ids expired, beside the longest pause of a loop of the same length that calls nothing: what the machine does to any program.\n\n")
	fmt.Fprintf(out, "| live ids | ns a redemption | bytes an id | worst call | over 1 ms | worst pause | over 1 ms | sync.Map ns | sync.Map bytes |\n"+
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, n := range sizes {
		ns, size, calls := memory(n)
		var pauses longest
		u := uses{}
		for range n {
			_ = u.next(time.Time{})
			began := time.Now()
			pauses.add(time.Since(began))
		}
		mapNS, mapSize := syncMap(n)
		fmt.Fprintf(out, "| %d | %.0f | %.0f | %v | %d | %v | %d | %.0f | %.0f |\n", n, ns, size,
			calls.worst.Round(time.Microsecond), calls.over, pauses.worst.Round(time.Microsecond), pauses.over, mapNS, mapSize)
	}
}

// uses makes uses that differ in their ids. Making one takes no part in the times.
type uses struct {
	n     uint64
	epoch string
}

func (u *uses) next(expires time.Time) requeststate.Use {
	u.n++
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:], u.n*0x9e3779b97f4a7c15) // spread like random ones
	binary.LittleEndian.PutUint64(id[8:], u.n)
	name := base64.RawURLEncoding.EncodeToString(id[:])
	return requeststate.Use{ID: name, Epoch: u.epoch, Attempt: name, ExpiresAt: expires}
}

// longest is the worst of many durations, and how many were over a millisecond.
type longest struct {
	worst time.Duration
	over  int
}

func (l *longest) add(d time.Duration) {
	l.worst = max(l.worst, d)
	if d > time.Millisecond {
		l.over++
	}
}

func memory(n int) (ns, size float64, calls longest) {
	var ahead atomic.Int64
	start := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	ctx := context.Background()
	before := heap()
	s, err := replay.NewMemory(replay.WithClock(clock), replay.WithCapacity(n+n/4))
	must(err)
	u := uses{}
	u.epoch, err = s.Epoch(ctx)
	must(err)
	ns = timed(n, func(i int) requeststate.Use { return u.next(clock().Add(time.Minute)) },
		func(use requeststate.Use) { must(s.Consume(ctx, use)) })
	size = float64(heap()-before) / float64(n)
	ahead.Store(int64(3 * time.Minute)) // all expire at once
	for range n {
		use := u.next(clock().Add(time.Minute))
		began := time.Now()
		must(s.Consume(ctx, use))
		calls.add(time.Since(began))
	}
	runtime.KeepAlive(s)
	return ns, size, calls
}

func syncMap(n int) (ns, size float64) {
	before := heap()
	var m sync.Map
	u := uses{}
	expires := time.Unix(1_800_000_000, 0)
	ns = timed(n, func(int) requeststate.Use { return u.next(expires) }, func(use requeststate.Use) {
		if _, again := m.LoadOrStore(use.ID, use.ExpiresAt.Unix()); again {
			panic("an id twice")
		}
	})
	size = float64(heap()-before) / float64(n)
	runtime.KeepAlive(&m)
	return ns, size
}

// timed makes uses in batches and measures do alone, in nanoseconds a use.
func timed(n int, next func(int) requeststate.Use, do func(requeststate.Use)) float64 {
	const batch = 1000
	made := make([]requeststate.Use, batch)
	var spent time.Duration
	for i := 0; i < n; i += batch {
		for j := range made {
			made[j] = next(i + j)
		}
		began := time.Now()
		for _, use := range made {
			do(use)
		}
		spent += time.Since(began)
	}
	return float64(spent.Nanoseconds()) / float64(n)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
