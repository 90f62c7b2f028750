package mrtrtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr"
)

// Tools are the names that an adapter registers, each with [World.Handle]; SingleUse and SingleRedemption those that
// it names in its options.
var (
	Tools = []string{
		"plain", "plain2", "once", "redeem", "three", "panics", "slow", "forgetful", "swallows", "versioned", "busy", "leaky",
	}
	SingleUse        = []string{"once"}
	SingleRedemption = []string{"redeem", "three", "panics", "slow", "forgetful", "swallows"}
)

// heedless tools have the effect whatever the answer says, and never redeem.
var heedless = []string{"plain", "plain2", "once", "versioned", "forgetful"}

// Input is what a handler sees of a tool call.
type Input struct {
	Tool      string
	Arguments json.RawMessage
	State     string
	// Answers has the action of each elicitation, and the kind of any other answer.
	Answers func() map[string]string
}

// Output is what a handler returns: text, or questions if Ask is not nil.
type Output struct {
	Text  string
	Ask   map[string]mrtr.Kind
	State string
}

// StateText is in the plain state of every handler here; it may be on no wire and in no log.
const StateText = "plain-state-of-the-handler"

func (w *World) effect() Output {
	w.Effects.Add(1)
	return Output{Text: "done"}
}

func ask(state string) (Output, error) {
	return Output{Ask: map[string]mrtr.Kind{"confirm": mrtr.Elicitation}, State: StateText + state}, nil
}

// Handle is the handler of all tools. It never looks at a token, as no handler should.
func (w *World) Handle(ctx context.Context, in Input) (Output, error) {
	switch in.Tool {
	case "versioned":
		mrtr.QuestionVersion(ctx, w.question.Load().(string))
	case "busy":
		if in.State == "" {
			return Output{Ask: map[string]mrtr.Kind{}, State: StateText}, nil
		}
		return w.effect(), nil
	case "leaky":
		return Output{Text: "done", State: StateText}, nil
	case "three":
		return w.three(ctx, in)
	}
	answer, ok := in.Answers()["confirm"]
	switch {
	case !ok:
		return ask(string(in.Arguments))
	case slices.Contains(heedless, in.Tool):
		return w.effect(), nil
	case answer != "accept":
		return Output{Text: "declined"}, mrtr.Waive(ctx)
	}
	return w.redeem(ctx, in.Tool)
}

func (w *World) redeem(ctx context.Context, tool string) (Output, error) {
	if err := mrtr.Redeem(ctx, nil); err != nil {
		if tool == "swallows" {
			return Output{Text: "done, or so it says"}, nil
		}
		return Output{}, err
	}
	switch tool {
	case "panics":
		panic("after redeeming")
	case "slow":
		w.redeemed <- struct{}{}
		<-ctx.Done() // the client is gone
	}
	ctx, cancel := mrtr.Effect(ctx, time.Minute)
	defer cancel()
	if ctx.Err() != nil {
		return Output{}, ctx.Err()
	}
	return w.effect(), nil
}

// three redeems in its third round.
func (w *World) three(ctx context.Context, in Input) (Output, error) {
	_, answered := in.Answers()["confirm"]
	step := strings.TrimPrefix(in.State, StateText)
	switch {
	case answered && step == "2":
		return w.redeem(ctx, in.Tool)
	case answered && step == "1":
		return ask("2")
	}
	return ask("1")
}
