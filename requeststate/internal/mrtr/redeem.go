package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

type contextKey struct{}

// With puts r where the functions for handlers find it.
func With(ctx context.Context, r *Round) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

var errNoRound = errors.New("requeststate: no middleware around this request: " +
	"it is for tools/call, prompts/get and resources/read")

func from(ctx context.Context) (*Round, error) {
	if r, ok := ctx.Value(contextKey{}).(*Round); ok {
		return r, nil
	}
	return nil, errNoRound
}

// Redeem spends the flow of the request of ctx. A nil spend is the store's own Consume.
func Redeem(ctx context.Context, spend func(context.Context, requeststate.Use) error) error {
	r, err := from(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.redeem(ctx, spend)
	switch {
	case err == nil:
		r.redeemed = true
	case !r.redeemed && r.failed == nil:
		r.failed = r.guard.Refuse(ctx, &r.call, err)
	}
	return err
}

func (r *Round) redeem(ctx context.Context, spend func(context.Context, requeststate.Use) error) error {
	switch {
	case r.failed != nil: // the client is told so already, whatever a second try would say
		return r.failed
	case r.mode != requeststate.UseSingleRedemption:
		return errors.New("requeststate: Redeem needs the option SingleRedemption with this name")
	case r.waived:
		return errors.New("requeststate: Redeem after Waive")
	case r.superseded:
		return errSecondRound
	case r.opened == nil && !r.call.Legacy:
		return errors.New("requeststate: Redeem on a first call, which no token came with: ask first")
	case r.opened == nil:
		if err := r.own(ctx); err != nil {
			return err
		}
	}
	return r.opened.RedeemWith(ctx, spend)
}

// own gives a legacy request, whose answers never left the shim, a flow of its own. So it redeems as any other does,
// once, through the same store or transaction.
func (r *Round) own(ctx context.Context) error {
	bind := r.bindings()
	token, err := r.guard.sealer.Seal(ctx, nil, bind...)
	if err != nil {
		return err
	}
	r.opened, err = r.guard.sealer.Open(ctx, token, bind...)
	return err
}

// Waive says that the request of ctx has no effect and spends nothing.
func Waive(ctx context.Context) error {
	r, err := from(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mode != requeststate.UseSingleRedemption:
		return errors.New("requeststate: Waive needs the option SingleRedemption with this name")
	case r.redeemed:
		return errors.New("requeststate: Waive after Redeem: the flow is spent")
	}
	r.waived = true
	return nil
}

// Effect returns a context for the effect: it keeps the values of ctx, is not cancelled when the client goes away,
// and ends after limit.
func Effect(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
