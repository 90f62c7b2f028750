package trap

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Server is an MCP server's use of the library under one Config.
type Server struct {
	Config
	codec  requeststate.Codec
	sealer requeststate.Sealer
	now    func() time.Time
}

// NewServer returns a server with the keys of ring that remembers what was spent in store. The logger may be nil.
func NewServer(
	c Config, ring *requeststate.Keyring, store requeststate.ReplayStore, now func() time.Time, logger *slog.Logger,
) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return newServer(c, ring, store, now, logger)
}

// newServer does not check c: what an attacker writes need not pass for a user's input.
func newServer(
	c Config, ring *requeststate.Keyring, store requeststate.ReplayStore, now func() time.Time, logger *slog.Logger,
) (*Server, error) {
	codec, err := formats[c.Format].codec(ring)
	if c.Without[Integrity] {
		codec, err = newUnprotectedCodec()
	}
	if err != nil {
		return nil, err
	}
	options := []requeststate.Option{
		requeststate.WithClock(now), requeststate.WithLogger(logger), requeststate.WithReplayStore(store),
	}
	if c.Without[Audience] {
		options = append(options, requeststate.WithoutAudience())
	} else {
		options = append(options, requeststate.WithAudience(c.Service))
	}
	if c.Without[Principal] {
		options = append(options, requeststate.AllowAnonymous())
	}
	if c.Without[Request] {
		options = append(options, requeststate.AllowAnyRequest())
	}
	ttl := c.TTL
	if c.Without[TTL] {
		ttl = LongestTTL
	}
	options = append(options, requeststate.WithTTL(ttl))
	sealer, err := requeststate.New(codec, options...)
	return &Server{c, codec, sealer, now}, err
}

// bindings is what the server binds and checks, with the principal and the request of as.
func (s *Server) bindings(as Config) []requeststate.Binding {
	var b []requeststate.Binding
	if !s.Without[Principal] {
		b = append(b, requeststate.Principal(as.Principal))
	}
	if !s.Without[Request] {
		b = append(b, requeststate.Request(as.Method, as.Params()))
	}
	return b
}

// Mint seals the state for the server's own principal and request.
func (s *Server) Mint(ctx context.Context) (string, error) {
	return s.mint(ctx, s.Config, requeststate.SingleUse())
}

// mint seals as.State for as. once is how the server keeps a token to one use, if it does.
func (s *Server) mint(ctx context.Context, as Config, once requeststate.Binding) (string, error) {
	b := s.bindings(as)
	if !s.Without[SingleUse] {
		b = append(b, once)
	}
	return s.sealer.Seal(ctx, as.State, b...)
}

// open verifies token as it comes with the request of as.
func (s *Server) open(
	ctx context.Context, as Config, token string, once requeststate.Binding,
) (*requeststate.Opened, error) {
	b := s.bindings(as)
	if !s.Without[SingleUse] {
		b = append(b, once)
	}
	return s.sealer.Open(ctx, token, b...)
}

// present is open for callers who want the verdict alone.
func (s *Server) present(ctx context.Context, as Config, token string) error {
	_, err := s.open(ctx, as, token, requeststate.SingleUse())
	return err
}

// A Presentation is one token presented to the server, and what came of it.
type Presentation struct {
	At     time.Time
	Left   time.Duration // until the token expires; zero if it was refused
	Checks []Check
	Err    error // nil: PASS
}

// Passed reports whether the server accepted the token.
func (p Presentation) Passed() bool { return p.Err == nil }

// Present gives token to the server with the principal and the request of as.
func (s *Server) Present(ctx context.Context, as Config, token string) Presentation {
	p := Presentation{At: s.now()}
	opened, err := s.open(ctx, as, token, requeststate.SingleUse())
	if p.Err = err; err == nil {
		p.Left = opened.ExpiresAt.Sub(p.At)
	}
	p.Checks = s.checks(err)
	return p
}

// AtOnce presents token n times at the same moment. It returns how often the server accepted it, and the refusals.
func (s *Server) AtOnce(ctx context.Context, n int, token string) (accepted int, refused []error) {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = token
	}
	return s.atOnce(ctx, tokens)
}

func (s *Server) atOnce(ctx context.Context, tokens []string) (accepted int, refused []error) {
	var ready, done sync.WaitGroup
	var successes atomic.Int32
	errs := make([]error, len(tokens))
	start := make(chan struct{})
	for i, token := range tokens {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			if errs[i] = s.present(ctx, s.Config, token); errs[i] == nil {
				successes.Add(1)
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	for _, err := range errs {
		if err != nil {
			refused = append(refused, err)
		}
	}
	return int(successes.Load()), refused
}
