package redisreplay

import (
	"context"
	"crypto/sha1" //nolint:gosec // the name that Redis gives to scripts
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay/replaytest"
)

var namespaces atomic.Int64

// open opens a store in a namespace of its own.
func open(t testing.TB, s *server, opts ...Option) *Store {
	t.Helper()
	ns := WithNamespace(fmt.Sprintf("test%d", namespaces.Add(1)))
	store, err := New(context.Background(), s.client(), append([]Option{ns, WithTimeout(5 * time.Second)}, opts...)...)
	require.NoError(t, err)
	return store
}

// suite is what replaytest needs to know, its clock included.
func suite(s *server, opts ...Option) (replaytest.Open, []replaytest.Option) {
	return func(t *testing.T) requeststate.ReplayStore { return open(t, s, opts...) }, []replaytest.Option{
		replaytest.WithTrials(50),
		replaytest.WithClock(func(t *testing.T, now func() time.Time) requeststate.ReplayStore {
			return open(t, s, append(opts, withClock(now))...)
		}),
		replaytest.WithPeer(func(t *testing.T, of requeststate.ReplayStore) requeststate.ReplayStore {
			return open(t, s, append(opts, WithNamespace(of.(*Store).namespace))...)
		}),
	}
}

func TestSuite(t *testing.T) {
	open, opts := suite(start(t))
	replaytest.Run(t, open, opts...)
}

func TestSuiteTrustingPersistence(t *testing.T) {
	open, opts := suite(start(t), TrustPersistence())
	replaytest.Run(t, open, opts...)
}

// counted tells how many ids the buckets hold.
type counted struct {
	*Store
	t *testing.T
}

func (c counted) Len() (n int) {
	for b := range c.buckets {
		size, err := c.client.HLen(c.t.Context(), c.key(b)).Result()
		require.NoError(c.t, err)
		if size > 0 {
			n += int(size) - 3 // the bucket's own fields
		}
	}
	return n
}

// CHURN=2000000 spends that many ids over the day.
func TestChurn(t *testing.T) {
	n := 40_000
	if text := os.Getenv("CHURN"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	s := start(t)
	replaytest.Churn(t, func(t *testing.T, now func() time.Time) replaytest.Counted {
		// Without Sweep: a bucket that is used keeps clean by itself.
		return struct{ replaytest.Counted }{counted{open(t, s, withClock(now), WithBuckets(1)), t}}
	}, n)
}

func TestScriptDigest(t *testing.T) {
	sum := sha1.Sum([]byte(script)) //nolint:gosec // as above
	assert.Equal(t, hex.EncodeToString(sum[:]), scriptSHA)
}

// The store works where nothing but approved cryptography is allowed, in which SHA-1 panics.
func TestFIPS(t *testing.T) {
	const addr = "REDISREPLAY_FIPS_ADDR"
	if at := os.Getenv(addr); at != "" {
		s := &server{t: t, addr: at}
		store := open(t, s)
		u := use(t, store)
		require.NoError(t, store.Consume(t.Context(), u))
		require.ErrorIs(t, store.Consume(t.Context(), again(u)), requeststate.ErrConsumed)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFIPS$", "-test.v")
	cmd.Env = append(os.Environ(), addr+"="+start(t).addr, "GODEBUG=fips140=only")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "--- PASS: TestFIPS")
}

func TestUnsealed(t *testing.T) {
	for _, epoch := range []string{"", ".", "1", "1.", ".x", "-1.x", "+1.x", "01.x", "64.x", "1 .x", " 1.x",
		"99999999999999999999.x"} {
		_, _, ok := unsealed(epoch, 64)
		assert.False(t, ok, "%q", epoch)
	}
	n, name, ok := unsealed(sealed(63, "a.b"), 64)
	assert.True(t, ok)
	assert.Equal(t, 63, n)
	assert.Equal(t, "a.b", name)
}

// No two ids share a field, and none is one of the bucket's own.
func TestCompact(t *testing.T) {
	id := random()
	raw, err := base64.RawURLEncoding.DecodeString(id)
	require.NoError(t, err)
	assert.Equal(t, "i"+string(raw), compact(id))
	other := id[:21] + string(id[21]+1) // the same 16 bytes to a decoder that is not strict
	seen := map[string]string{}
	for _, text := range []string{id, other, strings.ToUpper(id), strings.ToLower(id), id + " ", id + "\n", id[:21] + "\n", id[:21],
		string(raw), "i" + string(raw), "t" + id, "!e", "!w", "!h", ""} {
		field := compact(text)
		assert.NotEqual(t, byte('!'), field[0], "%q", text)
		if first, taken := seen[field]; taken {
			assert.Equal(t, first, text)
		}
		seen[field] = text
	}
}

// A full server refuses new ids, and forgets old ones all the same: the refusals end by themselves.
func TestFullServerForgets(t *testing.T) {
	s := start(t)
	now := time.Now().Truncate(time.Second)
	store := open(t, s, WithBuckets(1), withClock(func() time.Time { return now }))
	for range 100 {
		u := use(t, store)
		u.ExpiresAt = now.Add(time.Minute)
		require.NoError(t, store.Consume(t.Context(), u))
	}
	s.do("CONFIG", "SET", "maxmemory", "1")
	require.ErrorIs(t, store.Consume(t.Context(), use(t, store)), requeststate.ErrUnavailable)
	now = now.Add(time.Hour)
	require.NoError(t, store.Sweep(t.Context()))
	assert.Zero(t, counted{store, t}.Len())
}

// use is a use of a new id that expires in five minutes.
func use(t testing.TB, s *Store) requeststate.Use {
	t.Helper()
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	exp := time.Now().Truncate(time.Second).Add(5 * time.Minute)
	return requeststate.Use{ID: random(), Epoch: epoch, Attempt: random(), ExpiresAt: exp}
}

func again(u requeststate.Use) requeststate.Use { u.Attempt = random(); return u }
