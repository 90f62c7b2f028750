package gosdk

import (
	"context"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// Redeem spends the flow of the request that ctx belongs to, under [SingleRedemption]. A handler calls it just before
// the effect, and has the effect, on a context of [Effect], only if Redeem returns nil. It returns nil once per flow,
// however often and from wherever the client sends its retries.
//
// If it fails, the client gets the frozen error of the cause, whatever the handler returns:
// [requeststate.ErrConsumed], [requeststate.ErrStale], [requeststate.ErrExpired], or [requeststate.ErrUnavailable],
// after which the client may send the retry again. Any other error is a mistake of the program, such as Redeem on a
// first call, which nobody has approved.
//
// A client of an older protocol has no token: the SDK asks it within the request. Redeem succeeds once per request then,
// and cannot tell whether the SDK has asked yet, so it is the handler that must look at the answer first, as always.
func Redeem(ctx context.Context) error { return mrtr.Redeem(ctx, nil) }

// RedeemWith is [Redeem] through spend in place of the store's Consume: a transaction that also holds the effect.
// spend has the contract of [requeststate.ReplayStore]'s Consume; package sqlreplay has ConsumeTx for it.
func RedeemWith(ctx context.Context, spend func(ctx context.Context, use requeststate.Use) error) error {
	return mrtr.Redeem(ctx, spend)
}

// Waive says that this request completes without an effect and spends nothing, under [SingleRedemption]: the user
// declined, say. The flow can still be redeemed by another retry until it expires. It is an error after [Redeem].
func Waive(ctx context.Context) error { return mrtr.Waive(ctx) }

// Effect returns a context for the effect after [Redeem]: a client that disconnects does not cancel it, and limit
// does. The redemption is gone by then, so an effect that a disconnect could stop halfway would be lost to the user.
func Effect(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return mrtr.Effect(ctx, limit)
}

// State returns the typed state that [SetState] set in the round before. It reports false if there is none, and if it
// was set as a type with other fields: the state is from before a redeploy then, the answers are dropped from the
// request, and the handler asks again. A type with the method StateVersion() string adds that to its fields, for a
// change of meaning.
//
// Call it before looking at the answers.
func State[T any](ctx context.Context) (T, bool) { return mrtr.State[T](ctx) }

// SetState sets the state of the input-required result that the handler is about to return, as JSON, in place of the
// result's RequestState, which must be empty.
func SetState(ctx context.Context, v any) error { return mrtr.SetState(ctx, v) }

// QuestionVersion says which version of its question the handler asks, "price=10" for instance, and reports whether
// the request answers that very version. If not, because there are no answers yet or they are to an older one, the
// answers are dropped from the request, and the handler asks.
//
// Call it once, before looking at the answers, and heed what it reports: the answers of a client of an older protocol are
// the SDK's to hand out and cannot be dropped. If its question has changed, [Redeem] fails, and the request ends in an
// error unless the handler's own result is one, because the SDK does not ask such a client again.
func QuestionVersion(ctx context.Context, version string) bool {
	return mrtr.QuestionVersion(ctx, version)
}
