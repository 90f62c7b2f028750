//go:build unix

package redis_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/svc"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/redisreplay"
)

// Rows 5 and 6: the server acknowledged writes that its log loses, as a slow disk or a power cut with appendfsync everysec
// does. Here the log's end is cut off.
func TestLogLosesItsEnd(t *testing.T) {
	server := svc.StartRedis(t, "--appendonly", "yes")
	store, toy := open(t, server.Client()), naive{server.Client()}
	trusting := open(t, server.Client(), redisreplay.TrustPersistence(), redisreplay.WithBuckets(1))
	spent, toys, trusted := spend(t, store, tokens/2), spend(t, toy, tokens/2), unspent(t, trusting, 1)
	held := unspent(t, store, tokens)
	log, cut := server.AOF()
	server.Wait(func() bool { before := cut; _, cut = server.AOF(); return cut == before }) // all of it is written
	spent, toys = append(spent, spend(t, store, tokens/2)...), append(toys, spend(t, toy, tokens/2)...)
	require.NoError(t, trusting.Consume(t.Context(), trusted[0]))
	server.Kill()
	require.NoError(t, os.Truncate(log, cut))
	server.Start()
	report(t, "5, 6 the log loses its end", present(store, spent), present(store, held), present(toy, toys), true)

	// What the option's documentation says.
	assert.Equal(t, 1, present(trusting, trusted).accepted, "TrustPersistence on a server that loses writes")
}
