package requeststate_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

var (
	ctx     = context.Background()
	started = time.Unix(1_800_000_000, 0)
	alice   = requeststate.Principal("https://issuer.example", "alice")
	bob     = requeststate.Principal("https://issuer.example", "bob")
	deploy  = requeststate.ToolCall("deploy", json.RawMessage(`{"env":"staging"}`))
	destroy = requeststate.ToolCall("destroy", json.RawMessage(`{"env":"staging"}`))
	once    = requeststate.SingleUse()
	redeem  = requeststate.SingleRedemption()
)

type bindings = []requeststate.Binding

// testKey is a key that is the same in every run.
func testKey(t testing.TB, name string) requeststate.Key {
	secret := sha256.Sum256([]byte("test key " + name))
	key, err := requeststate.NewKey(secret[:])
	require.NoError(t, err)
	return key
}

func testRing(t testing.TB, names ...string) *requeststate.Keyring {
	var keys []requeststate.Key
	for _, name := range names {
		keys = append(keys, testKey(t, name))
	}
	ring, err := requeststate.NewKeyring(keys[0], keys[1:]...)
	require.NoError(t, err)
	return ring
}

type newSealer func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)

// formats are the built-in binary formats. Tests of rules that hold for every format walk them.
var formats = map[string]newSealer{"hmac": hmac.New, "aead": aead.New, "xchacha": aead.NewXChaCha20Poly1305}

// clock is a settable clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: started} }

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) add(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

// hmacSealer is a sealer for the audience "svc" with a clock and a memory store, and what opts say.
func hmacSealer(t testing.TB, c *clock, opts ...requeststate.Option) requeststate.Sealer {
	store, err := replay.NewMemory(replay.WithClock(c.Now))
	require.NoError(t, err)
	opts = append([]requeststate.Option{requeststate.WithAudience("svc"), requeststate.WithClock(c.Now), requeststate.WithReplayStore(store)}, opts...)
	s, err := hmac.New(testRing(t, "a"), opts...)
	require.NoError(t, err)
	return s
}

func mustSeal(t testing.TB, s requeststate.Sealer, state string, opts ...requeststate.SealOption) string {
	t.Helper()
	token, err := s.Seal(ctx, []byte(state), opts...)
	require.NoError(t, err)
	return token
}

func mustOpen(t testing.TB, s requeststate.Sealer, token string, opts ...requeststate.OpenOption) *requeststate.Opened {
	t.Helper()
	o, err := s.Open(ctx, token, opts...)
	require.NoError(t, err, reasonOf(err))
	return o
}

func reasonOf(err error) string {
	var e *requeststate.Error
	if errors.As(err, &e) {
		return e.Reason()
	}
	return ""
}

// requireReason fails unless err is the one rejection with that reason.
func requireReason(t testing.TB, want, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, reasonOf(want), reasonOf(err), "%v", err)
	require.ErrorIs(t, err, requeststate.ErrInvalid)
	require.NotErrorIs(t, err, requeststate.ErrUnavailable)
	require.Equal(t, "requeststate: invalid or expired token", err.Error())
}

// fakeStore does what its fields say and counts.
type fakeStore struct {
	epoch   func() (string, error)
	consume func(requeststate.Use) error
	mu      sync.Mutex
	epochs  int
	uses    []requeststate.Use
}

func (f *fakeStore) Epoch(context.Context) (string, error) {
	f.mu.Lock()
	f.epochs++
	f.mu.Unlock()
	if f.epoch == nil {
		return "epoch", nil
	}
	return f.epoch()
}

func (f *fakeStore) Consume(_ context.Context, use requeststate.Use) error {
	f.mu.Lock()
	f.uses = append(f.uses, use)
	f.mu.Unlock()
	if f.consume == nil {
		return nil
	}
	return f.consume(use)
}
