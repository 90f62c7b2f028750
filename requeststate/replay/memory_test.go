package replay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

func newMemory(t testing.TB, opts ...replay.Option) *replay.Memory {
	t.Helper()
	m, err := replay.NewMemory(opts...)
	require.NoError(t, err)
	return m
}

func TestMemoryPassesTheSuite(t *testing.T) {
	clocked := func(t *testing.T, now func() time.Time) requeststate.ReplayStore {
		return newMemory(t, replay.WithClock(now))
	}
	peer := func(_ *testing.T, s requeststate.ReplayStore) requeststate.ReplayStore { return s }
	replaytest.Run(t, func(t *testing.T) requeststate.ReplayStore { return newMemory(t) },
		replaytest.WithClock(clocked), replaytest.WithPeer(peer))
}
