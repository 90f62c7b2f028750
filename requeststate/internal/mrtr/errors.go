package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// SecondRound is what a client of an older protocol is told when a handler asks a second time. It says nothing of any
// token.
const SecondRound = "This request needs a second round of input, which takes protocol version 2026-07-28 or later"

var errSecondRound = errors.New("a second input round for a client that cannot echo requestState: " +
	"ask everything in one round, or refuse clients older than 2026-07-28")

// RPC is the JSON-RPC error that answers err: [requeststate.RPCError], and a telling one for a client that is too old
// for a second round.
func RPC(err error) (code int, message string, data json.RawMessage) {
	if errors.Is(err, errSecondRound) {
		return -32603, SecondRound, nil
	}
	return requeststate.RPCError(err)
}

// Ours reports whether a handler's own error is one of the library's, and must reach the client frozen.
func Ours(err error) bool {
	return errors.Is(err, requeststate.ErrInvalid) || errors.Is(err, requeststate.ErrUnavailable)
}

// Refuse logs err for the operator, with the reason that the client does not see, and returns it.
func (g *Guard) Refuse(ctx context.Context, c *Call, err error) error {
	level, message := slog.LevelError, "requestState: internal error"
	switch {
	case errors.Is(err, requeststate.ErrUnavailable):
		message = "requestState: undecided"
	case errors.Is(err, requeststate.ErrInvalid):
		level, message = slog.LevelWarn, "requestState: rejected"
	}
	g.Logger.LogAttrs(ctx, level, message,
		slog.String("method", c.Method), slog.String("name", c.Name),
		slog.String("reason", requeststate.Event{Err: err}.Verdict()), slog.Any("error", err))
	return err
}
