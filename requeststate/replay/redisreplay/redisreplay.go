// Package redisreplay is the replay store in Redis or Valkey, for servers of several replicas: single, Sentinel or
// Cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: addr})
//	store, err := redisreplay.New(ctx, client)
//
// # How it decides
//
// Ids are spread over buckets. A bucket is one hash without a TTL that holds the spent ids, a random epoch, and the
// identity of the server process and replication history that the epoch was drawn for. One script per call compares all
// of it, so that a spent id is found, or its epoch is gone: a restart, a flush, an eviction, a failover and both sides
// of a split brain answer [requeststate.ErrStale], never "fresh". No two clocks are compared. Each costs an honest user
// one refusal per open flow.
//
// A plain SET NX with a TTL has none of this and forgets under every one of these faults.
//
// # Settings
//
// Use maxmemory-policy noeviction; any other costs availability, not safety. Persistence is not needed. The least
// rights are
//
//	~<namespace>:* +eval +evalsha +info +hmget +hget +hset +hdel +hscan +hrandfield +unlink +time +ping +hello +client
//
// and for a Cluster +cluster|slots +asking +command, too.
//
// Redis 6.2 or later. With a Cluster client set ContextTimeoutEnabled, or calls that were given up would live on for
// the client's own timeouts.
//
// # What it cannot see
//
// An administrator's HDEL or RESTORE in a bucket; a snapshot of the server's memory that is put back; proxies that
// answer INFO themselves; replication between active servers (CRDT). After any of them delete the keys of the
// namespace.
package redisreplay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// maxInFlight bounds the calls that are under way, those that their callers gave up included. Each lives for the
// timeout at most. It is far above what a server needs to be busy, so that it is reached only by one that does not
// answer.
const maxInFlight = 1024

// fresh is how long an epoch is sealed into tokens without asking the server.
const fresh = 5 * time.Second

// A Store is a [requeststate.ReplayStore]. It is safe for concurrent use and does not close the client. A call that is
// given up leaves a goroutine behind for the rest of the timeout; there are 1,024 at most, and more calls are refused
// as undecided.
type Store struct {
	config
	client redis.UniversalClient
	cache  []atomic.Pointer[epoch] // by bucket
	dials  atomic.Int64            // connections made: each may lead to a server with another history
	slots  chan struct{}
}

// epoch is what a bucket's epoch was.
type epoch struct {
	name  string
	at    time.Time
	dials int64
}

var _ requeststate.ReplayStore = (*Store)(nil)

