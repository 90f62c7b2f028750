package requeststate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"
	"unicode/utf8"
)

// Defaults of a sealer.
const (
	DefaultTTL          = 5 * time.Minute
	DefaultFlowTTL      = time.Hour
	DefaultMaxTokenSize = 64 << 10 // bytes
)

// An Option configures a sealer when it is made. Missing security configuration is an error, and what relaxes something
// says so in its name.
type Option func(*config)

type config struct {
	audience       []byte
	noAudience     bool
	ttl            time.Duration
	maxTTL         time.Duration
	flowTTL        time.Duration
	store          ReplayStore
	maxSize        int
	logger         *slog.Logger
	observe        func(context.Context, Event)
	now            func() time.Time
	allowAnonymous bool
	allowAny       bool
	errs           []error
}

func (c *config) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("requeststate: "+format, args...))
}

// WithAudience names the service that the tokens are for (RFC 7519 section 4.1.3): 1 to 255 bytes of UTF-8, the same on all its
// replicas. A token of another service, or of none, is rejected.
func WithAudience(service string) Option {
	return func(c *config) {
		if service == "" || len(service) > maxAudience || !utf8.ValidString(service) {
			c.fail("WithAudience wants 1 to %d bytes of UTF-8, got %d", maxAudience, len(service))
		}
		if c.audience != nil {
			c.fail("WithAudience given twice")
		}
		c.audience = []byte(service)
	}
}

// WithoutAudience seals for no service in particular and rejects tokens that name one. It is safe only if no other service
// has the same key.
func WithoutAudience() Option { return func(c *config) { c.noAudience = true } }

// WithTTL sets how long tokens are valid: whole seconds, 1 s to 24 h. The default is 5 minutes, enough for a person to answer.
func WithTTL(d time.Duration) Option {
	return func(c *config) {
		c.ttl = d
		if !wholeSeconds(d, maxTTL) {
			c.fail("WithTTL wants whole seconds from 1 s to 24 h, got %v", d)
		}
	}
}

// WithMaxTTL sets the longest [TTL] that a Seal may ask for: whole seconds, up to 24 h, not below the sealer's TTL, which is
// the default.
func WithMaxTTL(d time.Duration) Option {
	return func(c *config) {
		c.maxTTL = d
		if !wholeSeconds(d, maxTTL) {
			c.fail("WithMaxTTL wants whole seconds from 1 s to 24 h, got %v", d)
		}
	}
}

// WithFlowTTL bounds all rounds of a flow together: whole seconds, up to 7 days, not below the maximum TTL. The default is 1 hour, or
// the maximum TTL if that is longer. A spent flow is remembered for as long.
func WithFlowTTL(d time.Duration) Option {
	return func(c *config) {
		c.flowTTL = d
		if !wholeSeconds(d, maxFlowTTL) {
			c.fail("WithFlowTTL wants whole seconds from 1 s to 7 days, got %v", d)
		}
	}
}

// WithReplayStore sets the store that [SingleUse] and [SingleRedemption] need.
func WithReplayStore(s ReplayStore) Option {
	return func(c *config) {
		if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			c.fail("WithReplayStore(nil)")
		}
		c.store = s
	}
}

// WithMaxTokenSize sets the longest token, in bytes: Seal makes none above it, and Open looks at none. The default is 64 KiB, the
// least is 256.
func WithMaxTokenSize(bytes int) Option {
	return func(c *config) {
		c.maxSize = bytes
		if bytes < 256 {
			c.fail("WithMaxTokenSize wants at least 256 bytes, got %d", bytes)
		}
	}
}

// WithLogger gets one record for each rejection and each undecided answer: reason, key id, prefix of the flow id; no token,
// no state, no key. Without it nothing is logged.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithObserver calls f with every verdict, for metrics. f runs inside Seal, Open and Redeem, after the spend, so it must be quick,
// not panic, and be safe for concurrent use.
func WithObserver(f func(context.Context, Event)) Option { return func(c *config) { c.observe = f } }

// WithClock replaces [time.Now], for tests.
func WithClock(now func() time.Time) Option {
	return func(c *config) {
		if now == nil {
			c.fail("WithClock(nil)")
		}
		c.now = now
	}
}

// AllowAnonymous lets Seal and Open go without [Principal]. Both must: a token of nobody is not a token of somebody. Anybody who
// gets hold of an anonymous token can use it.
func AllowAnonymous() Option { return func(c *config) { c.allowAnonymous = true } }

// AllowAnyRequest lets Seal and Open go without [Request]. Both must. The state then has to say itself what it is for.
func AllowAnyRequest() Option { return func(c *config) { c.allowAny = true } }

// configure resolves opts once and for all.
func configure(opts []Option) (*config, error) {
	c := &config{ttl: DefaultTTL, maxSize: DefaultMaxTokenSize, now: time.Now}
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("requeststate: nil Option")
		}
		o(c)
	}
	if (c.audience == nil) != c.noAudience {
		c.fail("give exactly one of WithAudience and WithoutAudience")
	}
	if c.maxTTL == 0 {
		c.maxTTL = c.ttl
	}
	if c.flowTTL == 0 {
		c.flowTTL = max(DefaultFlowTTL, c.maxTTL)
	}
	if c.maxTTL < c.ttl {
		c.fail("the maximum TTL %v is below the TTL %v", c.maxTTL, c.ttl)
	}
	if c.flowTTL < c.maxTTL {
		c.fail("the flow TTL %v is below the maximum TTL %v", c.flowTTL, c.maxTTL)
	}
	return c, errors.Join(c.errs...)
}

// wholeSeconds: NumericDate is in seconds here, and a fraction would be cut off in silence.
func wholeSeconds(d time.Duration, maxSeconds int64) bool {
	return d >= time.Second && d%time.Second == 0 && int64(d/time.Second) <= maxSeconds
}
