package trap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Row of the residual table: one attack under one Config, and how it ended.
type Row struct {
	ID     string
	Attack string
	// Err is the server's answer to the attacker's best move. nil: the attack works.
	Err error
	// Move is that move: "verbatim", "altered", "rewritten" or the like.
	Move string
	// Beyond says who must stop the attack if no binding can.
	Beyond string
}

// Passed reports whether the attack works.
func (r Row) Passed() bool { return r.Err == nil }

// Result is PASS for an attack that works, as the server lets it pass.
func (r Row) Result() string {
	if r.Passed() {
		return "PASS"
	}
	return "refused"
}

// StoppedBy is what refused the attack and why, in the words of the error that the server got.
func (r Row) StoppedBy() string {
	if r.Passed() && r.Beyond != "" {
		return r.Beyond
	}
	if r.Passed() {
		return "nothing (" + r.Move + ")"
	}
	by, reason := StoppedBy(r.Err)
	return fmt.Sprintf("%s (%s)", by, reason)
}

// Table carries out every attack on a server of c that seals under key, from the time start on.
func Table(ctx context.Context, c Config, key requeststate.Key, start time.Time) ([]Row, error) {
	rows := make([]Row, 0, len(attacks))
	for _, a := range attacks {
		sc, err := newScene(c, key, start)
		if err != nil {
			return nil, err
		}
		row := Row{ID: a.id, Attack: a.name, Beyond: a.beyond}
		moves, err := a.moves(ctx, sc)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		for _, m := range moves {
			if m.rewrites && !c.Without[Integrity] {
				continue
			}
			row.Move, row.Err = m.name, m.do()
			if row.Err == nil {
				break
			}
			if !errors.Is(row.Err, requeststate.ErrInvalid) { // a fault of this program, not a verdict
				return nil, fmt.Errorf("%s, %s: %w", a.name, m.name, row.Err)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// A move is one thing that the attacker tries. It works if do returns nil.
type move struct {
	name     string
	rewrites bool // possible only where nothing protects the token
	do       func() error
}

type attack struct {
	id, name, beyond string
	moves            func(context.Context, *scene) ([]move, error)
}

var attacks = []attack{
	{"state", "State altered", "", stateAltered},
	{"principal", "Presented by another principal", "", presentedAs(Config.otherPrincipal)},
	{"expiry", "Presented after its expiry", "", afterExpiry},
	{"method", "Presented to another method or tool", "", presentedAs(Config.otherName, Config.otherMethod)},
	{"arguments", "Presented with other arguments", "", presentedAs(Config.otherArguments)},
	{"audience", "Token of another service, same key", "", otherService},
	{"retired", "Token of a retired key", "", retiredKey},
	{"format", "Token of another format, same secret", "", otherFormat},
	{"replay", "Replayed unchanged", "", replayed},
	{"race", "Presented twice at once", "", twice},
	{"fork", "Earlier round replayed (fork)", "", forked},
	{"restart", "Replayed after the store lost its memory", "", afterRestart},
	{"flows", "A new flow for each use", "nothing here: your own records must (a balance, a unique row)", newFlows},
}
