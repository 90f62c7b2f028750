//go:build unix

package redis_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // cannot fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// fresh is a use of a new id that expires in five minutes.
func fresh(t testing.TB, s requeststate.ReplayStore) requeststate.Use {
	t.Helper()
	epoch, err := s.Epoch(context.Background())
	require.NoError(t, err)
	return newUse(epoch)
}

func newUse(epoch string) requeststate.Use {
	exp := time.Now().Truncate(time.Second).Add(5 * time.Minute)
	return requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: exp}
}

func again(u requeststate.Use) requeststate.Use { u.Attempt = random(); return u }

// naive is the toy: SET NX with a TTL, through the client's defaults. It is the negative control of every fault.
type naive struct{ client redis.UniversalClient }

func (n naive) Epoch(context.Context) (string, error) { return "none", nil }

func (n naive) Consume(ctx context.Context, use requeststate.Use) error {
	ok, err := n.client.SetNX(ctx, "naive:"+use.ID, use.Attempt, time.Until(use.ExpiresAt)).Result()
	switch {
	case err != nil:
		return requeststate.Unavailable(err)
	case !ok:
		return requeststate.ErrConsumed
	}
	return nil
}

// tally is what became of tokens that were spent before a fault and presented again after it.
type tally struct{ tried, accepted, consumed, stale, undecided int }

func (c *tally) add(err error) {
	c.tried++
	switch {
	case err == nil:
		c.accepted++
	case errors.Is(err, requeststate.ErrUnavailable):
		c.undecided++
	case errors.Is(err, requeststate.ErrConsumed):
		c.consumed++
	case errors.Is(err, requeststate.ErrStale):
		c.stale++
	}
}

// spend spends n ids and returns them.
func spend(t testing.TB, s requeststate.ReplayStore, n int) []requeststate.Use {
	t.Helper()
	uses := make([]requeststate.Use, n)
	for i := range uses {
		uses[i] = fresh(t, s)
		require.NoError(t, s.Consume(context.Background(), uses[i]))
	}
	return uses
}

// present replays spent uses.
func present(s requeststate.ReplayStore, uses []requeststate.Use) (c tally) {
	for _, u := range uses {
		c.add(s.Consume(context.Background(), again(u)))
	}
	return c
}

// unspent makes n uses that honest users hold while the fault happens.
func unspent(t testing.TB, s requeststate.ReplayStore, n int) []requeststate.Use {
	uses := make([]requeststate.Use, n)
	for i := range uses {
		uses[i] = fresh(t, s)
	}
	return uses
}

// report prints a row and fails if anything was accepted twice. forgets says that the naive store is known to lose: then it
// must, or the test could not fail.
func report(t testing.TB, row string, ours, honest, toy tally, forgets bool) {
	t.Helper()
	t.Logf("%-34s tried %d, accepted twice %d (used %d, stale %d, undecided %d); honest refused %d of %d; naive accepted %d of %d",
		row, ours.tried, ours.accepted, ours.consumed, ours.stale, ours.undecided, honest.tried-honest.accepted, honest.tried, toy.accepted, toy.tried)
	assert.Zero(t, ours.accepted, "%s: accepted twice", row)
	if forgets {
		assert.Positive(t, toy.accepted, "%s: the negative control forgot nothing", row)
	}
}
