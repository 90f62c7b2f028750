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

// rust sets ours beside the official Rust SDK's codec, which is not run here.
func rust(out *bytes.Buffer, rows []*row) {
	find := func(name string) *row {
		return rows[slices.IndexFunc(rows, func(r *row) bool { return r.name == name })]
	}
	hmac, floor := find(oursHMAC), find(rawFloorName)
	// Nanoseconds, measured once on another machine: the SDK's codec with a canonical digest, and a floor like rawFloor.
	const rustSeal, rustOpen, thereSeal, thereOpen = 2090.0, 2170.0, 743.0, 810.0
	fmt.Fprintf(out, "\nThe official Rust SDK's codec is not run here. On another machine, with a canonical digest, it took %.2f and %.2f times the least of its job with the digest\n"+
		"of the arguments as they came (the first row: one MAC and no more). %s takes %s and %s times that row here: it draws an id and\n"+
		"makes two tags, which are MACs of their own, as well. To the floor that has those, the second row, it is the ratio in the table.\n", rustSeal/thereSeal, rustOpen/thereOpen, hmac.name,
		spread("%.2f", ratios(hmac.sealNS, floor.sealNS)), spread("%.2f", ratios(hmac.openNS, floor.openNS)))
}

// spread is the median and, in brackets, the middle half.
func spread(format string, v []float64) string {
	low, median, high := quartiles(v)
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median, low, high)
}
