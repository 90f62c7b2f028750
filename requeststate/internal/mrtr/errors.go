package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mcp-requeststate/requeststate-go/internal/reqdigest"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// SecondRound is what a client of an older protocol is told when a handler asks a second time. It says nothing of any
// token.
const SecondRound = "This request needs a second round of input, which takes protocol version 2026-07-28 or later"

var errSecondRound = errors.New("a second input round for a client that cannot echo requestState: " +
	"ask everything in one round, or refuse clients older than 2026-07-28")

// RPC is the JSON-RPC error that answers err: [requeststate.RPCError], and a telling one where no token was looked at:
// for a client that is too old for a second round, and for a first call whose arguments no token can be bound to.
func RPC(err error) (code int, message string, data json.RawMessage) {
	switch {
	case errors.Is(err, errSecondRound):
		return -32603, SecondRound, nil
	case malformed(err):
		return -32602, "Invalid params", nil
	}
	return requeststate.RPCError(err)
}

// malformed reports whether err is about the arguments of a request: a member twice, say. A request that brings a token
// gets the same answer as for every other cause.
func malformed(err error) bool {
	var digest *reqdigest.Error
	return errors.As(err, &digest) && !Ours(err)
}

// Ours reports whether a handler's own error is one of the library's, and must reach the client frozen.
func Ours(err error) bool {
	return errors.Is(err, requeststate.ErrInvalid) || errors.Is(err, requeststate.ErrUnavailable)
}

// Refuse logs err for the operator, with the reason that the client does not see, and returns it.
func (g *Guard) Refuse(ctx context.Context, c *Call, err error) error {
	level, message := slog.LevelError, "requestState: internal error"
	reason := requeststate.Event{Err: err}.Verdict()
	switch {
	case malformed(err):
		level, message, reason = slog.LevelWarn, "requestState: rejected", "malformed arguments"
	case errors.Is(err, requeststate.ErrUnavailable):
		message = "requestState: undecided"
	case errors.Is(err, requeststate.ErrInvalid):
		level, message = slog.LevelWarn, "requestState: rejected"
	}
	g.log(ctx, level, message, c, slog.String("reason", reason), slog.Any("error", err))
	return err
}

// maxLoggedName is more than any name that makes sense; the client chooses it, and the log is not its to fill.
const maxLoggedName = 200

func (g *Guard) log(ctx context.Context, level slog.Level, message string, c *Call, more ...slog.Attr) {
	name := c.Name
	if len(name) > maxLoggedName {
		name = name[:maxLoggedName] + "…"
	}
	attrs := append([]slog.Attr{slog.String("method", c.Method), slog.String("name", name)}, more...)
	g.Logger.LogAttrs(ctx, level, message, attrs...)
}
