package gosdk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// multiRoundTrip is the first protocol version whose clients echo requestState.
const multiRoundTrip = "2026-07-28"

// Middleware returns receiving middleware that seals every requestState of a server on the way out and verifies it on
// the way in, for tools/call, prompts/get and resources/read; other methods pass untouched. Add it last.
//
// It seals one token that nobody gets for each name in the options, so that a sealer without a replay store, or with
// a maximum TTL below one asked for, is an error here; a store that does not answer within ten seconds is not. A name
// that the server has no tool, prompt or resource for makes every call of the three methods an internal error, from the
// first on, until a caller is shown all of them ([Unlisted] is for names that not everybody is shown).
func Middleware(sealer requeststate.Sealer, opts ...Option) (mcp.Middleware, error) {
	c := config{principal: tokenPrincipal}
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("gosdk: nil Option")
		}
		o(&c)
	}
	guard, err := mrtr.New(sealer, c.Config)
	if err := errors.Join(append(c.errs, err)...); err != nil {
		return nil, fmt.Errorf("gosdk: %w", err)
	}
	templates, err := templatesOf(guard.Names())
	if err != nil {
		return nil, fmt.Errorf("gosdk: %w", err)
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler { // one for each server that gets it
		m := &middleware{guard: guard, principal: c.principal, templates: templates, next: next, missing: guard.Listed()}
		m.known.Store(len(m.missing) == 0)
		return m.handle
	}, nil
}

type middleware struct {
	guard     *mrtr.Guard
	principal func(context.Context, mcp.Request) ([]string, error)
	templates []template
	next      mcp.MethodHandler
	known     atomic.Bool // all names of the options exist

	mu      sync.Mutex
	missing []string // names of the options that have not been seen yet
}

func (m *middleware) handle(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
	in, ok := m.read(method, req)
	if !ok {
		return m.next(ctx, method, req)
	}
	call, err := m.call(ctx, method, req, in)
	if err != nil {
		return nil, wire(m.guard.Refuse(ctx, &call, err))
	}
	round, err := m.guard.Begin(ctx, call)
	if err != nil {
		return nil, wire(err)
	}
	returned := false
	defer func() {
		if !returned { // the panic goes on: whether it ends the process is not for this package to say
			round.Abandoned(ctx)
		}
	}()
	answers := mrtr.Filter(ctx, round, in.answers, kindOf)
	res, err := m.next(mrtr.With(ctx, round), method, in.plain(round.State(), answers))
	returned = true
	return m.finish(ctx, round, &call, res, err)
}

// call describes the request to the guard.
func (m *middleware) call(ctx context.Context, method string, req mcp.Request, in inbound) (mrtr.Call, error) {
	c := mrtr.Call{Method: method, Name: in.name, Token: in.token}
	if in.plain == nil {
		return c, fmt.Errorf("the request of %s is a %T: some middleware outside replaced it", method, req)
	}
	if err := m.checkNames(ctx, req); err != nil {
		return c, err
	}
	principal, err := m.principal(ctx, req)
	if err != nil {
		return c, refusal{fmt.Errorf("principal: %w", err)}
	}
	c.Principal, c.Request, c.Legacy = principal, in.bind, legacy(req)
	return c, nil
}

// finish turns what the handler returned into what the client gets.
func (m *middleware) finish(
	ctx context.Context, round *mrtr.Round, call *mrtr.Call, res mcp.Result, err error,
) (mcp.Result, error) {
	out, known := readResult(res)
	out.Failed = out.Failed || err != nil
	token, refused := round.Finish(ctx, out.Outcome)
	switch {
	case refused != nil:
		return nil, wire(refused)
	case mrtr.Ours(err):
		return nil, wire(m.guard.Refuse(ctx, call, err))
	case err != nil:
		return res, err
	case mrtr.Ours(out.err):
		return nil, wire(m.guard.Refuse(ctx, call, out.err))
	case !known:
		err := fmt.Errorf("the result is a %T, in which a plain state could hide", res)
		return nil, wire(m.guard.Refuse(ctx, call, err))
	case token == "":
		return res, nil
	}
	return out.sealed(token), nil
}

// wire is the error for the client: bare, because the SDK knows a *jsonrpc.Error only unwrapped.
func wire(err error) *jsonrpc.Error {
	code, message, data := mrtr.RPC(err)
	return &jsonrpc.Error{Code: int64(code), Message: message, Data: data}
}

// refusal is an error of a caller's function, whatever it wraps: an internal error, and never a verdict on a token.
type refusal struct{ cause error }

func (e refusal) Error() string { return e.cause.Error() }

// legacy reports whether the SDK will ask the client itself and run the handler twice. It is the SDK's own test: the
// session's version, whatever the request claims.
func legacy(req mcp.Request) bool {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil {
		return false
	}
	params := session.InitializeParams()
	return params != nil && params.ProtocolVersion < multiRoundTrip
}
