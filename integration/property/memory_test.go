package property

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// A memory store, played at random beside a map that forgets nothing: through growth, cleaning, sweeps and fullness no id
// is spent twice, an id that has not expired is known as such, and a fresh one is refused only where there is no room.
func TestMemoryAgainstAMap(t *testing.T) {
	const margin = 60 // seconds that the store keeps an id after its expiry, where there is room
	rapid.Check(t, func(t *rapid.T) {
		now := int64(1_800_000_000)
		capacity := rapid.SampledFrom([]int{1, 7, 100, 2047, 2048, 5000}).Draw(t, "capacity")
		store, err := replay.NewMemory(replay.WithCapacity(capacity), replay.WithClock(func() time.Time { return time.Unix(now, 0) }))
		require.NoError(t, err)
		ctx := context.Background()
		epoch, err := store.Epoch(ctx)
		require.NoError(t, err)
		spent, ids, attempts := map[string]int64{}, []string{}, 0
		alive := func(since int64) (n int) {
			for _, expires := range spent {
				if expires > since {
					n++
				}
			}
			return n
		}
		consume := func(id string, expires int64) error {
			attempts++
			return store.Consume(ctx, requeststate.Use{ID: id, Epoch: epoch, Attempt: fmt.Sprint(attempts), ExpiresAt: time.Unix(expires, 0)})
		}
		t.Repeat(map[string]func(*rapid.T){
			"fresh": func(t *rapid.T) {
				for range rapid.SampledFrom([]int{1, 5, 300, 3000}).Draw(t, "many") {
					id, expires := fmt.Sprint("id", len(ids)), now+rapid.SampledFrom([]int64{1, 60, 300}).Draw(t, "ttl")
					err := consume(id, expires)
					if err == nil {
						spent[id] = expires
						ids = append(ids, id)
						continue
					}
					require.ErrorIs(t, err, requeststate.ErrUnavailable)
					require.GreaterOrEqual(t, alive(now), capacity, "full while it is not")
					break
				}
			},
			"again": func(t *rapid.T) {
				if len(ids) == 0 {
					return
				}
				id := rapid.SampledFrom(ids).Draw(t, "id")
				err := consume(id, spent[id])
				if spent[id] > now {
					require.ErrorIs(t, err, requeststate.ErrConsumed)
				}
				require.ErrorIs(t, err, requeststate.ErrInvalid)
			},
			"time": func(t *rapid.T) { now += rapid.Int64Range(1, 200).Draw(t, "seconds") },
			"sweep": func(t *rapid.T) {
				require.NoError(t, store.Sweep(ctx))
				require.LessOrEqual(t, store.Len(), alive(now-margin))
				require.GreaterOrEqual(t, store.Len(), alive(now))
			},
		})
		require.LessOrEqual(t, store.Len(), capacity*12/10+1)
	})
}
