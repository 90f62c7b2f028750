package gosdk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// An Option configures [Middleware].
type Option func(*config)

type config struct {
	mrtr.Config
	principal func(context.Context, mcp.Request) ([]string, error)
	errs      []error
}

// WithPrincipal names the caller by f in place of the verified token info. f returns what identifies the caller for
// good: never a bearer token or a hash of one, which a refresh replaces. The empty string is no caller: sealing is an
// error then, unless the sealer was made with [requeststate.AllowAnonymous]. An error refuses the request, and its
// text goes to the log alone.
func WithPrincipal(f func(ctx context.Context, req mcp.Request) (string, error)) Option {
	return func(c *config) {
		if f == nil {
			c.errs = append(c.errs, errors.New("WithPrincipal(nil)"))
			return
		}
		c.principal = func(ctx context.Context, req mcp.Request) ([]string, error) {
			who, err := f(ctx, req)
			if err != nil || who == "" {
				return nil, err
			}
			return []string{who}, nil
		}
	}
}

// WithLogger sets where refusals and mistakes are logged, one record each: method, name and reason, no token and no
// state. The default is [slog.Default]. The sealer's own logger, if it has one, gets its own records.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.Logger = l } }

// SingleUse spends each token of the named tools, prompts and resources before the handler runs. A resource is named
// by its URI, those of a template by the template. A lost reply ends the flow. It is the right mode for rounds that
// check a secret.
func SingleUse(names ...string) Option {
	return func(c *config) { c.SetUse(requeststate.UseSingle, names...) }
}

// SingleRedemption lets each flow of the named tools, prompts and resources be redeemed once, by [Redeem]. A resource
// is named by its URI, those of a template by the template. Rounds can be repeated until then, so what a handler does
// before Redeem must be free of effects. A handler that got a token and completes without Redeem or [Waive] is an
// internal error.
func SingleRedemption(names ...string) Option {
	return func(c *config) { c.SetUse(requeststate.UseSingleRedemption, names...) }
}

// TTL sets how long the tokens of the named tools, prompts and resources are valid: whole seconds, 1 s up to the
// sealer's maximum ([requeststate.WithMaxTTL]). The default is the sealer's.
func TTL(d time.Duration, names ...string) Option {
	return func(c *config) { c.SetTTL(d, names...) }
}

// Unlisted says of names in other options that the server's lists do not show them to every caller, or not before some
// time. They are not looked for, so nothing notices a typing mistake in them.
func Unlisted(names ...string) Option {
	return func(c *config) { c.SetUnlisted(names...) }
}

// AllowUnaskedAnswers hands the handler all answers that the client sent, as the SDK alone does: also those that came
// without a token, so that a client can answer what it was never asked. A token that is present is still verified.
func AllowUnaskedAnswers() Option { return func(c *config) { c.AllowUnasked = true } }
