package mrtr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Config is what the options of both adapters come to. The zero Config is valid.
type Config struct {
	// Logger gets one record per refusal and per mistake; nil: slog.Default.
	Logger *slog.Logger
	// AllowUnasked leaves the answers as the client sent them.
	AllowUnasked bool

	uses     map[string]requeststate.UseMode
	ttls     map[string]time.Duration
	unlisted []string
	errs     []error
}

// SetUse gives names a mode of single use.
func (c *Config) SetUse(mode requeststate.UseMode, names ...string) {
	if c.uses == nil {
		c.uses = make(map[string]requeststate.UseMode)
	}
	if len(names) == 0 {
		c.errs = append(c.errs, fmt.Errorf("%v of no names: name the tools, prompts or resources", mode))
	}
	for _, name := range names {
		if old, ok := c.uses[name]; ok && old != mode {
			c.errs = append(c.errs, fmt.Errorf("%q is to be both %v and %v", name, old, mode))
		}
		c.uses[name] = mode
	}
}

// SetTTL gives the tokens of names a TTL, in whole seconds.
func (c *Config) SetTTL(d time.Duration, names ...string) {
	if c.ttls == nil {
		c.ttls = make(map[string]time.Duration)
	}
	if len(names) == 0 {
		c.errs = append(c.errs, errors.New("TTL of no names: the sealer's WithTTL is for all"))
	}
	for _, name := range names {
		if _, ok := c.ttls[name]; ok {
			c.errs = append(c.errs, fmt.Errorf("two TTLs for %q", name))
		}
		c.ttls[name] = d
	}
}

// SetUnlisted takes names out of those that the adapter looks for on the server.
func (c *Config) SetUnlisted(names ...string) {
	if len(names) == 0 {
		c.errs = append(c.errs, errors.New("no names are unlisted: name the tools, prompts or resources"))
	}
	c.unlisted = append(c.unlisted, names...)
}

// newTimeout bounds what New asks of a store and a key service.
const newTimeout = 10 * time.Second

// A Guard protects the multi round-trip requests of one server. It is safe for concurrent use.
type Guard struct {
	sealer requeststate.Sealer
	Config
}

// New returns the guard of a server. It seals a token that nobody gets for every mode and TTL of the configuration,
// so that a missing store or a TTL above the sealer's maximum is an error here and not at the first redemption. A
// store or a key service that does not answer is no error: it may be up when it is needed.
func New(sealer requeststate.Sealer, c Config) (*Guard, error) {
	if sealer == nil {
		return nil, errors.New("nil Sealer")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	g := &Guard{sealer: sealer, Config: c}
	errs := c.errs
	for _, name := range c.unlisted {
		if !g.Named(name) {
			errs = append(errs, fmt.Errorf("%q is unlisted, and no other option names it", name))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), newTimeout)
	defer cancel()
	for _, name := range g.Names() {
		opts := g.ttl(g.bindings(nil, name), name)
		opts = append(opts, requeststate.Principal("nobody"), requeststate.ToolCall(name, nil))
		_, err := sealer.Seal(ctx, nil, opts...)
		if err != nil && !errors.Is(err, requeststate.ErrUnavailable) {
			errs = append(errs, fmt.Errorf("%q: %w", name, err))
		}
	}
	return g, errors.Join(errs...)
}

// Named reports whether an option names name.
func (g *Guard) Named(name string) bool {
	_, ttl := g.ttls[name]
	return ttl || g.uses[name] != 0
}

// Listed are the names that the adapter checks to exist.
func (g *Guard) Listed() []string {
	return slices.DeleteFunc(g.Names(), func(name string) bool { return slices.Contains(g.unlisted, name) })
}

// Names are the tools, prompts and resources that the options name, sorted.
func (g *Guard) Names() []string {
	names := maps.Clone(g.uses)
	if names == nil {
		names = make(map[string]requeststate.UseMode)
	}
	for name := range g.ttls {
		names[name] = 0
	}
	return slices.Sorted(maps.Keys(names))
}

// bindings appends the mode of name, as an option of Seal and Open.
func (g *Guard) bindings(b []requeststate.Binding, name string) []requeststate.Binding {
	switch g.uses[name] {
	case requeststate.UseSingle:
		return append(b, requeststate.SingleUse())
	case requeststate.UseSingleRedemption:
		return append(b, requeststate.SingleRedemption())
	}
	return b
}

// ttl appends the TTL of name, if it has one of its own.
func (g *Guard) ttl(b []requeststate.Binding, name string) []requeststate.Binding {
	if d, ok := g.ttls[name]; ok {
		return append(b, requeststate.TTL(d))
	}
	return b
}
