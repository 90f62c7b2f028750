package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 21, "how often each case takes its turn")
	slice := flag.Duration("slice", 20*time.Millisecond, "how long a turn is")
	write := flag.String("write", "", "also write the report to this `file`")
	flag.Parse()
	var report bytes.Buffer
	run(&report, *rounds, *slice)
	fmt.Print(report.String())
	if *write != "" {
		must(os.WriteFile(*write, report.Bytes(), 0o644))
	}
}

// A row is what was measured of a case: nanoseconds by round.
type row struct {
	subjectOf
	sealNS, openNS         []float64
	sealAllocs, openAllocs float64
	chars                  int
}

func run(out *bytes.Buffer, rounds int, slice time.Duration) {
	var rows []*row
	for _, s := range subjects() {
		token := s.seal()
		if !s.open(token) {
			panic(s.name + ": does not open its own token")
		}
		rows = append(rows, &row{subjectOf: s, chars: len(token),
			sealAllocs: testing.AllocsPerRun(100, func() { s.seal() }),
			openAllocs: testing.AllocsPerRun(100, func() { s.open(token) })})
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	for range rounds {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			r := rows[i]
			r.sealNS = append(r.sealNS, turn(slice, func() { r.seal() }))
			token := r.seal()
			r.openNS = append(r.openNS, turn(slice, func() { r.open(token) }))
		}
	}
	print(out, rows, rounds, slice)
	scaling(out, rounds, slice)
}

// turn runs f for about d and returns nanoseconds a run.
func turn(d time.Duration, f func()) float64 {
	n := 0
	start := time.Now()
	for time.Since(start) < d {
		for range 32 {
			f()
		}
		n += 32
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// quartiles returns the median and the middle half.
func quartiles(v []float64) (low, median, high float64) {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/4], v[len(v)/2], v[len(v)*3/4]
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func print(out *bytes.Buffer, rows []*row, rounds int, slice time.Duration) {
	fmt.Fprintf(out, "# Performance\n\n")
	fmt.Fprintf(out, "Written by `make bench`: %d rounds of %v, all cases in turn, %s, %s/%s, %d cores. The machine was not idle; ratios of one run are\n"+
		"what counts. Job: %d bytes of state, id, iat, exp, principal, canonical digest of a tools/call with %d bytes of arguments.\n\n",
		rounds, slice, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), len(state), len(arguments))
	fmt.Fprintf(out, "| case | seal ns | middle half | open ns | middle half | of | seal ratio | open ratio | allocs | chars | lacks |\n")
	fmt.Fprintf(out, "|---|--:|--:|--:|--:|---|--:|--:|--:|--:|---|\n")
	for _, r := range rows {
		sl, sm, sh := quartiles(r.sealNS)
		ol, om, oh := quartiles(r.openNS)
		of, sr, or := "", "", ""
		if i := slices.IndexFunc(rows, func(f *row) bool { return f.name == r.floor }); i >= 0 {
			of = r.floor
			_, s, _ := quartiles(ratios(r.sealNS, rows[i].sealNS))
			_, o, _ := quartiles(ratios(r.openNS, rows[i].openNS))
			sr, or = fmt.Sprintf("%.2f", s), fmt.Sprintf("%.2f", o)
		}
		fmt.Fprintf(out, "| %s | %.0f | %.0f–%.0f | %.0f | %.0f–%.0f | %s | %s | %s | %.0f/%.0f | %d | %s |\n",
			r.name, sm, sl, sh, om, ol, oh, of, sr, or, r.sealAllocs, r.openAllocs, r.chars, r.lacks)
	}
}

// scaling compares two goroutines with one.
func scaling(out *bytes.Buffer, rounds int, slice time.Duration) {
	fmt.Fprintf(out, "\nTwo goroutines, calls a second over one's (two is the most that two cores can give):\n\n| case | seal | open |\n|---|--:|--:|\n")
	for _, s := range subjects() {
		if !strings.HasPrefix(s.name, "rs1") {
			continue
		}
		token := s.seal()
		seal, open := []float64{}, []float64{}
		for range rounds {
			seal = append(seal, speedup(slice, func() { s.seal() }))
			open = append(open, speedup(slice, func() { s.open(token) }))
		}
		_, a, _ := quartiles(seal)
		_, b, _ := quartiles(open)
		fmt.Fprintf(out, "| %s | %.2f | %.2f |\n", s.name, a, b)
	}
}

func speedup(d time.Duration, f func()) float64 {
	one := turn(d, f)
	done := make(chan float64, 2)
	for range 2 {
		go func() { done <- turn(d, f) }()
	}
	return one/(<-done) + one/(<-done)
}
