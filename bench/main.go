package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 21, "how often each case takes its turn")
	slice := flag.Duration("slice", 20*time.Millisecond, "how long a turn is")
	write := flag.String("write", "", "also write the report to this `file`")
	large := flag.Bool("large", true, "fill the memory store with ten million ids, which takes a gigabyte")
	flag.Parse()
	heap := make([]byte, 64<<20) // what a server holds: with next to nothing on the heap, the collector would run all the time
	defer runtime.KeepAlive(heap)
	plan := plan{rounds: *rounds, slice: *slice, folder: filepath.Join("bench", "node"), sizes: []size{{1_000_000, 5}}}
	if *large {
		plan.sizes = append(plan.sizes, size{10_000_000, 3})
	}
	var report bytes.Buffer
	plan.run(&report)
	fmt.Print(report.String())
	if *write != "" {
		must(os.WriteFile(*write, report.Bytes(), 0o644))
	}
}

// A plan is what one run measures.
type plan struct {
	rounds int
	slice  time.Duration
	folder string // of the TypeScript case
	sizes  []size // of the memory store
}

func (p *plan) run(out *bytes.Buffer) {
	cases := subjects()
	ts, err := typescript(p.folder)
	if err == nil {
		cases = append(cases, ts)
	}
	rows := p.measure(cases)
	p.formats(out, rows)
	rust(out, rows)
	if err != nil {
		fmt.Fprintf(out, "\nThe TypeScript SDK's codec was not measured: %v.\n", err)
	}
	p.scaling(out)
	digests(out, p.rounds, p.slice)
	stores(out, p.sizes)
}
