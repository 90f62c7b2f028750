package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// A Request is what the principal function may look at.
type Request struct {
	// Method is tools/call or prompts/get, and Name the tool's or prompt's name.
	Method, Name string
	// Header has the HTTP headers, and is empty on other transports.
	Header http.Header
}

// A Principal names the authenticated caller: what identifies it for good, never a bearer token or a hash of one, which a
// refresh replaces. The empty string is no caller: sealing is an error then, unless the sealer was made with
// [requeststate.AllowAnonymous]. An error refuses the request, and its text goes to the log alone.
type Principal func(ctx context.Context, r Request) (string, error)

// Protect returns a server option that seals every requestState of the server on the way out and verifies it on the way in, for
// tools/call and prompts/get, and refuses it elsewhere.
//
// It seals one token that nobody gets for each name in the options, so that a sealer without a replay store, or with a maximum
// TTL below one asked for, is an error here. A name that the server has no tool or prompt for makes every call an internal
// error, from the first on ([Unlisted] is for a session's own tools).
func Protect(sealer requeststate.Sealer, principal Principal, opts ...Option) (server.ServerOption, error) {
	var c config
	if principal == nil {
		c.errs = append(c.errs, errors.New("a principal function is required: this SDK has no token info; "+
			"return \"\" for a sealer with AllowAnonymous"))
	}
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("mcpgo: nil Option")
		}
		o(&c)
	}
	guard, err := mrtr.New(sealer, c.Config)
	if err := errors.Join(append(c.errs, err)...); err != nil {
		return nil, fmt.Errorf("mcpgo: %w", err)
	}
	return func(s *server.MCPServer) { // one for each server that gets the option
		(&protection{guard: guard, principal: principal}).install(s)
	}, nil
}

type protection struct {
	guard     *mrtr.Guard
	principal Principal
	hooks     *server.Hooks
	known     atomic.Bool // all names of the options exist
}

func (p *protection) install(s *server.MCPServer) {
	server.WithToolHandlerMiddleware(p.tool)(s)
	server.WithPromptHandlerMiddleware(p.prompt)(s)
	server.WithResourceHandlerMiddleware(p.resource)(s)
	p.hooks = s.GetHooks()
	if p.hooks == nil {
		p.hooks = &server.Hooks{}
		server.WithHooks(p.hooks)(s)
	}
	p.hooks.AddOnRequestInitialization(refuseTasks)
	server.WithToolFilter(func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if s.GetHooks() == p.hooks {
			return tools
		}
		// Calls as tasks, which pass no middleware, are no longer refused, and would let plain state out.
		_ = p.guard.Refuse(ctx, &mrtr.Call{Method: string(mcp.MethodToolsCall)}, errHooks)
		return nil
	})(s)
}

var errHooks = errors.New("server.WithHooks was given after mcpgo.Protect, and replaced its hooks: give it before")

var errTask = errors.New("tools are not run as tasks here")

// refuseTasks is the only hook before a tool that runs as a task alone, which passes no middleware: a plain state would leave
// with its result. A tool that also runs otherwise would pass it, but its task outlives the request that the token is bound to.
func refuseTasks(_ context.Context, _ any, message any) error {
	raw, ok := message.(json.RawMessage)
	if !ok {
		return errTask
	}
	var call struct {
		Method string `json:"method"`
		Params struct {
			Task json.RawMessage `json:"task"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &call) == nil && call.Method == string(mcp.MethodToolsCall) && len(call.Params.Task) > 0 &&
		string(call.Params.Task) != "null" {
		return errTask
	}
	return nil
}

// begin opens the token of a call. Its error is for the wire.
func (p *protection) begin(ctx context.Context, c mrtr.Call, h http.Header) (*mrtr.Round, mrtr.Call, error) {
	if err := p.check(ctx); err != nil {
		return nil, c, wire(p.guard.Refuse(ctx, &c, err))
	}
	who, err := p.principal(ctx, Request{c.Method, c.Name, h})
	if err != nil {
		return nil, c, wire(p.guard.Refuse(ctx, &c, refusal{fmt.Errorf("principal: %w", err)}))
	}
	if who != "" {
		c.Principal = []string{who}
	}
	round, err := p.guard.Begin(ctx, c)
	if err != nil {
		return nil, c, wire(err)
	}
	return round, c, nil
}

// finish ends the round of a result. Its error is for the wire, or the handler's own.
func (p *protection) finish(ctx context.Context, round *mrtr.Round, c *mrtr.Call, o mrtr.Outcome, err error) (string, error) {
	o.Failed = o.Failed || err != nil
	token, refused := round.Finish(ctx, o)
	switch {
	case refused != nil:
		return "", wire(refused)
	case mrtr.Ours(err):
		return "", wire(p.guard.Refuse(ctx, c, err))
	}
	return token, err
}

// check finds what would let state out, or leave a tool without single use, in silence. Tools may be added after the server was
// made, so it looks at the first call, and again until all names have been seen.
func (p *protection) check(ctx context.Context) error {
	if p.known.Load() {
		return nil
	}
	s := server.ServerFromContext(ctx)
	if s == nil {
		return errors.New("no server in the context of the call")
	}
	if s.GetHooks() != p.hooks {
		return errHooks
	}
	var missing []string
	tools, prompts := s.ListTools(), s.ListPrompts()
	for _, name := range p.guard.Listed() {
		if tools[name] == nil && prompts[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the options name %q, and the server has no such tool or prompt", missing)
	}
	p.known.Store(true)
	return nil
}

// refusal is an error of the caller's function, whatever it wraps: an internal error, and never a verdict on a token.
type refusal struct{ cause error }

func (e refusal) Error() string { return e.cause.Error() }

// wireError is the message for the client. The SDK adds the code -32603.
type wireError struct{ message string }

func (e wireError) Error() string { return e.message }

func wire(err error) error {
	_, message, _ := mrtr.RPC(err)
	return wireError{message}
}
