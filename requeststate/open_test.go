package requeststate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

// Every reason, through one table, for every format: the sentinel matches, no other does, and the client sees one answer. The
// token of row n also has the faults of all later rows, so the table is the order of the checks, too.
func TestReasonsInOrder(t *testing.T) {
	type fault struct {
		want  error
		apply func(*attempt)
	}
	faults := []fault{
		{requeststate.ErrTooLarge, func(a *attempt) { a.token += strings.Repeat("A", requeststate.DefaultMaxTokenSize) }},
		{requeststate.ErrMalformed, func(a *attempt) { a.token += "\n" }},
		{requeststate.ErrUnknownKey, func(a *attempt) { a.ring = "other" }},
		{requeststate.ErrForged, func(a *attempt) { a.token = flip(a.token, len(a.token)-9) }},
		{requeststate.ErrAudience, func(a *attempt) { a.audience = "other" }},
		{requeststate.ErrPrincipal, func(a *attempt) { a.principal = bob }},
		{requeststate.ErrRequest, func(a *attempt) { a.request = destroy }},
		{requeststate.ErrUse, func(a *attempt) { a.use = redeem }},
		{requeststate.ErrExpired, func(a *attempt) { a.move = time.Hour }},
		{requeststate.ErrConsumed, func(a *attempt) { a.store.consume = func(requeststate.Use) error { return requeststate.ErrConsumed } }},
	}
	for name, newSealer := range formats {
		for i, f := range faults {
			t.Run(fmt.Sprint(name, " ", reasonOf(f.want)), func(t *testing.T) {
				a := newAttempt(t, newSealer)
				for j := len(faults) - 1; j >= i; j-- {
					faults[j].apply(a)
				}
				o, err := a.open(t, newSealer)
				assert.Nil(t, o)
				requireReason(t, f.want, err)
				for _, other := range faults {
					assert.Equal(t, other.want == f.want, errors.Is(err, other.want), reasonOf(other.want))
				}
				code, message, data := requeststate.RPCError(err)
				assert.Equal(t, -32602, code)
				assert.Equal(t, "Invalid or expired requestState", message)
				assert.JSONEq(t, `{"reason":"invalid_request_state"}`, string(data))
				if f.want != requeststate.ErrConsumed {
					assert.Empty(t, a.store.uses, "the store is touched last")
				}
			})
		}
		t.Run(name+" alone", func(t *testing.T) { // each fault without the later ones
			for _, f := range faults {
				a := newAttempt(t, newSealer)
				f.apply(a)
				_, err := a.open(t, newSealer)
				requireReason(t, f.want, err)
			}
			_, err := newAttempt(t, newSealer).open(t, newSealer)
			require.NoError(t, err, "no fault")
		})
	}
}

// attempt is a token and the circumstances in which it is presented.
type attempt struct {
	token, ring, audience   string
	principal, request, use requeststate.Binding
	move                    time.Duration
	store                   *fakeStore
}

func newAttempt(t *testing.T, newSealer newSealer) *attempt {
	a := &attempt{ring: "a", audience: "svc", principal: alice, request: deploy, use: once, store: &fakeStore{}}
	s, err := newSealer(testRing(t, "a"), requeststate.WithAudience("svc"), requeststate.WithReplayStore(a.store),
		requeststate.WithClock(func() time.Time { return started }))
	require.NoError(t, err)
	a.token = mustSeal(t, s, "state", alice, deploy, once)
	return a
}

func (a *attempt) open(t *testing.T, newSealer newSealer) (*requeststate.Opened, error) {
	s, err := newSealer(testRing(t, a.ring), requeststate.WithAudience(a.audience), requeststate.WithReplayStore(a.store),
		requeststate.WithClock(func() time.Time { return started.Add(a.move) }))
	require.NoError(t, err)
	return s.Open(ctx, a.token, a.principal, a.request, a.use)
}

// flip changes the letter at i to another of the alphabet.
func flip(token string, i int) string {
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

func TestTime(t *testing.T) {
	for _, c := range []struct {
		ttl, at time.Duration
		want    error
	}{
		{time.Minute, 0, nil},
		{time.Minute, time.Minute - time.Nanosecond, nil},
		{time.Minute, time.Minute, requeststate.ErrExpired},
		{time.Minute, time.Minute + time.Second, requeststate.ErrExpired},
		{time.Second, time.Second, requeststate.ErrExpired},
		{time.Minute, -60 * time.Second, nil},
		{time.Minute, -61 * time.Second, requeststate.ErrNotYetValid},
	} {
		t.Run(fmt.Sprint(c.at), func(t *testing.T) {
			clk := newClock()
			s := hmacSealer(t, clk)
			token := mustSeal(t, s, "", alice, deploy, requeststate.TTL(c.ttl))
			clk.add(c.at)
			_, err := s.Open(ctx, token, alice, deploy)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			requireReason(t, c.want, err)
		})
	}
}

// Two-sided: what one side says and the other does not is a rejection, in both directions and for both bindings.
func TestBindingsAreTwoSided(t *testing.T) {
	s := hmacSealer(t, newClock(), requeststate.AllowAnonymous(), requeststate.AllowAnyRequest())
	sets := map[string]bindings{"none": {}, "principal": {alice}, "request": {deploy}, "both": {alice, deploy}}
	for sealed, with := range sets {
		token := mustSeal(t, s, "", with...)
		for opened, by := range sets {
			_, err := s.Open(ctx, token, by...)
			if sealed == opened {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, requeststate.ErrInvalid, "%s opened with %s", sealed, opened)
			}
		}
	}
}

