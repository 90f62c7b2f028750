package redisreplay

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Defaults.
const (
	DefaultNamespace = "requeststate"
	DefaultBuckets   = 64
	DefaultTimeout   = 250 * time.Millisecond
)

// An Option configures [New].
type Option func(*config) error

type config struct {
	namespace string
	buckets   int
	timeout   time.Duration
	trust     bool
	logger    *slog.Logger
	now       func() time.Time // nil: the server's clock
}

// WithNamespace sets what the keys begin with: "<namespace>:b:<number>". Services that share a server and a ring may
// share it.
func WithNamespace(ns string) Option {
	return func(c *config) error {
		if ns == "" || len(ns) > 200 {
			return fmt.Errorf("redisreplay: WithNamespace wants 1 to 200 bytes, got %d", len(ns))
		}
		c.namespace = ns
		return nil
	}
}

// WithBuckets sets the number of hashes that the ids are spread over, 1 to 65,536, for Cluster and to bound the work of
// one sweep. All replicas must have the same. The default is 64.
func WithBuckets(n int) Option {
	return func(c *config) error {
		if n < 1 || n > 65536 {
			return fmt.Errorf("redisreplay: WithBuckets wants 1 to 65536, got %d", n)
		}
		c.buckets = n
		return nil
	}
}

// WithTimeout bounds each call, its retries included: at least 10 ms. The default is 250 ms. A call that is not
// answered by then is undecided.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 10*time.Millisecond {
			return fmt.Errorf("redisreplay: WithTimeout wants at least 10 ms, got %v", d)
		}
		c.timeout = d
		return nil
	}
}

// TrustPersistence accepts the server's data across restarts and failovers. It is safe only where no acknowledged write
// can be lost: appendonly with appendfsync always and no failover to an asynchronous replica, or a service that
// promises it. With anything less, spent tokens can be spent again. Without it every restart and failover makes open
// tokens stale, once.
func TrustPersistence() Option { return func(c *config) error { c.trust = true; return nil } }

// WithLogger gets a warning at start if the server may evict keys. The default is slog.Default.
func WithLogger(l *slog.Logger) Option {
	return func(c *config) error {
		if l == nil {
			return errors.New("redisreplay: WithLogger wants a logger; slog.DiscardHandler makes a silent one")
		}
		c.logger = l
		return nil
	}
}

// withClock replaces the server's clock, which decides when an id may be forgotten, in tests.
func withClock(now func() time.Time) Option {
	return func(c *config) error { c.now = now; return nil }
}
