package codectest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A reason is a way to have a token rejected after it was authenticated.
type reason struct {
	name string
	want error
	seal []requeststate.SealOption
	open []requeststate.OpenOption
	move time.Duration       // of the clock between the two
	with requeststate.Option // of the sealer that opens; nil: the same as the one that seals
}

func reasons() []reason {
	principal := requeststate.Principal("https://issuer.example", "alice")
	call := requeststate.ToolCall("deploy", json.RawMessage(`{"env":"staging"}`))
	other := requeststate.WithAudience("https://other.example")
	return []reason{
		{name: "other audience", want: requeststate.ErrAudience, seal: bound(), open: bound(), with: other},
		{name: "audience at one side", want: requeststate.ErrAudience, seal: bound(), open: bound(), with: requeststate.WithoutAudience()},
		{name: "other principal", want: requeststate.ErrPrincipal, seal: bound(), open: []requeststate.Binding{requeststate.Principal("https://issuer.example", "bob"), call}},
		{name: "principal joined", want: requeststate.ErrPrincipal, seal: bound(), open: []requeststate.Binding{requeststate.Principal("https://issuer.examplealice"), call}},
		{name: "principal to anonymous", want: requeststate.ErrPrincipal, seal: bound(), open: []requeststate.Binding{call}},
		{name: "anonymous to principal", want: requeststate.ErrPrincipal, seal: []requeststate.Binding{call}, open: bound()},
		{name: "other arguments", want: requeststate.ErrRequest, seal: bound(), open: []requeststate.Binding{principal, requeststate.ToolCall("deploy", json.RawMessage(`{"env":"production"}`))}},
		{name: "other tool", want: requeststate.ErrRequest, seal: bound(), open: []requeststate.Binding{principal, requeststate.ToolCall("destroy", json.RawMessage(`{"env":"staging"}`))}},
		{name: "other method", want: requeststate.ErrRequest, seal: bound(), open: []requeststate.Binding{principal, requeststate.PromptGet("deploy", map[string]string{"env": "staging"})}},
		{name: "request to none", want: requeststate.ErrRequest, seal: bound(), open: []requeststate.Binding{principal}},
		{name: "none to request", want: requeststate.ErrRequest, seal: []requeststate.Binding{principal}, open: bound()},
		{name: "params without digest", want: requeststate.ErrRequest, seal: bound(), open: []requeststate.Binding{principal, requeststate.ToolCall("deploy", json.RawMessage(`{"a":1,"a":2}`))}},
		{name: "single use not sealed in", want: requeststate.ErrUse, seal: bound(), open: bound(requeststate.SingleUse())},
		{name: "single use not asked for", want: requeststate.ErrUse, seal: bound(requeststate.SingleUse()), open: bound()},
		{name: "other mode", want: requeststate.ErrUse, seal: bound(requeststate.SingleUse()), open: bound(requeststate.SingleRedemption())},
		{name: "at expiry", want: requeststate.ErrExpired, seal: bound(), open: bound(), move: requeststate.DefaultTTL},
		{name: "long after", want: requeststate.ErrExpired, seal: bound(), open: bound(), move: 24 * time.Hour},
		{name: "from the future", want: requeststate.ErrNotYetValid, seal: bound(), open: bound(), move: -61 * time.Second},
	}
}

// reasons checks that each claim of the token arrives: every binding that is off by anything is rejected for its own reason.
func (s *suite) reasons(t *testing.T) {
	codec := s.open(t)
	for _, r := range reasons() {
		t.Run(r.name, func(t *testing.T) {
			at := now
			free := []requeststate.Option{requeststate.AllowAnonymous(), requeststate.AllowAnyRequest()}
			mint := sealer(t, codec, &at, append(free, requeststate.WithAudience("https://example.com"))...)
			open := mint
			if r.with != nil {
				open = sealer(t, codec, &at, append(free, r.with)...)
			}
			token := seal(t, mint, []byte("state"), r.seal...)
			at = at.Add(r.move)
			refused(t, open, token, r.want, r.open...)
		})
	}
}

// forgedAndExpired: the claims of a token that fails authentication are not looked at.
func (s *suite) forgedAndExpired(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	token := []byte(seal(t, sl, []byte("state"), bound()...))
	at = at.Add(24 * time.Hour)
	last := &token[len(token)-4] // within the last four characters, past any trailing bits
	if *last == 'A' {
		*last = 'B'
	} else {
		*last = 'A'
	}
	_, err := sl.Open(context.Background(), string(token), bound()...)
	if errors.Is(err, requeststate.ErrExpired) || !errors.Is(err, requeststate.ErrForged) {
		t.Fatalf("a forged and expired token is %v, want only ErrForged", err)
	}
}

// flow checks what only further rounds carry: flow, deadline, round, mode and epoch.
func (s *suite) flow(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience(), requeststate.WithFlowTTL(10*time.Minute))
	ctx := context.Background()
	token := seal(t, sl, []byte("1"), bound(requeststate.SingleRedemption())...)
	var flow requeststate.ID
	for round := 1; round <= 16; round++ {
		o, err := sl.Open(ctx, token, bound(requeststate.SingleRedemption())...)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round == 1 {
			flow = o.ID
		}
		if o.Round != round || o.Flow != flow || (o.ID == flow) != (round == 1) {
			t.Fatalf("round %d says round %d of flow %v", round, o.Round, o.Flow)
		}
		if deadline := now.Add(10 * time.Minute); o.ExpiresAt.After(deadline) {
			t.Fatalf("round %d expires at %v, past the flow's deadline %v", round, o.ExpiresAt, deadline)
		}
		if round == 16 {
			if err := o.Redeem(ctx); err != nil {
				t.Fatalf("Redeem: %v", err)
			}
			break
		}
		at = at.Add(30 * time.Second)
		token = seal(t, sl, []byte("next"), requeststate.Continue(o))
	}
	o, err := sl.Open(ctx, token, bound(requeststate.SingleRedemption())...)
	if err != nil {
		t.Fatalf("opening again: %v", err)
	}
	if err := o.Redeem(ctx); !errors.Is(err, requeststate.ErrConsumed) {
		t.Fatalf("second Redeem: %v, want ErrConsumed", err)
	}
}

// longestFlow: the longest flow, continued by a replica whose clock is behind. Whatever is sealed must open.
func (s *suite) longestFlow(t *testing.T) {
	for _, behind := range []time.Duration{0, time.Second, time.Minute} {
		at := now
		sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience(), requeststate.WithTTL(time.Second), requeststate.WithFlowTTL(7*24*time.Hour))
		o, err := sl.Open(context.Background(), seal(t, sl, nil, bound()...), bound()...)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		at = at.Add(-behind)
		token := seal(t, sl, nil, requeststate.Continue(o))
		if _, err := sl.Open(context.Background(), token, bound()...); err != nil {
			t.Fatalf("a token continued %v behind the clock of its parent does not open: %v", behind, err)
		}
	}
}

// store is enough of a ReplayStore for a test without time.
type store struct {
	mu    sync.Mutex
	spent map[string]bool
}

func (s *store) Epoch(context.Context) (string, error) { return "epoch", nil }

func (s *store) Consume(_ context.Context, use requeststate.Use) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case use.Epoch != "epoch":
		return requeststate.ErrStale
	case s.spent[use.ID]:
		return requeststate.ErrConsumed
	}
	s.spent[use.ID] = true
	return nil
}
