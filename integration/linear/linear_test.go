package linear_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/linear"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

const calls = 20_000

func background() (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

func TestMemory(t *testing.T) {
	m, err := replay.NewMemory()
	require.NoError(t, err)
	r := linear.NewRecorder(m)
	linear.Load([]*linear.Recorder{r}, calls, 16, func() (context.Context, context.CancelFunc) {
		ctx, cancel := background()
		if rand.IntN(10) == 0 {
			cancel() // undecided
		}
		return ctx, cancel
	})
	require.GreaterOrEqual(t, r.Len(), 10_000)
	assert.True(t, r.Linearizable(t))
}

// naive is SET NX with its faults: it does not know its own attempt, and forgets some of what it holds.
type naive struct {
	mu     sync.Mutex
	spent  map[string]string
	forget bool
	own    bool
}

func (n *naive) Epoch(context.Context) (string, error) { return "e", nil }

func (n *naive) Consume(_ context.Context, use requeststate.Use) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forget && rand.IntN(100) == 0 {
		delete(n.spent, use.ID)
	}
	if holder, ok := n.spent[use.ID]; ok {
		if n.own && holder == use.Attempt {
			return nil
		}
		return requeststate.ErrConsumed
	}
	n.spent[use.ID] = use.Attempt
	return nil
}

// The checker must be able to say no: to a double spend, and to a false "already used".
func TestNegativeControls(t *testing.T) {
	for name, s := range map[string]*naive{
		"forgets":                  {spent: map[string]string{}, forget: true, own: true},
		"does not know its own":    {spent: map[string]string{}},
		"correct, to be fair (ok)": {spent: map[string]string{}, own: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := linear.NewRecorder(s)
			linear.Load([]*linear.Recorder{r}, calls, 16, background)
			assert.Equal(t, s.own && !s.forget, r.Linearizable(t))
		})
	}
}

// A reply that was lost may have spent; the checker allows both, but not a second spend.
func TestUndecided(t *testing.T) {
	m, err := replay.NewMemory()
	require.NoError(t, err)
	lossy := linear.NewRecorder(lost{m})
	linear.Load([]*linear.Recorder{lossy}, calls, 8, background)
	assert.True(t, lossy.Linearizable(t))
}

// lost loses one reply in ten.
type lost struct{ *replay.Memory }

func (l lost) Consume(ctx context.Context, use requeststate.Use) error {
	err := l.Memory.Consume(ctx, use)
	if rand.IntN(10) == 0 {
		return requeststate.Unavailable(context.DeadlineExceeded)
	}
	return err
}
