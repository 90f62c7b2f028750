package requeststate

import (
	"context"
	"time"
)

// A ReplayStore remembers what was spent. Every implementation must pass [replaytest.Run]. A store that answers from a
// stale copy (an asynchronous replica, an eventually consistent table) is not one: Consume is linearizable.
//
// Package replay has the memory store; sqlreplay and redisreplay are below it.
//
// [replaytest.Run]: https://pkg.go.dev/github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest#Run
type ReplayStore interface {
	// Epoch names the store's current history, in 1 to 255 bytes. It is sealed into each single-use token. The answer may
	// come from a cache: Consume compares it.
	Epoch(ctx context.Context) (string, error)

	// Consume spends use.ID at most once. It returns
	//
	//   - nil: spent by this call, now;
	//   - [ErrConsumed]: spent before, by another attempt;
	//   - [ErrStale]: the store cannot know: use.Epoch is not its history, or it has already forgotten an id that expired
	//     as late as use.ExpiresAt;
	//   - any other error: undecided; the effect must not run. [Unavailable] wraps one.
	//
	// It is safe for concurrent use, and it never asks a clock whether use has expired: that is the sealer's check.
	Consume(ctx context.Context, use Use) error
}

// A Use is one attempt to spend an id.
type Use struct {
	// ID is what is spent: the token's id under [SingleUse], the flow's under [SingleRedemption]. It is authenticated,
	// base64url, 22 characters, and case matters.
	ID string
	// Epoch is what the store's Epoch said when the flow began.
	Epoch string
	// Attempt is random for every call of Consume: a client library's retry inside one call recognises its own write
	// by it. It is 22 characters of base64url.
	Attempt string
	// ExpiresAt is when the last token that could spend ID expires, in whole seconds. The store remembers ID until
	// then at least.
	ExpiresAt time.Time
}
