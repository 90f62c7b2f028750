package replay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

const (
	// DefaultCapacity is how many ids a Memory has room for, unless [WithCapacity] says otherwise.
	DefaultCapacity = 1 << 20
	// maxCapacity keeps a mistyped capacity from taking the machine's memory at once.
	maxCapacity = 1 << 30
	// shardIDs is the least number of ids per shard of a store that has several. It is what bounds the work of one call:
	// a shard is small enough to be rebuilt whole in some microseconds. None ever holds 2,048.
	shardIDs = 1024
	// margin is how many seconds after its expiry an id is kept where there is room, so that a clock somewhat ahead of the
	// sealers' costs nobody a redemption. Safety does not hang on it: the horizon refuses what was forgotten.
	margin = 60
)

var errFull = requeststate.Unavailable(errors.New("replay: memory store is full of ids that have not expired"))

// A Memory is a [requeststate.ReplayStore] in this process's memory, for a server that runs as one process. A restart
// forgets all: the random epoch changes with it, so tokens of the time before are refused as stale and none is spent
// again. Two processes with a Memory each refuse each other's tokens for the same reason; replicas need a shared store.
//
// It takes 30 to 40 bytes per id while it fills, in tables that shrink once ids fill no more than a third of them, and 64 bytes
// per 1,024 ids of capacity from the start. It starts no goroutine; a call does a bounded amount of cleaning, of one shard
// at the most, and no lock is shared by all callers.
type Memory struct {
	epoch  string
	now    func() time.Time
	limit  int // ids per shard
	hash   hasher
	shards []shard
}

var _ requeststate.ReplayStore = (*Memory)(nil)

// An Option configures [NewMemory].
type Option func(*Memory) error

// WithCapacity sets how many unexpired ids the store has room for: n at least, if not chosen by somebody who knows the
// store's random seed, and 1.2 n at most (exactly n below 2,048). The default is [DefaultCapacity]. A full store refuses
// new ids with [requeststate.ErrUnavailable]; it never gives up a live one, and still knows those that it has.
func WithCapacity(n int) Option {
	return func(m *Memory) error {
		if n < 1 || n > maxCapacity {
			return fmt.Errorf("replay: capacity of %d ids is not between 1 and %d", n, maxCapacity)
		}
		count := max(1, n/shardIDs)
		m.limit = n
		if count > 1 {
			// Ids fall into shards by chance. Six standard deviations of room make it improbable, at one in a hundred
			// million per shard, that one is full while the store is not.
			mean := n/count + 1
			m.limit = mean + 6*isqrt(mean)
		}
		m.shards = make([]shard, count)
		return nil
	}
}

// WithClock sets the clock that tells when an id may be forgotten. The default is time.Now. Whatever it says, no id is
// spent twice. A clock that ran ahead costs redemptions: once set right, tokens that expire no later than what the store
// forgot meanwhile are stale to it, until their time has passed or the store is made anew.
func WithClock(now func() time.Time) Option {
	return func(m *Memory) error {
		if now == nil {
			return errors.New("replay: WithClock needs a clock")
		}
		m.now = now
		return nil
	}
}

// NewMemory returns an empty store with an epoch of its own, 128 random bits. An error means that an option is wrong.
func NewMemory(opts ...Option) (*Memory, error) {
	var epoch [16]byte
	_, _ = rand.Read(epoch[:]) // cannot fail: it ends the program if the system has no randomness
	m := &Memory{epoch: base64.RawURLEncoding.EncodeToString(epoch[:]), now: time.Now, hash: newHasher()}
	for _, opt := range append([]Option{WithCapacity(DefaultCapacity)}, opts...) {
		if opt == nil {
			return nil, errors.New("replay: nil Option")
		}
		if err := opt(m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Epoch returns the random name that the store was created with. It never fails.
func (m *Memory) Epoch(context.Context) (string, error) { return m.epoch, nil }

// Consume spends use.ID, as [requeststate.ReplayStore] says. It does not block on anything but a shard's lock. It returns
// [requeststate.ErrUnavailable] if ctx has ended before the call or if the store is full, and an ordinary error for a use
// without id, attempt or expiry.
func (m *Memory) Consume(ctx context.Context, use requeststate.Use) error {
	if err := ctx.Err(); err != nil {
		return requeststate.Unavailable(err)
	}
	// Two uses without an attempt would take each other for the same one and both succeed.
	if use.ID == "" || use.Attempt == "" || use.ExpiresAt.IsZero() {
		return errors.New("replay: a use needs an id, an attempt and an expiry")
	}
	// The zero Memory has no epoch and no shards: everything is stale to it.
	if use.Epoch != m.epoch || m.epoch == "" {
		return requeststate.ErrStale
	}
	e := m.hash.entry(use)
	return m.shard(e).consume(e, m.limit, m.now)
}

// Sweep forgets every id that expired more than a minute ago, and gives memory back where no more than a third of it is in
// use. Consume cleans as it goes, so only a store whose traffic has ceased gains by it. It stops early, with ctx's error,
// when ctx ends.
func (m *Memory) Sweep(ctx context.Context) error {
	for i := range m.shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.shards[i].sweep(cutoff(m.now(), margin), m.limit)
	}
	return nil
}

// Len returns the number of ids held, among them expired ones that no call has cleaned yet. It visits every shard, so
// it is for metrics, not for each request.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		n += m.shards[i].len()
	}
	return n
}

// shard picks a shard by the id alone, never by the expiry: the same id with another expiry is still the same id.
func (m *Memory) shard(e entry) *shard {
	i, _ := bits.Mul64(e.id, uint64(len(m.shards)))
	return &m.shards[i]
}

// isqrt is the square root of n, rounded down.
func isqrt(n int) int {
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}
