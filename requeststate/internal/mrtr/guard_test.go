package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

func guard(t *testing.T, w *mrtrtest.World, set func(*mrtr.Config)) *mrtr.Guard {
	c := mrtr.Config{Logger: w.Logger}
	set(&c)
	g, err := mrtr.New(w.Sealer, c)
	require.NoError(t, err)
	return g
}

// begin starts a round of a tool call.
func begin(t *testing.T, g *mrtr.Guard, c mrtr.Call) (*mrtr.Round, context.Context) {
	c.Method, c.Request = "tools/call", func() requeststate.Binding { return requeststate.ToolCall(c.Name, nil) }
	r, err := g.Begin(t.Context(), c)
	require.NoError(t, err)
	return r, mrtr.With(t.Context(), r)
}

var (
	confirm = mrtr.Outcome{Asked: map[string]mrtr.Kind{"confirm": mrtr.Elicitation}}
	yes     = map[string]string{"confirm": "accept"}
)

func elicitation(string) mrtr.Kind { return mrtr.Elicitation }

func redemption(c *mrtr.Config) { c.SetUse(requeststate.UseSingleRedemption, "t") }

// hanging is a store that never answers.
type hanging struct{}

func (hanging) Epoch(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
func (hanging) Consume(ctx context.Context, _ requeststate.Use) error { <-ctx.Done(); return ctx.Err() }

func TestNewDoesNotWaitForAStoreThatHangs(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	synctest.Test(t, func(t *testing.T) {
		sealer, err := aead.New(w.Ring, requeststate.WithoutAudience(), requeststate.WithReplayStore(hanging{}))
		require.NoError(t, err)
		var c mrtr.Config
		c.SetUse(requeststate.UseSingle, "a", "b", "c")
		began := time.Now()
		_, err = mrtr.New(sealer, c)
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), 10*time.Second)
	})
}

func TestUnlisted(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	g := guard(t, w, func(c *mrtr.Config) {
		c.SetUse(requeststate.UseSingle, "a", "b")
		c.SetUnlisted("b")
	})
	assert.Equal(t, []string{"a", "b"}, g.Names())
	assert.Equal(t, []string{"a"}, g.Listed())

	var c mrtr.Config
	c.SetUnlisted("c")
	_, err := mrtr.New(w.Sealer, c)
	require.ErrorContains(t, err, `"c" is unlisted`)
	c = mrtr.Config{}
	c.SetUnlisted()
	_, err = mrtr.New(w.Sealer, c)
	require.ErrorContains(t, err, "no names")
}

// Also a server that takes unasked answers takes none to an older question.
func TestUnaskedAnswersToAnOlderQuestion(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	g := guard(t, w, func(c *mrtr.Config) { c.AllowUnasked = true })
	r, ctx := begin(t, g, mrtr.Call{Name: "t"})
	mrtr.QuestionVersion(ctx, "1")
	token, err := r.Finish(ctx, confirm)
	require.NoError(t, err)

	r, ctx = begin(t, g, mrtr.Call{Name: "t", Token: token})
	answers := mrtr.Filter(ctx, r, yes, elicitation)
	require.True(t, mrtr.QuestionVersion(ctx, "1"))
	assert.Equal(t, yes, answers)

	r, ctx = begin(t, g, mrtr.Call{Name: "t", Token: token})
	answers = mrtr.Filter(ctx, r, yes, elicitation)
	require.False(t, mrtr.QuestionVersion(ctx, "2"))
	assert.Empty(t, answers)
	assert.Len(t, yes, 1, "the client's own map is not changed")
}

