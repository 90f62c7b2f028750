package requeststate_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// job is the load of the benchmarks: a 64-byte state, a principal of two parts, 198 bytes of arguments.
var job = struct {
	state     []byte
	iss, sub  string
	arguments json.RawMessage
}{
	state: []byte(`{"step":"confirm","env":"production","nonce":"0123456789abcdef"}`),
	iss:   "https://auth.example.com", sub: "auth0|6543210fedcba98765",
	arguments: json.RawMessage(`{"service":"checkout","version":"2026.7.28","env":"production","replicas":12,"regions":["eu-west-1","us-east-1"],"canary":{"percent":5,"minutes":30},"notify":true,"ticket":"OPS-48213","dry_run":false}`),
}

func jobSealer(t testing.TB, newSealer newSealer) requeststate.Sealer {
	s, err := newSealer(testRing(t, "a"), requeststate.WithAudience("deploy.example"))
	require.NoError(t, err)
	return s
}

// Allocations are counted here and not time: they are the same on every machine.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates; nothing is counted")
		return
	}
	for name, want := range map[string][2]float64{"hmac": {2, 3}, "aead": {4, 5}, "xchacha": {2, 3}} {
		s := jobSealer(t, formats[name])
		token := mustSeal(t, s, string(job.state), requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments))
		seal := testing.AllocsPerRun(200, func() {
			_, _ = s.Seal(ctx, job.state, requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments))
		})
		open := testing.AllocsPerRun(200, func() {
			_, _ = s.Open(ctx, token, requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments))
		})
		require.LessOrEqual(t, seal, want[0], "%s: Seal", name)
		require.LessOrEqual(t, open, want[1], "%s: Open", name)
		require.LessOrEqual(t, len(token), 270, name)
	}
}

func BenchmarkSeal(b *testing.B) {
	for name, newSealer := range formats {
		b.Run(name, func(b *testing.B) {
			s := jobSealer(b, newSealer)
			var token string
			b.ReportAllocs()
			for b.Loop() {
				token, _ = s.Seal(ctx, job.state, requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments))
			}
			b.ReportMetric(float64(len(token)), "chars")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for name, newSealer := range formats {
		b.Run(name, func(b *testing.B) {
			s := jobSealer(b, newSealer)
			token := mustSeal(b, s, string(job.state), requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Open(ctx, token, requeststate.Principal(job.iss, job.sub), requeststate.ToolCall("deploy", job.arguments)); err != nil {
					b.Fatal(fmt.Sprint(err))
				}
			}
		})
	}
}