func TestMisuse(t *testing.T) {
	clk := newClock()
	s := hmacSealer(t, clk)
	storeless, err := hmac.New(testRing(t, "a"), requeststate.WithAudience("svc"), requeststate.WithClock(clk.Now))
	require.NoError(t, err)
	token := mustSeal(t, s, "", alice, deploy)
	bad := requeststate.ToolCall("deploy", json.RawMessage(`{"a":1,"a":2}`))
	for name, c := range map[string]struct {
		s    requeststate.Sealer
		opts bindings
		text string
	}{
		"no principal":       {s, bindings{deploy}, "AllowAnonymous"},
		"no request":         {s, bindings{alice}, "AllowAnyRequest"},
		"zero":               {s, bindings{alice, deploy, {}}, "zero Binding"},
		"principal twice":    {s, bindings{alice, bob, deploy}, "Principal given twice"},
		"request twice":      {s, bindings{alice, deploy, destroy}, "Request given twice"},
		"no parts":           {s, bindings{requeststate.Principal(), deploy}, "without parts"},
		"empty part":         {s, bindings{requeststate.Principal("iss", ""), deploy}, "empty part"},
		"both modes":         {s, bindings{alice, deploy, once, redeem}, "exclude"},
		"once, no store":     {storeless, bindings{alice, deploy, once}, "WithReplayStore"},
		"redeem, no store":   {storeless, bindings{alice, deploy, redeem}, "WithReplayStore"},
		"TTL 0":              {s, bindings{alice, deploy, requeststate.TTL(0)}, "TTL"},
		"TTL negative":       {s, bindings{alice, deploy, requeststate.TTL(-time.Second)}, "TTL"},
		"TTL with fraction":  {s, bindings{alice, deploy, requeststate.TTL(1500 * time.Millisecond)}, "TTL"},
		"TTL over maximum":   {s, bindings{alice, deploy, requeststate.TTL(requeststate.DefaultTTL + time.Second)}, "TTL"},
		"Continue nil":       {s, bindings{requeststate.Continue(nil)}, "Continue(nil)"},
		"params twice named": {s, bindings{alice, bad}, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := c.s.Seal(ctx, nil, c.opts...)
			require.ErrorContains(t, err, c.text)
			assert.Empty(t, made)
			assertMisuse(t, err)
			o, err := c.s.Open(ctx, token, c.opts...)
			assert.Nil(t, o)
			require.Error(t, err)
			if name == "params twice named" { // params come from the client, so at Open it is a token that does not fit
				requireReason(t, requeststate.ErrRequest, err)
				return
			}
			assertMisuse(t, err)
		})
	}
}

func assertMisuse(t *testing.T, err error) {
	t.Helper()
	assert.NotErrorIs(t, err, requeststate.ErrInvalid)
	assert.NotErrorIs(t, err, requeststate.ErrUnavailable)
	code, message, data := requeststate.RPCError(err)
	assert.Equal(t, -32603, code)
	assert.Equal(t, "Internal error", message)
	assert.Nil(t, data)
}

func TestTokenSize(t *testing.T) {
	clk := newClock()
	s := hmacSealer(t, clk, requeststate.WithMaxTokenSize(1000))
	_, err := s.Seal(ctx, make([]byte, 1000), alice, deploy)
	require.ErrorContains(t, err, "WithMaxTokenSize(1000)")
	assertMisuse(t, err)
	state := 400
	for ; ; state++ {
		token, err := s.Seal(ctx, make([]byte, state), alice, deploy)
		if err != nil {
			break
		}
		mustOpen(t, s, token, alice, deploy) // whatever was minted within the limit opens within it
	}
	assert.Greater(t, state, 500)
}

// failingCodec does what its fields say.
type failingCodec struct {
	requeststate.Codec
	seal func(*requeststate.Draft) (string, error)
	open func(*requeststate.Claims) (requeststate.Key, error)
}

func (f failingCodec) Seal(_ context.Context, d *requeststate.Draft) (string, error) {
	return f.seal(d)
}
func (f failingCodec) Open(_ context.Context, _ string, c *requeststate.Claims) (requeststate.Key, error) {
	return f.open(c)
}

