package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// A size is how many ids a store is filled with, and how often.
type size struct{ ids, runs int }

// stores measures the memory store beside a sync.Map that keeps the expiry of each id and forgets nothing.
func stores(out *bytes.Buffer, sizes []size) {
	fmt.Fprint(out, "\n## The memory store\n\nRedemptions of new ids, one goroutine: medians of the runs, with the middle half. The worst call is the longest of as\n"+
		"many that came when all of the ids had expired and were cleaned: by the processor's time that its thread took, the kernel's included, and by the clock, which\n"+
		"also shows when the machine stood still; the worst pause is that of a loop of the same length that calls nothing, by the clock. Of those, median, least and most.\n\n"+
		"| live ids | runs | ns a redemption | bytes an id | worst call ms, processor | worst call ms, clock | worst pause ms | sync.Map ns | sync.Map bytes |\n"+
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, size := range sizes {
		var ns, bytes, cpu, clock, pauses, mapNS, mapBytes []float64
		for range size.runs {
			n, b, calls := memory(size.ids)
			ns, bytes, cpu, clock = append(ns, n), append(bytes, b), append(cpu, calls.cpu), append(clock, calls.clock)
			pauses = append(pauses, idle(size.ids).clock)
			n, b = syncMap(size.ids)
			mapNS, mapBytes = append(mapNS, n), append(mapBytes, b)
		}
		fmt.Fprintf(out, "| %d | %d | %s | %s | %s | %s | %s | %s | %s |\n", size.ids, size.runs, spread("%.0f", ns), middle("%.0f", bytes),
			extent("%.2f", cpu), extent("%.2f", clock), extent("%.2f", pauses), spread("%.0f", mapNS), middle("%.0f", mapBytes))
	}
}

// middle is the median.
func middle(format string, v []float64) string {
	_, m, _ := quartiles(v)
	return fmt.Sprintf(format, m)
}

// extent is the median with the least and the most.
func extent(format string, v []float64) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", slices.Sorted(slices.Values(v))[len(v)/2], slices.Min(v), slices.Max(v))
}

// idle is what the machine does to a loop that calls nothing.
func idle(n int) (worst longest) {
	u := uses{}
	for range n {
		_ = u.next(time.Time{})
		worst.time(func() {})
	}
	return worst
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

// longest is the worst of many calls, in milliseconds: by the clock, and of the processor's time of this thread.
type longest struct{ clock, cpu float64 }

func (l *longest) time(f func()) {
	used, began := threadTime(), time.Now()
	f()
	l.clock = max(l.clock, time.Since(began).Seconds()*1000)
	l.cpu = max(l.cpu, (threadTime()-used).Seconds()*1000)
}

func memory(n int) (ns, size float64, calls longest) {
	runtime.LockOSThread() // so that it is one thread's time
	defer runtime.UnlockOSThread()
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
		calls.time(func() { must(s.Consume(ctx, use)) })
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
