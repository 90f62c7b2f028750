package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
)

// formats prints every case, and ours against their floors.
func (p *plan) formats(out *bytes.Buffer, rows []*row) {
	fmt.Fprintf(out, `# Performance

Written by `+"`make bench`"+`, all of it in one run: %d rounds of %v, the cases in a new random order in each. Figures are medians of the
rounds, with the middle half; a ratio is the median of the rounds' ratios. %s, %s/%s, %d cores, not idle: the ratios are what counts.

## The job

A state of %d bytes, an id, iat and exp, a principal of two parts, and the canonical digest of a tools/call with %d bytes of arguments. Sealing
makes a token of it, opening checks all of it. A floor is the same primitives over the same bytes (the digests and MACs of the two tags, a MAC
or an AEAD, base64) in one goroutine with its own buffers, and nothing else.

`, p.rounds, p.slice, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), len(state), len(arguments))
	fmt.Fprint(out, "| case | seal ns | open ns | of | seal ratio | open ratio | allocs | chars | lacks |\n|---|--:|--:|---|--:|--:|--:|--:|---|\n")
	for _, r := range rows {
		of, seal, open := "", "", ""
		if i := slices.IndexFunc(rows, func(f *row) bool { return f.name == r.floor }); i >= 0 {
			of = r.floor
			seal = spread("%.2f", ratios(r.sealNS, rows[i].sealNS))
			open = spread("%.2f", ratios(r.openNS, rows[i].openNS))
		}
		allocs := fmt.Sprintf("%.0f/%.0f", r.sealAllocs, r.openAllocs)
		if r.timed != nil {
			allocs = ""
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %d | %s |\n", r.name, spread("%.0f", r.sealNS), spread("%.0f", r.openNS),
			of, seal, open, allocs, r.chars, r.lacks)
	}
}

// spread is the median and, in brackets, the middle half.
func spread(format string, v []float64) string {
	low, median, high := quartiles(v)
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median, low, high)
}