func TestFailingCodecNeverOpens(t *testing.T) {
	key := testKey(t, "a")
	good := func(c *requeststate.Claims) {
		*c = requeststate.Claims{ID: requeststate.ID{1}, Flow: requeststate.ID{1}, Round: 1, IssuedAt: started.Unix(), ExpiresAt: started.Unix() + 60, Deadline: started.Unix() + 60}
	}
	for name, c := range map[string]struct {
		open func(*requeststate.Claims) (requeststate.Key, error)
		want error
	}{
		"outage": {func(*requeststate.Claims) (requeststate.Key, error) { return key, requeststate.ErrUnavailable }, requeststate.ErrUnavailable},
		"unknown error": {func(c *requeststate.Claims) (requeststate.Key, error) {
			good(c)
			return key, errors.New("kms: throttled")
		}, requeststate.ErrUnavailable},
		"panic":       {func(c *requeststate.Claims) (requeststate.Key, error) { good(c); panic("boom") }, requeststate.ErrUnavailable},
		"zero key":    {func(c *requeststate.Claims) (requeststate.Key, error) { good(c); return requeststate.Key{}, nil }, requeststate.ErrUnavailable},
		"no claims":   {func(*requeststate.Claims) (requeststate.Key, error) { return key, nil }, requeststate.ErrMalformed},
		"late reason": {func(*requeststate.Claims) (requeststate.Key, error) { return key, requeststate.ErrConsumed }, requeststate.ErrUnavailable},
		"forged": {func(c *requeststate.Claims) (requeststate.Key, error) {
			good(c)
			return key, fmt.Errorf("x: %w", requeststate.ErrForged)
		}, requeststate.ErrForged},
		"past deadline": {func(c *requeststate.Claims) (requeststate.Key, error) { good(c); c.ExpiresAt++; return key, nil }, requeststate.ErrMalformed},
		"round 17": {func(c *requeststate.Claims) (requeststate.Key, error) {
			good(c)
			c.Round, c.Flow[1] = 17, 1
			return key, nil
		}, requeststate.ErrMalformed},
		"mode, no epoch": {func(c *requeststate.Claims) (requeststate.Key, error) {
			good(c)
			c.Use = requeststate.UseSingle
			return key, nil
		}, requeststate.ErrMalformed},
		"good": {func(c *requeststate.Claims) (requeststate.Key, error) { good(c); return key, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := requeststate.New(failingCodec{open: c.open}, requeststate.WithoutAudience(), requeststate.AllowAnonymous(),
				requeststate.AllowAnyRequest(), requeststate.WithClock(func() time.Time { return started }))
			require.NoError(t, err)
			o, err := s.Open(ctx, "token")
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			assert.Nil(t, o)
			require.ErrorIs(t, err, c.want)
			assert.Equal(t, c.want == requeststate.ErrUnavailable, !errors.Is(err, requeststate.ErrInvalid))
			assert.Equal(t, c.want.Error(), err.Error(), "the text is fixed")
		})
	}
}

func TestFailingCodecNeverSeals(t *testing.T) {
	key := testKey(t, "a")
	for name, seal := range map[string]func(*requeststate.Draft) (string, error){
		"outage":       func(*requeststate.Draft) (string, error) { return "x", requeststate.ErrUnavailable },
		"panic":        func(*requeststate.Draft) (string, error) { panic("boom") },
		"rejection":    func(*requeststate.Draft) (string, error) { return "x", requeststate.ErrForged },
		"error":        func(*requeststate.Draft) (string, error) { return "x", errors.New("dial kms.internal: denied") },
		"not the mine": func(*requeststate.Draft) (string, error) { return "x", nil },
		"empty":        func(d *requeststate.Draft) (string, error) { _, err := d.Claims(key); return "", err },
		"zero key":     func(d *requeststate.Draft) (string, error) { _, err := d.Claims(requeststate.Key{}); return "", err },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := requeststate.New(failingCodec{seal: seal}, requeststate.WithoutAudience(), requeststate.AllowAnonymous(), requeststate.AllowAnyRequest())
			require.NoError(t, err)
			token, err := s.Seal(ctx, nil)
			assert.Empty(t, token)
			require.ErrorIs(t, err, requeststate.ErrUnavailable)
			assert.NotErrorIs(t, err, requeststate.ErrInvalid)
			assert.Equal(t, requeststate.ErrUnavailable.Error(), err.Error(), "handlers return errors to clients")
		})
	}
}

// What a codec left in the claims before it failed is not authentic, and not for the log.
func TestClaimsOfAFailedOpenAreNotLogged(t *testing.T) {
	var seen requeststate.Event
	codec := failingCodec{open: func(c *requeststate.Claims) (requeststate.Key, error) {
		c.Flow, c.Round = requeststate.ID{1}, 1
		return testKey(t, "a"), requeststate.ErrForged
	}}
	s, err := requeststate.New(codec, requeststate.WithoutAudience(), requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(),
		requeststate.WithObserver(func(_ context.Context, e requeststate.Event) { seen = e }))
	require.NoError(t, err)
	_, err = s.Open(ctx, "x")
	requireReason(t, requeststate.ErrForged, err)
	assert.Empty(t, seen.Flow)
	assert.Zero(t, seen.Round)
	assert.NotErrorIs(t, err, (*requeststate.Error)(nil))
}

func TestRPCErrorOfNil(t *testing.T) {
	code, message, data := requeststate.RPCError(nil)
	assert.Zero(t, code)
	assert.Empty(t, message)
	assert.Nil(t, data)
}
