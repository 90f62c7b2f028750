package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every case opens what it seals, refuses a changed token, and the report comes out.
func TestSubjects(t *testing.T) {
	names := map[string]bool{}
	for _, s := range subjects() {
		token := s.seal()
		require.True(t, s.open(token), s.name)
		changed := []byte(token)
		changed[len(changed)-9] ^= 1
		assert.False(t, s.open(string(changed)), s.name)
		names[s.name] = true
	}
	for _, s := range subjects() {
		assert.True(t, s.floor == "" || names[s.floor], s.name)
	}
	var out bytes.Buffer
	(&plan{rounds: 1, slice: time.Millisecond, folder: "node", sizes: []size{{10_000, 2}}}).run(&out)
	for _, part := range []string{"| rs1h. (hmac.New) |", "TypeScript SDK", "## Two goroutines", "| 1 MiB |", "| 10000 | 2 |"} {
		assert.Contains(t, out.String(), part)
	}
}

// For benchstat: go test ./bench -bench . -count 10
func BenchmarkSeal(b *testing.B) {
	for _, s := range subjects() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.seal()
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, s := range subjects() {
		b.Run(s.name, func(b *testing.B) {
			token := s.seal()
			b.ReportAllocs()
			for b.Loop() {
				s.open(token)
			}
		})
	}
}
