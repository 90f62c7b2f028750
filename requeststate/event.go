package requeststate

import (
	"context"
	"errors"
	"log/slog"
)

// An Event is one verdict, for [WithObserver].
type Event struct {
	// Op is "seal", "open" or "redeem".
	Op string
	// Err is nil for success, an [*Error] for a rejection, [ErrUnavailable] for an undecided answer, and any other for a
	// mistake in the program.
	Err error
	// Key is the key's id, zero if it is not known. Counting seals by it tells when to rotate.
	Key KeyID
	// Flow is the first 6 bytes of the flow id in hex; empty before the token is authenticated.
	Flow string
	// Round and Use are the token's; zero before it is authenticated.
	Round int
	Use   UseMode
}

// Verdict is Err in one word or two: "ok", the reason of a rejection, "unavailable", or "error".
func (e Event) Verdict() string {
	var rejected *Error
	switch {
	case e.Err == nil:
		return "ok"
	case errors.Is(e.Err, ErrUnavailable):
		return "unavailable"
	case errors.As(e.Err, &rejected):
		return rejected.Reason()
	}
	return "error"
}

// verdict finishes a call: it puts what is known into a rejection, logs a refusal, tells the observer, and returns the error
// for the caller.
func (s *sealer) verdict(ctx context.Context, op string, err error, key KeyID, c *Claims) error {
	if err == nil && s.observe == nil {
		return nil
	}
	authentic := c != nil && c.Round > 0 // claims are all zero until the codec has authenticated them
	var rejected *Error
	if errors.As(err, &rejected) {
		full := *rejected // the sentinels are shared
		full.key = key
		if authentic {
			full.flow = c.Flow
		}
		rejected = &full
		err = rejected
	}
	if s.observe != nil {
		e := Event{Op: op, Err: err, Key: key}
		if authentic {
			e.Flow, e.Round, e.Use = c.Flow.prefix(), c.Round, c.Use
		}
		s.observe(ctx, e)
	}
	if s.logger == nil || err == nil {
		return err
	}
	if rejected != nil {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "requestState rejected", slog.String("op", op), slog.Any("token", rejected))
	} else {
		s.logger.LogAttrs(ctx, slog.LevelError, "requestState undecided or misused", slog.String("op", op), slog.Any("error", logged{err}))
	}
	return err
}

// logged shows the operator the cause behind ErrUnavailable's fixed text.
type logged struct{ err error }

func (l logged) LogValue() slog.Value {
	var u *unavailable
	if errors.As(l.err, &u) {
		return slog.StringValue(l.err.Error() + ": " + u.cause.Error())
	}
	return slog.StringValue(l.err.Error())
}
