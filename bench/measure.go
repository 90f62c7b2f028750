package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A row is what was measured of a case: nanoseconds by round.
type row struct {
	subjectOf
	sealNS, openNS         []float64
	sealAllocs, openAllocs float64
}

// measure has all cases take turns.
func (p *plan) measure(cases []subjectOf) (rows []*row) {
	for _, s := range cases {
		r := &row{subjectOf: s}
		if s.timed == nil {
			token := s.seal()
			if !s.open(token) {
				panic(s.name + ": does not open its own token")
			}
			r.chars = len(token)
			r.sealAllocs = testing.AllocsPerRun(100, func() { s.seal() })
			r.openAllocs = testing.AllocsPerRun(100, func() { s.open(token) })
		}
		rows = append(rows, r)
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	for range p.rounds {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			r := rows[i]
			if r.timed != nil {
				r.sealNS = append(r.sealNS, r.timed("seal", p.slice))
				r.openNS = append(r.openNS, r.timed("open", p.slice))
				continue
			}
			r.sealNS = append(r.sealNS, turn(p.slice, func() { r.seal() }))
			token := r.seal()
			r.openNS = append(r.openNS, turn(p.slice, func() { r.open(token) }))
		}
	}
	return rows
}

// turn runs f for about d and returns nanoseconds a run.
func turn(d time.Duration, f func()) float64 {
	n := 0
	start := time.Now()
	for step := 1; time.Since(start) < d; step = min(2*step, 32) { // one run may take longer than d
		for range step {
			f()
		}
		n += step
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
