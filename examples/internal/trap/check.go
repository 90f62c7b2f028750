package trap

import (
	"errors"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Check is one binding's verdict on one token: "pass", "FAIL", "off" where the server leaves it out, or "-" where
// another check had refused the token before.
type Check struct {
	Switch  Switch `json:"switch"`
	Verdict string `json:"verdict"`
}

// stops says which binding a rejection of the library comes from.
var stops = map[error]Switch{
	requeststate.ErrMalformed:   Integrity,
	requeststate.ErrTooLarge:    Integrity,
	requeststate.ErrUnknownKey:  Integrity,
	requeststate.ErrForged:      Integrity,
	requeststate.ErrAudience:    Audience,
	requeststate.ErrPrincipal:   Principal,
	requeststate.ErrRequest:     Request,
	requeststate.ErrUse:         SingleUse,
	requeststate.ErrExpired:     TTL,
	requeststate.ErrNotYetValid: TTL,
	requeststate.ErrConsumed:    SingleUse,
	requeststate.ErrStale:       SingleUse,
}

// StoppedBy returns the binding that refused a token, and the reason in the library's word. Both are empty for an
// error that is no rejection.
func StoppedBy(err error) (by Switch, reason string) {
	var rejected *requeststate.Error
	if !errors.As(err, &rejected) {
		return "", ""
	}
	for sentinel, by := range stops {
		if errors.Is(err, sentinel) {
			return by, rejected.Reason()
		}
	}
	return "", rejected.Reason()
}

// checks spells out a verdict: Open returns the first check that failed, so all before it have passed.
func (c Config) checks(err error) []Check {
	failed, _ := StoppedBy(err)
	past := err != nil && failed == "" // undecided: nothing is known to have passed
	var list []Check
	for _, name := range Switches {
		verdict := "pass"
		switch {
		case name == failed:
			verdict, past = "FAIL", true
		case c.Without[name]:
			verdict = "off"
		case past:
			verdict = "-"
		}
		list = append(list, Check{name, verdict})
	}
	return list
}