// The shim has the answers of a legacy client. When the question has changed they buy nothing.
func TestLegacyAnswersToAnOlderQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		second string
		end    func(context.Context) error
		failed bool
		code   int // 0: the request completes
	}{
		"the same":        {"1", redeem, false, 0},
		"a newer":         {"2", redeem, false, -32603},
		"a newer, waived": {"2", mrtr.Waive, false, 0},
		"a newer, failed": {"2", nothing, true, 0},
		"a newer, silent": {"2", nothing, false, -32603},
	} {
		t.Run(name, func(t *testing.T) {
			r, ctx := begin(t, guard(t, mrtrtest.NewWorld(t), redemption), mrtr.Call{Name: "t", Legacy: true})
			require.False(t, mrtr.QuestionVersion(ctx, "1"), "the first run asks")
			require.Equal(t, test.second == "1", mrtr.QuestionVersion(ctx, test.second), "the second run")
			err := test.end(ctx)
			require.Equal(t, test.code != 0 && test.second == "2" && name != "a newer, silent", err != nil)
			_, err = r.Finish(ctx, mrtr.Outcome{Failed: test.failed})
			code := 0
			if err != nil {
				var message string
				code, message, _ = mrtr.RPC(err)
				assert.Equal(t, mrtr.SecondRound, message)
			}
			assert.Equal(t, test.code, code)
		})
	}
}

func redeem(ctx context.Context) error { return mrtr.Redeem(ctx, nil) }
func nothing(context.Context) error    { return nil }

// A client that is told of an outage must not have had the effect: a handler that tries again gets the same error.
func TestARedeemThatFailedStaysFailed(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		w := mrtrtest.NewWorld(t)
		g := guard(t, w, redemption)
		r, ctx := begin(t, g, mrtr.Call{Name: "t", Legacy: legacy})
		if !legacy {
			token, err := r.Finish(ctx, confirm)
			require.NoError(t, err)
			r, ctx = begin(t, g, mrtr.Call{Name: "t", Token: token})
		}
		w.Store.Down.Store(true)
		require.ErrorIs(t, redeem(ctx), requeststate.ErrUnavailable)
		w.Store.Down.Store(false)
		require.ErrorIs(t, redeem(ctx), requeststate.ErrUnavailable)
		_, err := r.Finish(ctx, mrtr.Outcome{})
		require.ErrorIs(t, err, requeststate.ErrUnavailable)
	}
}

// An approval that is gone without an effect is for the operator to know, whether the handler panics or fails.
func TestAFailureAfterRedeemingIsLogged(t *testing.T) {
	for message, end := range map[string]func(context.Context, *mrtr.Round){
		"failed after it redeemed": func(ctx context.Context, r *mrtr.Round) {
			_, err := r.Finish(ctx, mrtr.Outcome{Failed: true})
			assert.NoError(t, err)
		},
		"panicked after it redeemed": func(ctx context.Context, r *mrtr.Round) { r.Abandoned(ctx) },
	} {
		w := mrtrtest.NewWorld(t)
		r, ctx := begin(t, guard(t, w, redemption), mrtr.Call{Name: "t", Legacy: true})
		require.NoError(t, redeem(ctx))
		end(ctx, r)
		assert.Contains(t, w.Log(), message)

		w = mrtrtest.NewWorld(t)
		r, ctx = begin(t, guard(t, w, redemption), mrtr.Call{Name: "t"})
		end(ctx, r)
		assert.NotContains(t, w.Log(), "after it redeemed")
	}
}

// A client chooses the name that it calls. It does not choose how long the log is.
func TestLongNamesAreCutInTheLog(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	g := guard(t, w, func(*mrtr.Config) {})
	_ = g.Refuse(t.Context(), &mrtr.Call{Name: strings.Repeat("a", 1<<20)}, requeststate.ErrForged)
	var record struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(w.Log()), &record))
	assert.Equal(t, strings.Repeat("a", 200)+"…", record.Name)
}

func TestRPC(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	_, malformed := w.Sealer.Seal(t.Context(), nil, requeststate.ToolCall("t", json.RawMessage("{")), requeststate.Principal("u"))
	require.Error(t, malformed)
	for name, test := range map[string]struct {
		err     error
		code    int
		message string
	}{
		"a rejection":         {requeststate.ErrForged, -32602, "Invalid or expired requestState"},
		"malformed arguments": {malformed, -32602, "Invalid params"},
		"with a rejection":    {errors.Join(requeststate.ErrRequest, malformed), -32602, "Invalid or expired requestState"},
		"an outage":           {errors.Join(requeststate.ErrUnavailable, malformed), -32603, "Internal error"},
		"anything else":       {errors.New("x"), -32603, "Internal error"},
	} {
		code, message, _ := mrtr.RPC(test.err)
		assert.Equal(t, test.code, code, name)
		assert.Equal(t, test.message, message, name)
	}
}
