//go:build unix

// Command overhead measures what the middleware for the official Go SDK costs end to end: two-round tool calls over
// loopback HTTP, without it and with it by turns.
//
//	go run ./integration/gosdk/overhead [-pairs 10] [-flows 2000] [-clients 16] [-drawn 4000]
//
// The server is a process of its own, so that its CPU time can be told from the clients'. First one client runs flows
// one after the other, each of a variant that is drawn at random: the ratios of the median times of a flow, once with
// the SDK's own client, which is what a caller sees, and once with one that does as little as it can. Then many of the latter
// run plain and a variant by turns, in changing order: each pair gives one ratio of CPU time and throughput; what is printed is the
// median of the ratios, and the range of their middle half.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func main() {
	pairs := flag.Int("pairs", 10, "pairs of runs")
	flows := flag.Int("flows", 2000, "flows of one run, of two requests each")
	clients := flag.Int("clients", 16, "concurrent clients")
	drawn := flag.Int("drawn", 4000, "flows of each variant, in random order")
	serving := flag.Bool("server", false, "be the server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serving {
		err = serve(ctx)
	} else {
		err = measure(ctx, os.Stdout, *drawn, *pairs, *flows, *clients)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

// variants are the servers that are compared with plain. Each is a path. Plain itself shows what is noise, and
// padded, a plain state as long as a token, what the SDK takes for carrying it.
var variants = []string{"plain", "padded", "hmac", "aead", "redeemed"}

func measure(ctx context.Context, out io.Writer, drawn, pairs, flows, clients int) error {
	server, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	sealers, err := newSealers()
	if err != nil {
		return err
	}
	for name, sealer := range map[string]requeststate.Sealer{"hmac": sealers.hmac, "aead": sealers.aead} {
		sealUS, openUS, err := alone(ctx, sealer)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: seal %.1f µs, open %.1f µs alone\n", name, sealUS, openUS)
	}
	for _, variant := range variants { // warm up
		if _, err := server.run(ctx, variant, flows/4, clients); err != nil {
			return err
		}
	}
	sdkFlow, stop, err := server.sdkFlow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, c := range []struct {
		name string
		flow func(context.Context, string) error
	}{{"the SDK's own client", sdkFlow}, {"a client that does as little as it can", server.flow}} {
		if err := random(ctx, out, c.name, c.flow, drawn); err != nil {
			return err
		}
	}
	if pairs == 0 {
		return nil
	}
	fmt.Fprintf(out, "%d pairs of %d flows, %d clients:\n", pairs, flows, clients)
	for _, variant := range variants {
		var cpu, all, throughput, plainUS []float64
		for i := range pairs {
			a, b, err := pair(ctx, server, variant, i%2 == 1, flows, clients)
			if err != nil {
				return err
			}
			cpu = append(cpu, float64(b.cpu)/float64(a.cpu))
			all = append(all, float64(b.all)/float64(a.all))
			throughput = append(throughput, float64(a.wall)/float64(b.wall))
			plainUS = append(plainUS, float64(a.cpu.Microseconds())/float64(flows))
		}
		fmt.Fprintf(out, "%-8s  CPU × %s, of the server alone × %s; throughput × %s; plain server: %s µs a flow\n",
			variant, spread(all, "%.3f"), spread(cpu, "%.3f"), spread(throughput, "%.3f"), spread(plainUS, "%.0f"))
	}
	return nil
}

// random runs drawn flows of each variant, in an order that is drawn anew, and prints their median times, each as a ratio to
// the median of plain and of plain once more together. How far these two are from 1 shows what is noise.
func random(ctx context.Context, out io.Writer, client string, flow func(context.Context, string) error, drawn int) error {
	order := make([]int, 0, drawn*(len(variants)+1))
	for i := range cap(order) {
		order = append(order, i%(len(variants)+1)) // the last is plain once more
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	times := make([][]float64, len(variants)+1)
	for _, v := range order {
		start := time.Now()
		if err := flow(ctx, variants[v%len(variants)]); err != nil {
			return err
		}
		times[v] = append(times[v], float64(time.Since(start).Nanoseconds())/1000)
	}
	fmt.Fprintf(out, "%d flows of each, one after the other, in random order, %s:\n", drawn, client)
	plain := slices.Concat(times[0], times[len(variants)])
	for v, list := range times {
		fmt.Fprintf(out, "%-8s  × %.3f of plain ± %.3f; %s µs a flow\n", variants[v%len(variants)],
			median(list)/median(plain), math.Hypot(doubt(list), doubt(plain))/median(plain), spread(list, "%.0f"))
	}
	return nil
}

// doubt is how far the median of as many flows may be off by chance, in 95 of 100 runs: half the distance of the values that
// stand √n before and behind it.
func doubt(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	k := int(math.Sqrt(float64(n)))
	return (values[min(n-1, n/2+k)] - values[max(0, n/2-k)]) / 2
}

// pair runs plain and the variant, the variant first if turned.
func pair(
	ctx context.Context, s *server, variant string, turned bool, flows, clients int,
) (plain, other cost, err error) {
	order := []struct {
		path string
		to   *cost
	}{{"plain", &plain}, {variant, &other}}
	if turned {
		slices.Reverse(order)
	}
	for _, o := range order {
		if *o.to, err = s.run(ctx, o.path, flows, clients); err != nil {
			return plain, other, err
		}
	}
	return plain, other, nil
}

// cost is what one run took: CPU time of the server, of server and clients together, and time on the clock.
type cost struct{ cpu, all, wall time.Duration }

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[n/2] + values[(n-1)/2]) / 2
}

func spread(values []float64, format string) string {
	m, n := median(values), len(values)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", m, values[n/4], values[n-1-n/4])
}