// New returns a store over client, after checking that the server lets it work: the rights that are missing are named
// in the error. It keeps ctx for the checks alone.
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Store, error) {
	c := config{namespace: DefaultNamespace, buckets: DefaultBuckets, timeout: DefaultTimeout, logger: slog.Default()}
	for _, opt := range opts {
		if err := opt(&c); err != nil {
			return nil, err
		}
	}
	if client == nil {
		return nil, errors.New("redisreplay: no client")
	}
	s := &Store{config: c, cache: make([]atomic.Pointer[epoch], c.buckets), slots: make(chan struct{}, maxInFlight)}
	if err := s.connect(ctx, client); err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Epoch names a bucket, drawn at random, and its epoch. It answers from a cache that every reply refreshes; the server
// is asked when the cache is five seconds old, and after a new connection was made.
func (s *Store) Epoch(ctx context.Context) (string, error) {
	n := mrand.IntN(s.buckets)
	if e := s.cache[n].Load(); e != nil && time.Since(e.at) < fresh && e.dials == s.dials.Load() {
		return sealed(n, e.name), nil
	}
	r, err := s.call(ctx, n, "open")
	if err != nil {
		return "", err
	}
	return sealed(n, r.epoch), nil
}

// Consume spends use.ID. It returns by ctx's deadline or the timeout, whichever is earlier, and at once when ctx is
// cancelled; the outcome is then undecided.
func (s *Store) Consume(ctx context.Context, use requeststate.Use) error {
	if use.ID == "" || use.Attempt == "" || use.ExpiresAt.IsZero() {
		return errors.New("redisreplay: a use needs an id, an attempt and an expiry")
	}
	n, name, ok := unsealed(use.Epoch, s.buckets)
	if !ok {
		return requeststate.ErrStale // of another store, or of another number of buckets
	}
	exp := max(use.ExpiresAt.Unix(), 0)
	if use.ExpiresAt.Nanosecond() > 0 {
		exp++
	}
	r, err := s.call(ctx, n, "consume", name, compact(use.ID), compact(use.Attempt), seconds(exp))
	if err != nil {
		return err
	}
	switch r.verdict {
	case "SPENT":
		return nil
	case "USED":
		return requeststate.ErrConsumed
	case "STALE":
		return requeststate.ErrStale
	}
	return requeststate.Unavailable(fmt.Errorf("redisreplay: verdict %q", r.verdict))
}

// Sweep forgets the ids of every bucket that expired more than a minute ago. Consume forgets as it goes; a sweep is for
// buckets that nobody uses any more, every few hours at most. It stops at the first error.
func (s *Store) Sweep(ctx context.Context) error {
	for n := range s.buckets {
		for cursor := "0"; ; {
			r, err := s.call(ctx, n, "sweep", cursor)
			if err != nil {
				return err
			}
			if cursor = r.cursor; cursor == "0" || cursor == "" {
				break
			}
		}
	}
	return nil
}

// call runs the script on bucket n in a goroutine of its own, because the client does not return when ctx is cancelled.
// All errors are undecided.
func (s *Store) call(ctx context.Context, n int, op string, args ...any) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, requeststate.Unavailable(err)
	}
	limit, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
	default:
		return reply{}, requeststate.Unavailable(fmt.Errorf("redisreplay: %d calls are under way", maxInFlight))
	}
	type answer struct {
		reply
		err error
	}
	done := make(chan answer, 1) // of one, so that the goroutine ends when nobody waits any more
	dials := s.dials.Load()
	go func() {
		defer func() { <-s.slots }()
		r, err := eval(limit, s.client, s.key(n), append([]any{op, random(), trusted(s.trust), s.clock()}, args...))
		if cluster, ok := s.client.(*redis.ClusterClient); ok && err != nil {
			cluster.ReloadState(limit) // or a dead master would be asked for the client's minute
		}
		done <- answer{r, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			return reply{}, requeststate.Unavailable(a.err)
		}
		s.cache[n].Store(&epoch{a.epoch, time.Now(), dials})
		return a.reply, nil
	case <-limit.Done():
		return reply{}, requeststate.Unavailable(limit.Err())
	}
}

// key is the bucket's. A call has one key, so Cluster needs no hash tag.
func (s *Store) key(n int) string { return s.namespace + ":b:" + strconv.Itoa(n) }

func (s *Store) clock() string {
	if s.now == nil {
		return ""
	}
	return seconds(s.now().Unix())
}

func trusted(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// sealed is the epoch as tokens carry it.
func sealed(n int, name string) string { return strconv.Itoa(n) + "." + name }

// unsealed is the inverse of sealed, and refuses every other spelling.
func unsealed(e string, buckets int) (n int, name string, ok bool) {
	number, name, found := strings.Cut(e, ".")
	n, err := strconv.Atoi(number)
	ok = found && err == nil && n >= 0 && n < buckets && strconv.Itoa(n) == number && name != ""
	return n, name, ok
}

// compact is an id or attempt as the server keeps it: "i" and the 16 bytes that 22 characters of base64url stand for, or
// "t" and the text itself if it is none of that spelling. It saves 16 bytes for each id, and no two texts share one.
func compact(text string) string {
	if raw, err := base64.RawURLEncoding.Strict().DecodeString(text); err == nil && len(raw) == 16 && len(text) == 22 {
		return "i" + string(raw)
	}
	return "t" + text
}

// random is 128 bits in base64url. It comes from here and not from the server, so that no two servers draw the same.
func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
