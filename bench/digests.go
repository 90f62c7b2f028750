package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/internal/reqdigest"
)

// digests measures the request digest beside SHA-256 of the same bytes as they are.
func digests(out *bytes.Buffer, rounds int, slice time.Duration) {
	fmt.Fprintf(out, "\n## The request digest\n\nCanonical: it does not depend on the order of members, on spaces or on escapes. SHA-256 alone is of the bytes as they came.\n\n")
	fmt.Fprintf(out, "| arguments | ns | middle half | SHA-256 alone ns | ratio | allocs |\n|---|--:|--:|--:|--:|--:|\n")
	for _, c := range []struct {
		name string
		text json.RawMessage
	}{
		{fmt.Sprintf("%d B, the job's", len(arguments)), arguments},
		{"1 KiB", object(1 << 10)}, {"64 KiB", object(64 << 10)}, {"1 MiB", object(1 << 20)},
		{"10,000 members in reverse order", reversed(10_000)},
	} {
		var ours, floor []float64
		sum := func() {
			if _, err := reqdigest.ToolCall(tool, c.text); err != nil {
				panic(err)
			}
		}
		for range rounds {
			ours = append(ours, turn(slice, sum))
			floor = append(floor, turn(slice, func() { sha256.Sum256(c.text) }))
		}
		low, median, high := quartiles(ours)
		_, alone, _ := quartiles(floor)
		_, ratio, _ := quartiles(ratios(ours, floor))
		fmt.Fprintf(out, "| %s | %.0f | %.0f–%.0f | %.0f | %.2f | %.0f |\n", c.name, median, low, high, alone, ratio, testing.AllocsPerRun(10, sum))
	}
}

// object is about n bytes of arguments like the job's.
func object(n int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := 0; b.Len() < n-300; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(arguments)
	}
	b.WriteString(`],"n":1}`)
	return json.RawMessage(b.String())
}

func reversed(n int) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, `"member%08d":%d,`, i, rand.IntN(1000))
	}
	b.WriteString(`"z":0}`)
	return json.RawMessage(b.String())
}
