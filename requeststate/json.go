package requeststate

import (
	"context"
	"encoding/json"
	"fmt"
)

// SealJSON seals v as JSON.
func SealJSON(ctx context.Context, s Sealer, v any, opts ...SealOption) (string, error) {
	state, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("requeststate: state: %w", err)
	}
	return s.Seal(ctx, state, append(opts[:len(opts):len(opts)], Binding{kind: kindJSON})...)
}

// OpenJSON opens a token whose state is JSON of a T. It decodes before a single-use token is spent, so that a redeploy with
// another state type burns nothing; such a state is an error that is not [ErrInvalid].
func OpenJSON[T any](ctx context.Context, s Sealer, token string, opts ...OpenOption) (T, *Opened, error) {
	var v, zero T
	decode := func(state []byte) error {
		if err := json.Unmarshal(state, &v); err != nil {
			return &stateError{cause: err}
		}
		return nil
	}
	opened, err := s.Open(ctx, token, append(opts[:len(opts):len(opts)], Binding{kind: kindDecode, value: decode})...)
	if err != nil {
		return zero, nil, err
	}
	return v, opened, nil
}

// stateError has a text without any of the state, which json's errors quote.
type stateError struct{ cause error }

func (e *stateError) Error() string {
	return "requeststate: the state does not fit the type that OpenJSON was given"
}
func (e *stateError) Unwrap() error { return e.cause }
