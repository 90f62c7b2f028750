package requeststate

import (
	"encoding/json"
	"errors"
	"log/slog"
)

// rejection is the one text of every rejection. MCP SDKs copy the text of a handler's error to the client, and the
// client must not learn which check failed.
const rejection = "requeststate: invalid or expired token"

// An Error is a rejected token. Its text is the same for every reason, so that it may reach the client; the reason is for
// the server, through [errors.Is], [Error.Reason] and [Error.LogValue].
type Error struct {
	reason string // a constant of this package
	detail string // for the log: what about the reason, never a secret
	key    KeyID  // zero before the key is known
	flow   ID     // zero before the token is authenticated
}

// Reasons, for [errors.Is]. A token with several faults has the reason of the first check that failed, in the order of
// [Sealer.Open]: one that is both forged and expired is only ErrForged.
var (
	// ErrInvalid matches every rejection.
	ErrInvalid error = &Error{reason: "invalid"}
	// ErrMalformed: not a token of this format, or not its one spelling, or claims that no sealer writes.
	ErrMalformed error = &Error{reason: "malformed"}
	// ErrTooLarge: longer than [WithMaxTokenSize].
	ErrTooLarge error = &Error{reason: "too large"}
	// ErrUnknownKey: sealed under a key that is not in the ring.
	ErrUnknownKey error = &Error{reason: "unknown key"}
	// ErrForged: authentication failed under the key that the token names.
	ErrForged error = &Error{reason: "forged"}
	// ErrAudience: sealed for another service.
	ErrAudience error = &Error{reason: "other audience"}
	// ErrPrincipal: sealed for another caller, or for none, or presented by none.
	ErrPrincipal error = &Error{reason: "other principal"}
	// ErrRequest: sealed for another method or other parameters.
	ErrRequest error = &Error{reason: "other request"}
	// ErrUse: single use was asked for and is not sealed in, or the reverse.
	ErrUse error = &Error{reason: "other use mode"}
	// ErrExpired: now is not before the expiry, or the flow's deadline has passed.
	ErrExpired error = &Error{reason: "expired"}
	// ErrNotYetValid: issued more than 60 seconds in the future.
	ErrNotYetValid error = &Error{reason: "not yet valid"}
	// ErrConsumed: spent before. A [ReplayStore] returns it, too.
	ErrConsumed error = &Error{reason: "already used"}
	// ErrStale: the store cannot know whether it was spent, because its history changed or it has forgotten ids of that
	// age. The user must start the flow again. A [ReplayStore] returns it, too.
	ErrStale error = &Error{reason: "stale"}
)

// Error is the same text for every reason.
func (e *Error) Error() string { return rejection }

// Is reports whether target is [ErrInvalid] or the sentinel of e's reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t != nil && (t == ErrInvalid || t.reason == e.reason)
}

// Reason names the check that failed, for logs and metrics. It is one of a fixed set of short words and is not for
// clients.
func (e *Error) Reason() string { return e.reason }

// LogValue shows the reason, and the key id and the flow's prefix where they are known.
func (e *Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("reason", e.reason)}
	if e.detail != "" {
		attrs = append(attrs, slog.String("detail", e.detail))
	}
	if e.key != (KeyID{}) {
		attrs = append(attrs, slog.String("key", e.key.String()))
	}
	if e.flow != (ID{}) {
		attrs = append(attrs, slog.String("flow", e.flow.prefix()))
	}
	return slog.GroupValue(attrs...)
}

// ErrUnavailable: the store or the key service did not decide (down, timed out, full). It is not [ErrInvalid]: it means
// "try again", never "used". The effect must not run.
var ErrUnavailable error = errors.New("requeststate: temporarily unavailable, try again")

// unavailable is ErrUnavailable with the cause for the server. The text stays fixed.
type unavailable struct{ cause error }

func (e *unavailable) Error() string        { return ErrUnavailable.Error() }
func (e *unavailable) Is(target error) bool { return target == ErrUnavailable }
func (e *unavailable) Unwrap() error        { return e.cause }
func (e *unavailable) LogValue() slog.Value { return slog.StringValue(e.cause.Error()) }

// Unavailable returns an error that is [ErrUnavailable], has its fixed text and unwraps to cause. It is for stores and
// codecs.
func Unavailable(cause error) error {
	if cause == nil {
		return ErrUnavailable
	}
	if errors.Is(cause, ErrInvalid) {
		// An undecided outcome must not pass for a rejection, whatever it wraps.
		cause = errors.New("undecided after a rejection")
	}
	return &unavailable{cause: cause}
}

// RPCError returns the JSON-RPC error that answers err: -32602 with a fixed message and data for every rejection, -32603
// with a fixed message and no data for everything else. Nothing in it depends on which check failed. For a nil err all
// results are zero.
//
// The rejection is the answer that the official Python and TypeScript SDKs give (invalid params, JSON-RPC 2.0 section 5.1).
func RPCError(err error) (code int, message string, data json.RawMessage) {
	switch {
	case err == nil:
		return 0, "", nil
	case errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnavailable):
		return -32602, "Invalid or expired requestState", json.RawMessage(`{"reason":"invalid_request_state"}`)
	default:
		return -32603, "Internal error", nil
	}
}
