package reqdigest

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConcurrent shares the pool between goroutines.
func TestConcurrent(t *testing.T) {
	inputs := [][]byte{[]byte(arguments198), nested(50), shuffledKeys(100, "k"), []byte(`{"a":`),
		[]byte(`{"b":"\u00e9","a":1.50}`)}
	want := make([][32]byte, len(inputs))
	for i, in := range inputs {
		want[i], _ = ToolCall("t", in)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				got, _ := ToolCall("t", inputs[i%len(inputs)])
				assert.Equal(t, want[i%len(inputs)], got)
			}
		})
	}
	wg.Wait()
}

// TestAllocations guards the hot path: nothing is allocated once the pool is warm.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		return // see raceEnabled
	}
	params := []byte(`{"name":"deploy","_meta":{"b":1,"a":2},"arguments":` + arguments198 + `}`)
	arguments := map[string]string{"language": "en", "style": "terse", "topic": "deploys"}
	for name, f := range map[string]func() error{
		"ToolCall":     func() error { _, err := ToolCall("deploy", []byte(arguments198)); return err },
		"Sum":          func() error { _, err := Sum("tools/call", params); return err },
		"absent":       func() error { _, err := Sum("ping", nil); return err },
		"PromptGet":    func() error { _, err := PromptGet("review", arguments); return err },
		"ResourceRead": func() error { _, err := ResourceRead("file:///a"); return err },
		"63 members":   func() error { _, err := ToolCall("deploy", benchInputs[len(benchInputs)-1].input); return err },
		"64 KiB":       func() error { _, err := ToolCall("deploy", benchInputs[2].input); return err },
	} {
		require.NoError(t, f())
		assert.Zero(t, testing.AllocsPerRun(100, func() { _ = f() }), name)
	}
}

// TestMemory: work space grows with the size alone, not with size times depth, and a huge one is not kept.
func TestMemory(t *testing.T) {
	fill := strings.Repeat("x", 1<<20)
	deep := bytes.Replace(nested(998), []byte(`:0,"b"`), []byte(`:"`+fill+`","b"`), 1)
	require.Greater(t, len(deep), 1<<20)
	s := new(scratch)
	require.NoError(t, s.toolCall("t", deep))
	assert.Equal(t, len(s.buf), len(s.canonical()))
	assert.Less(t, s.size(), 4*len(deep))

	members := keys(100_000, "")
	s = new(scratch)
	require.NoError(t, s.toolCall("t", members))
	s.canonical()
	assert.Less(t, s.size(), 16*len(members))

	require.Greater(t, s.size(), maxKept)
	s.put()
	_, err := ToolCall("t", members)
	require.NoError(t, err)
	for range 100 {
		assert.LessOrEqual(t, get(0).size(), maxKept)
	}
}

// TestTooLarge needs no memory for its input, which is refused unread; the race detector would touch it.
func TestTooLarge(t *testing.T) {
	if raceEnabled || runtime.GOOS != "linux" {
		return
	}
	in := make([]byte, maxInput+1)
	_, err := ToolCall("t", in)
	assert.Equal(t, &Error{-1, tooLarge}, err)
	_, err = Sum("tools/call", in)
	assert.Equal(t, &Error{-1, tooLarge}, err)
}
