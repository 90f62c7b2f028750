package requeststate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

var errOpenOption = errors.New("requeststate: TTL and Continue are options of Seal, not of Open")

// Opened is a token that passed every check.
type Opened struct {
	// State is what was sealed. It is the caller's to change.
	State []byte
	// ID is the token's, Flow its first round's.
	ID, Flow ID
	// Round counts from 1.
	Round int
	// IssuedAt and ExpiresAt are the token's, in whole seconds.
	IssuedAt, ExpiresAt time.Time

	sealer             *sealer
	claims             Claims
	key                KeyID
	principal, request *[32]byte // digests, not tags: a tag is of one key, and the flow must outlive a rotation
	digests            [2][32]byte
	state              atomic.Uint32
}

// The life of an Opened. It only moves forward.
const (
	live      uint32 = iota // not spent through this Opened
	branched                // under SingleUse: continued
	redeeming               // a Redeem is under way
	redeemed                // spent through this Opened
	dead                    // a Redeem failed
)

// handOut fills in the public part.
func (o *Opened) handOut(key Key, c *call) {
	o.State = o.claims.State
	o.ID, o.Flow, o.Round = o.claims.ID, o.claims.Flow, o.claims.Round
	o.IssuedAt, o.ExpiresAt = time.Unix(o.claims.IssuedAt, 0), time.Unix(o.claims.ExpiresAt, 0)
	o.key = key.ID()
	if c.principal != nil {
		o.digests[0] = *c.principal
		o.principal = &o.digests[0]
	}
	if c.request != nil {
		o.digests[1] = *c.request
		o.request = &o.digests[1]
	}
}

// Redeem spends the flow of a [SingleRedemption] token. Call it just before the effect, and run the effect only if it returns
// nil, on a context that a client's disconnect does not cancel ([context.WithoutCancel]): the redemption is gone by then. It
// returns nil at most once for each Opened, and at most once for all tokens of the flow.
//
// Errors: [ErrConsumed] if the flow was redeemed, [ErrStale] if the store cannot know, [ErrExpired] if the flow's deadline has
// passed. After [ErrUnavailable] it is not known whether the flow was spent: the effect must not run, this Opened is dead, and
// the user may present the token again.
func (o *Opened) Redeem(ctx context.Context) error {
	return o.RedeemWith(ctx, nil)
}

// RedeemWith is [Opened.Redeem] through spend in place of the store's Consume: a transaction that also holds the effect, as
// sqlreplay's ConsumeTx does. spend has the contract of [ReplayStore].Consume. If the transaction is rolled back, open the
// token again.
func (o *Opened) RedeemWith(ctx context.Context, spend func(context.Context, Use) error) error {
	if o.claims.Use != UseSingleRedemption {
		return fmt.Errorf("requeststate: Redeem on a token of %v: seal and open with SingleRedemption", o.claims.Use)
	}
	if spend == nil {
		spend = o.sealer.store.Consume
	}
	err := o.redeem(ctx, spend)
	return o.sealer.verdict(ctx, "redeem", err, o.key, &o.claims)
}

func (o *Opened) redeem(ctx context.Context, spend func(context.Context, Use) error) error {
	if !o.state.CompareAndSwap(live, redeeming) {
		switch o.state.Load() {
		case redeemed:
			return ErrConsumed
		case dead:
			return Unavailable(errors.New("an earlier Redeem of this Opened failed; open the token again"))
		}
		return errors.New("requeststate: two Redeems of one Opened at once")
	}
	if o.sealer.now().Unix() >= o.claims.Deadline { // past it the store may have forgotten the flow
		o.state.Store(dead)
		return ErrExpired
	}
	err := o.sealer.spend(ctx, o.claims.use(), spend)
	if err != nil {
		o.state.Store(dead)
		return err
	}
	o.state.Store(redeemed)
	return nil
}

// continuable reports whether a further round may be sealed.
func (o *Opened) continuable() bool { return o.state.Load() == live }

// continued notes that a further round was sealed. Under SingleUse there is one at most, or the chain would fork.
func (o *Opened) continued() error {
	if o.claims.Use == UseSingle && !o.state.CompareAndSwap(live, branched) {
		return errors.New("requeststate: Continue twice on one Opened under SingleUse")
	}
	return nil
}

// use is what spends c, with a fresh attempt: a retry inside one call recognises itself, another call does not.
func (c *Claims) use() Use {
	u := Use{Epoch: string(c.Epoch), Attempt: newID().String()}
	if c.Use == UseSingle {
		u.ID, u.ExpiresAt = c.ID.String(), time.Unix(c.ExpiresAt, 0)
	} else {
		u.ID, u.ExpiresAt = c.Flow.String(), time.Unix(c.Deadline, 0)
	}
	return u
}

// spend calls consume once. Only its two verdicts are rejections; an error that is both, an unknown one and a panic are
// undecided.
func (s *sealer) spend(ctx context.Context, use Use, consume func(context.Context, Use) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Unavailable(fmt.Errorf("replay store panicked: %v", p))
		}
	}()
	err = consume(ctx, use)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnavailable):
		return asUnavailable(err)
	case errors.Is(err, ErrConsumed):
		return ErrConsumed
	case errors.Is(err, ErrStale):
		return ErrStale
	}
	return Unavailable(err)
}
