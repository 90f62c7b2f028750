package redisreplay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

// mutate runs the rest of the test with a script in which old is replaced. A new server does not know the digest, so it
// is always sent the text.
func mutate(t *testing.T, old, replacement string) {
	t.Helper()
	original := script
	require.Equal(t, 1, strings.Count(script, old), old)
	script = strings.Replace(script, old, replacement, 1)
	t.Cleanup(func() { script = original })
}

// Each check of the script is dropped once, and the suite is red.
func TestSuiteCatchesMutations(t *testing.T) {
	for name, m := range map[string]struct{ old, new string }{
		"an id that is held":  {"if held then", "if false then"},
		"epoch":               {"if ARGV[5] ~= epoch then", "if false then"},
		"horizon":             {"if exp <= horizon then", "if false then"},
		"the horizon rises":   {"if exp > horizon then horizon = exp end", ""},
		"the horizon is kept": {"redis.call('HSET', key, '!h', string.format('%.0f', horizon))", ""},
		"own attempt":         {"== ARGV[7] then", "== ARGV[7] and false then"},
		"another's attempt":   {"== ARGV[7] then", "~= '' then"},
		"live ids are kept":   {"if exp <= now - margin then", "if true then"},
	} {
		t.Run(name, func(t *testing.T) {
			mutate(t, m.old, m.new)
			open, opts := suite(start(t))
			failed := replaytest.Failures(t, open, append(opts, replaytest.WithTrials(5))...)
			assert.NotEmpty(t, failed)
			t.Logf("caught by %d checks", len(failed))
		})
	}
}

// Without the comparison of identities a restart from an older snapshot reopens what was spent after it; with it
// everything is stale.
func TestRestartFromOlderSnapshot(t *testing.T) {
	for name, guarded := range map[string]bool{"identity compared": true, "identity dropped": false} {
		t.Run(name, func(t *testing.T) {
			if !guarded {
				mutate(t, "or head[2] ~= who", "")
			}
			s := start(t)
			store := open(t, s, WithBuckets(1))
			u := use(t, store)
			s.do("SAVE")
			require.NoError(t, store.Consume(t.Context(), u))
			s.kill()
			s.run()
			err := store.Consume(t.Context(), again(u))
			if guarded {
				assert.ErrorIs(t, err, requeststate.ErrStale)
			} else {
				assert.NoError(t, err, "spent twice, which the identity is there for")
			}
		})
	}
}

// With TrustPersistence and a log that loses nothing an honest user does not notice a restart.
func TestTrustPersistence(t *testing.T) {
	s := start(t, "--appendonly", "yes", "--appendfsync", "always")
	store := open(t, s, TrustPersistence())
	spent, held := use(t, store), use(t, store)
	require.NoError(t, store.Consume(t.Context(), spent))
	s.kill()
	s.run()
	require.ErrorIs(t, store.Consume(t.Context(), again(spent)), requeststate.ErrConsumed)
	require.NoError(t, store.Consume(t.Context(), held))
}

// The cached epoch is asked for again after a new connection, and when it is old.
func TestEpochIsRefreshed(t *testing.T) {
	s := start(t)
	store := open(t, s, WithBuckets(1))
	first := use(t, store).Epoch
	s.do("FLUSHALL")
	assert.Equal(t, first, use(t, store).Epoch, "from the cache")
	store.cache[0].Load().at = time.Now().Add(-fresh)
	second := use(t, store).Epoch
	assert.NotEqual(t, first, second, "an old one")
	s.do("FLUSHALL")
	s.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	require.NoError(t, store.client.Ping(t.Context()).Err())
	third := use(t, store).Epoch
	assert.NotEqual(t, second, third, "a new connection")
	s.do("FLUSHALL")
	u := requeststate.Use{ID: random(), Epoch: third, Attempt: random(), ExpiresAt: time.Now().Add(time.Minute)}
	require.ErrorIs(t, store.Consume(t.Context(), u), requeststate.ErrStale)
	assert.NotEqual(t, third, use(t, store).Epoch, "every reply")
}
