package mcpgo

import (
	"log/slog"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// An Option configures [Protect].
type Option func(*config)

type config struct {
	mrtr.Config
	errs []error
}

// WithLogger sets where refusals and mistakes are logged, one record each: method, name and reason, no token and no state. The
// default is [slog.Default]. The sealer's own logger, if it has one, gets its own records.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.Logger = l } }

// SingleUse spends each token of the named tools and prompts before the handler runs. A lost reply ends the flow. It is the right
// mode for rounds that check a secret.
func SingleUse(names ...string) Option {
	return func(c *config) { c.SetUse(requeststate.UseSingle, names...) }
}

// SingleRedemption lets each flow of the named tools and prompts be redeemed once, by [Redeem]. Rounds can be repeated until then,
// so what a handler does before Redeem must be free of effects. A handler that got a token and completes without Redeem or
// [Waive] is an internal error.
func SingleRedemption(names ...string) Option {
	return func(c *config) { c.SetUse(requeststate.UseSingleRedemption, names...) }
}

// TTL sets how long the tokens of the named tools and prompts are valid: whole seconds, 1 s up to the sealer's maximum
// ([requeststate.WithMaxTTL]). The default is the sealer's.
func TTL(d time.Duration, names ...string) Option {
	return func(c *config) { c.SetTTL(d, names...) }
}

// Unlisted says of names in other options that the server has no tool or prompt of that name for everybody: a session's own tools, or those
// that are added late. They are not looked for, so nothing notices a typing mistake in them.
func Unlisted(names ...string) Option {
	return func(c *config) { c.SetUnlisted(names...) }
}

// AllowUnaskedAnswers hands the handler all answers that the client sent, as the SDK alone does: also those that came without a
// token, so that a client can answer what it was never asked. A token that is present is still verified.
func AllowUnaskedAnswers() Option { return func(c *config) { c.AllowUnasked = true } }
