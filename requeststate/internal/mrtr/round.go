package mrtr

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Call is one request, as the adapter sees it.
type Call struct {
	// Method is tools/call, prompts/get or resources/read.
	Method string
	// Name is the tool, prompt or resource as the options would name it.
	Name string
	// Principal are the parts that name the caller; none: anonymous.
	Principal []string
	// Request binds the request. It is asked for only where there is a token, or one to make: most calls have none.
	Request func() requeststate.Binding
	// Token is the requestState that came in; empty: none.
	Token string
	// Legacy says that the client cannot echo a state and the SDK's shim asks and retries inside this request.
	Legacy bool
}

// A Round is one request under way. It is safe for concurrent use.
type Round struct {
	guard  *Guard
	call   Call
	mode   requeststate.UseMode
	space  [4]requeststate.Binding // of bindings
	opened *requeststate.Opened    // nil: no token
	in     envelope

	mu        sync.Mutex
	out       envelope // what the handler said through its context
	typed     bool     // out has typed state
	versioned bool     // out has a question version
	drop      func()   // takes the answers away from the handler
	redeemed  bool
	waived    bool
	// The question changed under a legacy client that has answered it, which the SDK does not ask again.
	superseded bool
	failed     error // why a Redeem failed: the answer to the client, whatever the handler makes of it
}

// Begin opens the token of c, if there is one, and spends it under single use. An error is logged already.
func (g *Guard) Begin(ctx context.Context, c Call) (*Round, error) {
	r := &Round{guard: g, call: c, mode: g.uses[c.Name]}
	if c.Token == "" {
		return r, nil
	}
	opened, err := g.sealer.Open(ctx, c.Token, r.bindings()...)
	if err != nil {
		g.Refuse(ctx, &c, err)
		if len(c.Principal) == 0 && !Ours(err) {
			// The sealer wants a principal and there is none: no token can be this caller's.
			err = requeststate.ErrPrincipal
		}
		return nil, err
	}
	r.opened, r.in = opened, decode(opened.State)
	return r, nil
}

// bindings are what every token of the round is bound to.
func (r *Round) bindings() []requeststate.Binding {
	b := append(r.guard.bindings(r.space[:0], r.call.Name), r.call.Request())
	if len(r.call.Principal) > 0 {
		b = append(b, requeststate.Principal(r.call.Principal...))
	}
	return b
}

// State is the handler's own state of the round before, in plain; empty if there is none.
func (r *Round) State() string { return r.in.state }

// Filter returns the answers that the token of r asked for, in a map of their own; nil if there are none. kind says
// what an answer is. The answers are dropped later if the handler finds that they belong to another question.
func Filter[V any](ctx context.Context, r *Round, answers map[string]V, kind func(V) Kind) map[string]V {
	if len(answers) == 0 {
		return answers
	}
	var kept map[string]V
	for key, answer := range answers {
		asked, ok := r.in.asked[key]
		if !r.guard.AllowUnasked && (!ok || asked != kind(answer)) {
			continue
		}
		if kept == nil {
			kept = make(map[string]V, len(answers))
		}
		kept[key] = answer
	}
	if dropped := len(answers) - len(kept); dropped > 0 {
		r.guard.log(ctx, slog.LevelDebug, "requestState: answers dropped that were not asked for", &r.call,
			slog.Int("dropped", dropped), slog.Bool("token", r.opened != nil))
	}
	r.drop = func() { clear(kept) }
	return kept
}

// An Outcome is what the handler returned.
type Outcome struct {
	// Asked are the questions by key, not nil if the result is an input-required one.
	Asked map[string]Kind
	// State is the result's plain state.
	State string
	// Failed says that the handler returned an error, as error or as a tool result.
	Failed bool
}

// Finish ends the round. The token is for an input-required result, and empty for any other. An error is logged
// already.
func (r *Round) Finish(ctx context.Context, o Outcome) (token string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.redeemed && o.Failed {
		r.spent(ctx, "requestState: the handler failed after it redeemed; the flow stays spent")
	}
	switch {
	case r.failed != nil:
		return "", r.failed // logged by redeem
	case o.Asked != nil:
		token, err = r.seal(ctx, o)
	default:
		err = r.complete(o)
	}
	if err != nil {
		return "", r.guard.Refuse(ctx, &r.call, err)
	}
	return token, nil
}

// complete checks a result that asks nothing.
func (r *Round) complete(o Outcome) error {
	switch {
	case o.State != "":
		return errors.New("the handler set a state on a result that asks for no input; " +
			"it would leave in plain: set InputRequests, an empty map if the state is all there is")
	case r.superseded && !r.waived && !o.Failed:
		return errSecondRound
	case r.mode == requeststate.UseSingleRedemption && r.opened != nil && !r.redeemed && !r.waived && !o.Failed:
		return errors.New("the handler completed without Redeem or Waive: " +
			"call Redeem just before the effect, or Waive where there is none")
	}
	return nil
}

// seal makes the token of an input-required result.
func (r *Round) seal(ctx context.Context, o Outcome) (string, error) {
	if r.call.Legacy {
		return "", errSecondRound
	}
	env := envelope{question: r.out.question, asked: o.Asked, state: o.State}
	switch {
	case r.typed && o.State != "":
		return "", errors.New("the handler called SetState and set a state on its result, too")
	case r.typed:
		env.schema, env.state = r.out.schema, r.out.state
	}
	var opts []requeststate.Binding
	if r.opened != nil {
		opts = append(r.space[:0], requeststate.Continue(r.opened)) // with the bindings and the mode of the round before
	} else {
		opts = r.bindings()
	}
	return r.guard.sealer.Seal(ctx, env.encode(), r.guard.ttl(opts, r.call.Name)...)
}

// Abandoned tells the operator about a handler that neither returned nor failed. Call it when the handler panicked.
func (r *Round) Abandoned(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.redeemed {
		r.spent(ctx, "requestState: the handler panicked after it redeemed; the flow stays spent")
	}
}

// spent tells the operator about a user whose approval is gone and who may not have got anything for it.
func (r *Round) spent(ctx context.Context, message string) {
	r.guard.log(ctx, slog.LevelError, message, &r.call, slog.String("flow", hex.EncodeToString(r.opened.Flow[:6])))
}
