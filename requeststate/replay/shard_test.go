package replay

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// model is a shard as its contract has it: a map, and the time before which nobody knows.
type model struct {
	held    map[[2]uint64]entry
	horizon uint32
}

func (m *model) forget(cutoff uint32) {
	for id, e := range m.held {
		if e.exp <= cutoff {
			delete(m.held, id)
			m.horizon = max(m.horizon, e.exp)
		}
	}
}

// A shard and the model are given the same entries, with hashes that real ids do not get: few different ones, one half the
// same, all at one place of the index, at its last place. Every answer is foretold.
func TestShardAgainstAModel(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 8
	}
	for seed := range uint64(rounds) {
		for name, hash := range map[string]func(*rand.Rand) (id uint64, id2 uint32){
			"random":           func(r *rand.Rand) (uint64, uint32) { return r.Uint64(), r.Uint32() },
			"same id":          func(r *rand.Rand) (uint64, uint32) { return 1, r.Uint32() },
			"same id2":         func(r *rand.Rand) (uint64, uint32) { return r.Uint64(), math.MaxUint32 },
			"few":              func(r *rand.Rand) (uint64, uint32) { return r.Uint64N(40), uint32(r.UintN(40)) },
			"marks, one place": func(r *rand.Rand) (uint64, uint32) { return r.Uint64(), uint32(r.UintN(32)) << placeBits },
			"last place":       func(r *rand.Rand) (uint64, uint32) { return r.Uint64(), math.MaxUint32 - uint32(r.UintN(1<<16)) },
		} {
			t.Run(name, func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 1)), hash) })
		}
	}
}

func play(t *testing.T, r *rand.Rand, hash func(*rand.Rand) (uint64, uint32)) {
	limit := []int{1, 2, 5, 64, 700, placeMask}[r.IntN(6)]
	now, spread := int64(1_800_000_000), []int64{1, 100, 100_000}[r.IntN(3)]
	s, m, seen := &shard{}, &model{held: map[[2]uint64]entry{}}, []entry(nil)
	for range 3000 {
		switch r.IntN(30) {
		case 0:
			now += r.Int64N(2*spread) - spread/2 // clocks are set back, too
		case 1, 2:
			now++
		case 3:
			cutoff := cutoff(time.Unix(now, 0), margin)
			s.sweep(cutoff, limit)
			m.forget(cutoff)
		}
		var e entry
		if len(seen) > 0 && r.IntN(3) == 0 {
			e = seen[r.IntN(len(seen))]
			e.attempt += uint64(r.IntN(2))
		} else {
			e = entry{attempt: r.Uint64(), exp: seconds(time.Unix(now+1+r.Int64N(spread), 0))}
			e.id, e.id2 = hash(r)
			seen = append(seen, e)
		}
		have, room := len(s.entries), cap(s.entries)
		err := s.consume(e, limit, func() time.Time {
			kept := int64(margin)
			if have == limit {
				kept = 0
			}
			require.Equal(t, have, min(room, limit), "it cleans where there is no room")
			m.forget(cutoff(time.Unix(now, 0), kept))
			return time.Unix(now, 0)
		})
		id := [2]uint64{e.id, uint64(e.id2)}
		known, held := m.held[id]
		switch {
		case held && known.attempt == e.attempt:
			require.NoError(t, err)
		case held:
			require.Equal(t, requeststate.ErrConsumed, err)
		case e.exp <= m.horizon:
			require.Equal(t, requeststate.ErrStale, err)
		case len(m.held) == limit:
			require.Equal(t, errFull, err)
		default:
			require.NoError(t, err)
			m.held[id] = e
		}
		require.Len(t, m.held, s.len())
		require.Equal(t, m.horizon, s.horizon)
	}
}
