// Package replay has the replay store in memory, for a server of one process, and is the parent of the others:
// sqlreplay for a database and redisreplay for Redis. Package replaytest is the suite that any store must pass.
//
//	store, err := replay.NewMemory()
//	sealer, err := hmac.New(ring, requeststate.WithAudience("shop"), requeststate.WithReplayStore(store))
//
// A store decides by what it remembers, never by a clock. It refuses as stale what it cannot know: a token of an earlier
// history (another epoch), or one that expires no later than something it has forgotten (the horizon).
package replay
