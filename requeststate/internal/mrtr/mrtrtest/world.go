// Package mrtrtest has the attacks that the middleware of every SDK must stand, as one table. An adapter's test serves
// [World.Handle] through its SDK and calls [Run].
package mrtrtest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// World is what an attack can change behind a server's back, and what it can see of it.
type World struct {
	Ring    *requeststate.Keyring
	Sealer  requeststate.Sealer
	Logger  *slog.Logger
	Store   *Store
	Effects atomic.Int64

	question atomic.Value
	ahead    atomic.Int64  // nanoseconds that the clock is ahead
	redeemed chan struct{} // the slow tool has redeemed
	log      *buffer
}

// NewWorld returns a world for one attack.
func NewWorld(t testing.TB) *World {
	w := &World{log: &buffer{}, redeemed: make(chan struct{}, 1), Store: NewStore(t)}
	w.question.Store("1")
	w.Logger = slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ring, err := requeststate.NewKeyring(newKey(t))
	require.NoError(t, err)
	w.Ring = ring
	w.Sealer = w.NewSealer(t, requeststate.WithAudience("mrtrtest"), requeststate.AllowAnonymous())
	return w
}

// NewSealer returns a sealer of the world's keys, clock and store.
func (w *World) NewSealer(t testing.TB, opts ...requeststate.Option) requeststate.Sealer {
	opts = append(opts, requeststate.WithReplayStore(w.Store), requeststate.WithClock(w.now))
	s, err := aead.New(w.Ring, opts...)
	require.NoError(t, err)
	return s
}

// Advance moves the clock.
func (w *World) Advance(d time.Duration) { w.ahead.Add(int64(d)) }

// Log is everything logged so far.
func (w *World) Log() string { return w.log.String() }

func (w *World) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func newKey(t testing.TB) requeststate.Key {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	return key
}

// Store is a memory store that can fail and forget.
type Store struct {
	Down  atomic.Bool
	inner atomic.Pointer[replay.Memory]
}

// NewStore returns a store that works.
func NewStore(t testing.TB) *Store {
	s := &Store{}
	s.Forget(t)
	return s
}

// Forget begins a new history, as a restart would.
func (s *Store) Forget(t testing.TB) {
	m, err := replay.NewMemory()
	require.NoError(t, err)
	s.inner.Store(m)
}

// Epoch is the history's.
func (s *Store) Epoch(ctx context.Context) (string, error) {
	if s.Down.Load() {
		return "", requeststate.Unavailable(io.ErrUnexpectedEOF)
	}
	return s.inner.Load().Epoch(ctx)
}

// Consume fails while the store is down.
func (s *Store) Consume(ctx context.Context, use requeststate.Use) error {
	if s.Down.Load() {
		return requeststate.Unavailable(io.ErrUnexpectedEOF)
	}
	return s.inner.Load().Consume(ctx, use)
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
