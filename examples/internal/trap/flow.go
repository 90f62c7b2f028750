package trap

import (
	"context"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Step is one thing that happened in a flow, and how it ended.
type Step struct {
	What string
	Err  error // nil: it worked
	// Effect says that a success of this step is a redemption: money moves.
	Effect bool
}

// redeem opens the token of the flow's last round and redeems it, as a handler does just before the effect. A server
// without single use has nothing to redeem: its effect runs whenever the token opens.
func (s *Server) redeem(ctx context.Context, as Config, token string) error {
	opened, err := s.open(ctx, as, token, requeststate.SingleRedemption())
	if err != nil || s.Without[SingleUse] {
		return err
	}
	return opened.Redeem(ctx)
}

// next opens the token of one round and seals that of the next, as a handler does that has another question.
func (s *Server) next(ctx context.Context, as Config, token string) (string, error) {
	opened, err := s.open(ctx, as, token, requeststate.SingleRedemption())
	if err != nil {
		return "", err
	}
	return s.sealer.Seal(ctx, as.State, requeststate.Continue(opened))
}

// forked is the attack of taking a flow's first token back to the server after the flow was redeemed, and going
// through its second round again.
func forked(ctx context.Context, sc *scene) ([]move, error) {
	first, err := sc.mint(ctx, sc.Config, requeststate.SingleRedemption())
	if err != nil {
		return nil, err
	}
	branch := func(token string) error {
		second, err := sc.next(ctx, sc.Config, token)
		if err != nil {
			return err
		}
		return sc.redeem(ctx, sc.Config, second)
	}
	if err := branch(first); err != nil { // the honest one
		return nil, err
	}
	return []move{
		{name: "verbatim", do: func() error { return branch(first) }},
		{name: "rewritten", rewrites: true, do: func() error {
			token, err := sc.rewrite(ctx, first, sc.Config, requeststate.SingleRedemption())
			if err != nil {
				return err
			}
			return branch(token)
		}},
	}, nil
}

// Fork plays a flow of two rounds whose first token is presented twice, so that there are two second rounds, and
// redeems both.
func Fork(ctx context.Context, c Config, key requeststate.Key, start time.Time) ([]Step, error) {
	sc, err := newScene(c, key, start)
	if err != nil {
		return nil, err
	}
	first, err := sc.mint(ctx, c, requeststate.SingleRedemption())
	if err != nil {
		return nil, err
	}
	steps := []Step{{What: "Round 1: the server asks, and seals token 1"}}
	var branches [2]string
	for i, what := range []string{"Token 1 presented: round 2, token 2a", "Token 1 presented again: round 2, token 2b"} {
		branches[i], err = sc.next(ctx, c, first)
		steps = append(steps, Step{What: what, Err: err})
	}
	for i, what := range []string{"Token 2a presented and redeemed", "Token 2b presented and redeemed"} {
		steps = append(steps, Step{What: what, Err: sc.redeem(ctx, c, branches[i]), Effect: true})
	}
	return steps, nil
}

// Flows begins n flows for the same card and finishes each. It is what no requestState can stop: every token is
// genuine, fresh, and used once.
func Flows(ctx context.Context, c Config, key requeststate.Key, start time.Time, n int) ([]Step, error) {
	sc, err := newScene(c, key, start)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for range n {
		token, err := sc.Mint(ctx)
		if err != nil {
			return nil, err
		}
		err = sc.present(ctx, c, token)
		steps = append(steps, Step{What: "A new flow: token sealed and presented", Err: err, Effect: true})
	}
	return steps, nil
}
