package mrtr

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// State returns the typed state of the request of ctx: what SetState said in the round before, or in this one. It
// reports false where there is none, and where it was set as another type or another shape of T; the answers are
// dropped then, so that the handler asks again.
func State[T any](ctx context.Context) (T, bool) {
	var v, zero T
	r, err := from(ctx)
	if err != nil {
		return zero, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	have := &r.in
	if r.typed {
		have = &r.out // a legacy client's second run is in the same request
	}
	if have.schema != schemaOf(reflect.TypeFor[T]()) || json.Unmarshal([]byte(have.state), &v) != nil {
		r.stale()
		return zero, false
	}
	return v, true
}

// SetState sets the typed state of the input-required result that the handler is about to return.
func SetState(ctx context.Context, v any) error {
	r, err := from(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("requeststate: state: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.state, r.out.schema, r.typed = string(text), schemaOf(reflect.TypeOf(v)), true
	return nil
}

// QuestionVersion says which version of its question the handler asks now. It reports whether the request answers
// that version; if not, the answers are dropped. Those of a legacy client, which the SDK's shim has, cannot be, so the
// request can neither redeem nor complete then, unless it fails or waives.
func QuestionVersion(ctx context.Context, version string) bool {
	r, err := from(ctx)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	answered := r.opened != nil && r.in.question == version
	if r.opened == nil && r.call.Legacy {
		answered = r.versioned && r.out.question == version // the first run of this request asked it
		r.superseded = r.superseded || r.versioned && !answered
	}
	r.out.question, r.versioned = version, true
	if !answered {
		r.stale()
	}
	return answered
}

// stale drops the answers that the handler holds.
func (r *Round) stale() {
	if r.drop != nil {
		r.drop()
	}
}
