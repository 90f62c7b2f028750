package requeststate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Sealer protects the state that an MCP server hands to its client. It is safe for concurrent use. Packages hmac, aead and
// jose make one of a [Keyring]; [New] makes one of any [Codec].
type Sealer interface {
	// Seal returns a token that carries state and is bound to what the options say. [Principal] and [Request] are
	// required unless the sealer was made with [AllowAnonymous] or [AllowAnyRequest].
	//
	// Errors: [ErrUnavailable] if the replay store does not answer or the codec fails; [ErrExpired] if the flow that [Continue]
	// names is past its deadline; anything else is a mistake of the program and says what to do.
	Seal(ctx context.Context, state []byte, opts ...SealOption) (token string, err error)

	// Open verifies token against the request that carries it, in the order of docs/threat-model.md, and spends it if it is
	// [SingleUse].
	//
	// Errors: every rejection is an [*Error] and [ErrInvalid]; [ErrUnavailable] says that the store or the key service did
	// not decide; anything else is a mistake of the program. With an error the Opened is nil.
	Open(ctx context.Context, token string, opts ...OpenOption) (*Opened, error)
}

// sealer is the one implementation.
type sealer struct {
	codec Codec
	*config
}

// New returns a sealer over a codec of one's own. The options must say [WithAudience] or [WithoutAudience]; everything else
// has a default.
func New(codec Codec, opts ...Option) (Sealer, error) {
	if codec == nil {
		return nil, errors.New("requeststate: New(nil)")
	}
	c, err := configure(opts)
	if err != nil {
		return nil, err
	}
	return &sealer{codec: codec, config: c}, nil
}

// drafts: a draft is alive during one Seal only, and would be its largest allocation.
var drafts = sync.Pool{New: func() any { return new(Draft) }}

func (s *sealer) Seal(ctx context.Context, state []byte, opts ...SealOption) (string, error) {
	d := drafts.Get().(*Draft)
	token, err := s.seal(ctx, d, state, opts)
	if err = s.verdict(ctx, "seal", err, d.key.ID(), &d.claims); err != nil {
		return "", err // and the draft is left alone: a codec that gave up may still have it
	}
	*d = Draft{} // no state stays in the pool
	drafts.Put(d)
	return token, nil
}

func (s *sealer) seal(ctx context.Context, d *Draft, state []byte, opts []Binding) (string, error) {
	o, err := resolve(opts)
	if err == nil && o.prev != nil {
		err = s.inherit(&o)
	}
	if err == nil {
		err = s.permit(&o)
	}
	if err == nil {
		err = o.requestErr
	}
	if err != nil {
		return "", err
	}
	d.principal, d.request = o.principal, o.request
	if err := s.claim(ctx, &d.claims, &o); err != nil {
		return "", err
	}
	d.claims.State, d.claims.JSON = state, o.set[kindJSON]
	if err := d.claims.check(); err != nil { // unreachable today; what Open would refuse must not be handed out
		return "", err
	}
	token, err := codecSeal(ctx, s.codec, d)
	if err == nil && len(token) > s.maxSize {
		err = fmt.Errorf("requeststate: the token has %d bytes, more than WithMaxTokenSize(%d): keep large state on the server", len(token), s.maxSize)
	}
	if err == nil && o.prev != nil {
		err = o.prev.continued() // last, so that a Seal that failed can be tried again
	}
	return token, err
}

// permit refuses calls that leave out what the sealer requires, and ask for what it does not have.
func (s *sealer) permit(o *call) error {
	switch {
	case o.principal == nil && !s.allowAnonymous:
		return errors.New("requeststate: no Principal: name the authenticated caller, or make the sealer with AllowAnonymous")
	case o.request == nil && !s.allowAny:
		return errors.New("requeststate: no Request: bind the request, or make the sealer with AllowAnyRequest")
	case o.use != UseUnlimited && s.store == nil:
		return fmt.Errorf("requeststate: %v needs WithReplayStore", o.use)
	case o.set[kindTTL] && (!wholeSeconds(o.ttl, maxTTL) || o.ttl > s.maxTTL):
		return fmt.Errorf("requeststate: TTL wants whole seconds from 1 s to the sealer's maximum of %v, got %v", s.maxTTL, o.ttl)
	}
	return nil
}

// inherit gives a further round the bindings and the mode of the round before.
func (s *sealer) inherit(o *call) error {
	p := o.prev
	switch {
	case p.sealer != s:
		return errors.New("requeststate: Continue with an Opened of another sealer")
	case !p.continuable():
		return errors.New("requeststate: Continue with an Opened that was redeemed, whose Redeem failed, or that was continued before under SingleUse")
	case o.use != UseUnlimited && o.use != p.claims.Use:
		return fmt.Errorf("requeststate: Continue cannot change a flow of %v to %v", p.claims.Use, o.use)
	case o.principal != nil && (p.principal == nil || *o.principal != *p.principal):
		return errors.New("requeststate: Continue with another Principal than the flow's")
	case o.request != nil && o.requestErr == nil && (p.request == nil || *o.request != *p.request):
		return errors.New("requeststate: Continue with another Request than the flow's")
	case p.claims.Round >= maxRounds:
		return fmt.Errorf("requeststate: the flow has had %d rounds", maxRounds)
	}
	o.use, o.principal, o.request = p.claims.Use, p.principal, p.request
	return nil
}

// claim fills in everything but the state and the tags.
func (s *sealer) claim(ctx context.Context, c *Claims, o *call) error {
	now := s.now().Unix()
	if now <= 0 || now >= maxIssuedAt {
		return fmt.Errorf("requeststate: the clock is at %d seconds since 1970", now)
	}
	ttl := s.ttl
	if o.ttl != 0 {
		ttl = o.ttl
	}
	c.ID, c.IssuedAt, c.Use, c.Audience = newID(), now, o.use, s.audience
	if o.prev != nil { // by a replica whose clock may be ahead
		c.IssuedAt = max(now, o.prev.claims.IssuedAt)
	}
	c.ExpiresAt = c.IssuedAt + int64(ttl/time.Second)
	if p := o.prev; p != nil { // flow, deadline and epoch verbatim: a sliding deadline or a fresh epoch would revive a spent flow
		c.Flow, c.Deadline, c.Epoch, c.Round = p.claims.Flow, p.claims.Deadline, p.claims.Epoch, p.claims.Round+1
		c.ExpiresAt = min(c.ExpiresAt, c.Deadline)
		if c.ExpiresAt <= now {
			return ErrExpired
		}
		return nil
	}
	c.Flow, c.Round, c.Deadline = c.ID, 1, now+int64(s.flowTTL/time.Second)
	if c.Use == UseUnlimited {
		return nil
	}
	epoch, err := s.epoch(ctx)
	c.Epoch = []byte(epoch)
	return err
}

// epoch asks the store for its history, which the token will be tied to.
func (s *sealer) epoch(ctx context.Context) (epoch string, err error) {
	defer func() {
		if p := recover(); p != nil {
			epoch, err = "", Unavailable(fmt.Errorf("replay store panicked: %v", p))
		}
	}()
	epoch, err = s.store.Epoch(ctx)
	if err != nil {
		return "", asUnavailable(err)
	}
	if epoch == "" || len(epoch) > maxEpoch {
		return "", Unavailable(fmt.Errorf("replay store: epoch of %d bytes, want 1 to %d", len(epoch), maxEpoch))
	}
	return epoch, nil
}

// sameAudience compares strictly: a token for no service is not a token for this one.
func (s *sealer) sameAudience(aud []byte) bool {
	return bytes.Equal(aud, s.audience) // both empty: WithoutAudience, and a token of none
}
