package requeststate

import (
	"context"
	"crypto/subtle"
)

// leeway is how far iat may lie in the future, in seconds: replicas' clocks differ (RFC 7519 section 4.1.4 speaks of a few
// minutes at most). exp has none: it is short enough already that nobody should need a longer one.
const leeway = 60

// Open is the whole of verification. Its steps are numbered as in docs/threat-model.md, and their order matters: nothing is
// parsed before it is authenticated, the store is touched last and only by the right caller with a valid token, and state
// comes out at the end alone.
func (s *sealer) Open(ctx context.Context, token string, opts ...OpenOption) (*Opened, error) {
	o, err := resolve(opts)
	if err == nil {
		err = s.permitOpen(&o)
	}
	if err != nil {
		return nil, s.verdict(ctx, "open", err, KeyID{}, nil)
	}
	opened := &Opened{sealer: s}
	key, err := s.open(ctx, token, &o, opened)
	if err = s.verdict(ctx, "open", err, key.ID(), &opened.claims); err != nil {
		return nil, err
	}
	return opened, nil
}

func (s *sealer) open(ctx context.Context, token string, o *call, opened *Opened) (Key, error) {
	// 1. Size, before any work.
	if len(token) > s.maxSize {
		return Key{}, ErrTooLarge
	}
	// 2. spelling, 3. key id, 4. authentication, 5. claims: the codec's, and claims that no sealer makes are refused.
	c := &opened.claims
	key, err := codecOpen(ctx, s.codec, token, c)
	if err != nil {
		return key, err
	}
	// 6. Audience.
	if !s.sameAudience(c.Audience) {
		return key, ErrAudience
	}
	// 7. Principal.
	if !matches(c.Principal, o.principal, &key.k.principal, c.ID) {
		return key, ErrPrincipal
	}
	// 8. Request.
	if o.requestErr != nil {
		return key, &Error{reason: ErrRequest.(*Error).reason, detail: o.requestErr.Error()}
	}
	if !matches(c.Request, o.request, &key.k.request, c.ID) {
		return key, ErrRequest
	}
	// 9. Mode of single use.
	if c.Use != o.use {
		return key, ErrUse
	}
	// 10. Time.
	now := s.now().Unix()
	if c.IssuedAt > now+leeway {
		return key, ErrNotYetValid
	}
	if now >= c.ExpiresAt {
		return key, ErrExpired
	}
	if o.decode != nil { // OpenJSON: a state that does not fit its type must not burn the token
		if err := o.decode(c.State); err != nil {
			return key, err
		}
	}
	// 11. Spend.
	if c.Use == UseSingle {
		if err := s.spend(ctx, c.use(), s.store.Consume); err != nil {
			return key, err
		}
	}
	// 12. State.
	opened.handOut(key, o)
	return key, nil
}

// permitOpen refuses calls that are wrong whatever the token says.
func (s *sealer) permitOpen(o *call) error {
	if o.set[kindTTL] || o.set[kindContinue] || o.set[kindJSON] {
		return errOpenOption
	}
	return s.permit(o)
}

// matches compares the token's tag with that of the caller's digest. A binding on one side only does not match: both ways
// closed.
func matches(tag *Tag, digest *[32]byte, tags *macPool, id ID) bool {
	if tag == nil || digest == nil {
		return tag == nil && digest == nil
	}
	want := tags.tag(id, digest)
	return subtle.ConstantTimeCompare(tag[:], want[:]) == 1
}
