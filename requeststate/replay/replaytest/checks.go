package replaytest

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// checks is the suite. The names are stable: negative controls may ask for them.
var checks = []check{
	{"epoch", nothing, checkEpoch},
	{"first and again", nothing, checkAgain},
	{"many others between", nothing, checkOthersBetween},
	{"own attempt", nothing, checkAttempt},
	{"ids are exact", nothing, checkExactIDs},
	{"other expiry", nothing, checkOtherExpiry},
	{"expiry boundary", nothing, checkBoundary},
	{"stale epoch", nothing, checkStaleEpoch},
	{"cancelled context", nothing, checkCancelled},
	{"incomplete use", nothing, checkIncomplete},
	{"race", nothing, checkRace},
	{"clocks disagree", clock, checkClocks},
	{"horizon", clock, checkHorizon},
	{"clock steps back", clock, checkStepBack},
	{"peer", peer, checkPeer},
	{"race of peers", peer, checkPeerRace},
}

// checkEpoch: 1 to 255 bytes, and good for tokens that come back after others were spent.
func checkEpoch(e *env) {
	s := e.store()
	u := e.use(s, soon())
	for range 50 {
		if n := len(e.epoch(s)); n < 1 || n > 255 {
			e.Fatalf("an epoch of %d bytes", n)
		}
		e.want(s, e.use(s, soon()), "a fresh id", spent)
	}
	e.want(s, u, "an epoch of 50 spent ids ago", spent)
}

// checkAgain: the first attempt spends, every other is told so.
func checkAgain(e *env) {
	s := e.store()
	u := e.use(s, soon())
	e.want(s, u, "first", spent)
	for range 5 {
		e.want(s, again(u), "again", consumed)
	}
}

// checkOthersBetween: no number of other ids makes the store forget one.
func checkOthersBetween(e *env) {
	s := e.store()
	victim := e.use(s, soon())
	e.want(s, victim, "first", spent)
	others := make([]requeststate.Use, 1200)
	for i := range others {
		others[i] = e.use(s, soon())
		e.want(s, others[i], "another id", spent)
	}
	e.want(s, again(victim), "again, after 1,200 others", consumed)
	for i := 0; i < len(others); i += 10 {
		e.want(s, again(others[i]), "another id again", consumed)
	}
}

// checkAttempt: a retry of the very attempt that spent an id succeeds, whatever came between. Nothing else does.
func checkAttempt(e *env) {
	s := e.store()
	u := e.use(s, soon())
	e.want(s, u, "first", spent)
	e.want(s, u, "the same attempt", spent)
	e.want(s, again(u), "another attempt", consumed)
	e.want(s, u, "the same attempt after another", spent)

	swapped := u
	swapped.Attempt = swapCase(u.Attempt)
	e.want(s, swapped, "the attempt in other letter case", consumed)

	other := e.use(s, soon())
	e.want(s, other, "another id", spent)
	stolen := other
	stolen.Attempt = u.Attempt
	e.want(s, stolen, "an attempt that spent another id", consumed)
}

// checkExactIDs: ids are bytes, not words of a language and not padded strings.
func checkExactIDs(e *env) {
	s := e.store()
	u := e.use(s, soon())
	u.ID = "aB3" + u.ID[3:]
	e.want(s, u, "an id", spent)
	lower := again(u)
	lower.ID = "ab3" + u.ID[3:]
	e.want(s, lower, "an id in other letter case", spent)
	e.want(s, again(lower), "an id in other letter case, again", consumed)
	// A store may refuse what is not base64url, but must not take it for the id that it resembles.
	for _, id := range []string{u.ID + " ", " " + u.ID, u.ID + "\n", u.ID + "=", u.ID + "A", u.ID[:21], "a", "a ", "A"} {
		like := again(u)
		like.ID = id
		if e.want(s, like, "a similar id", spent, undecided) == spent {
			e.want(s, again(like), "a similar id, again", consumed)
		}
	}
}

// checkOtherExpiry: a spent id stays spent, whatever expiry comes with it.
func checkOtherExpiry(e *env) {
	for _, shift := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour, 24 * time.Hour} {
		s := e.store()
		u := e.use(s, soon())
		e.want(s, u, "first", spent)
		v := again(u)
		v.ExpiresAt = u.ExpiresAt.Add(shift)
		e.want(s, v, "again with another expiry", consumed, stale)
		e.want(s, again(u), "again with the first expiry", consumed, stale)
	}
}

// checkBoundary: at, before and after its expiry, an id is spent once.
func checkBoundary(e *env) {
	shifts := []time.Duration{-time.Hour, -time.Second, 0, time.Second, time.Hour, 25 * time.Hour}
	for _, shift := range shifts {
		s := e.store()
		u := e.use(s, time.Now().Truncate(time.Second).Add(shift))
		e.want(s, u, "first, expiring "+shift.String()+" from now", spent)
		for range 3 {
			e.want(s, again(u), "again, expiring "+shift.String()+" from now", consumed, stale)
		}
	}
}

// checkStaleEpoch: an epoch that is not the store's spends nothing.
func checkStaleEpoch(e *env) {
	s := e.store()
	u := e.use(s, soon())
	last := len(u.Epoch) - 1
	foreign := []string{
		random(), u.Epoch + "A", u.Epoch[:last], u.Epoch[:last] + "~", "x", strings.Repeat("x", 255),
	}
	for _, epoch := range foreign {
		v := again(u)
		v.Epoch = epoch
		e.want(s, v, "a foreign epoch", stale)
	}
	e.want(s, u, "after foreign epochs", spent)
	for _, epoch := range foreign {
		v := again(u)
		v.Epoch = epoch
		e.want(s, v, "a spent id under a foreign epoch", stale, consumed, undecided)
	}
}

// checkCancelled: a call that never began is undecided, not a rejection, and spends nothing.
func checkCancelled(e *env) {
	s := e.store()
	u := e.use(s, soon())
	cancelled, cancel := context.WithCancel(e.ctx())
	cancel()
	expired, cancel := context.WithDeadline(e.ctx(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, expired} {
		e.wantCtx(ctx, s, again(u), "context ended", undecided)
	}
	e.want(s, u, "after calls that never began", spent)
	e.wantCtx(cancelled, s, again(u), "spent, context ended", undecided)
	e.want(s, again(u), "again", consumed)
}

// checkIncomplete: a use that lacks a part is a mistake of the program; it is neither spent nor a rejection. Without an
// attempt, in particular, any two uses would take each other for retries.
func checkIncomplete(e *env) {
	s := e.store()
	for range 2 {
		noID, noAttempt, noExpiry, noEpoch := e.use(s, soon()), e.use(s, soon()), e.use(s, soon()), e.use(s, soon())
		noID.ID, noAttempt.Attempt, noExpiry.ExpiresAt, noEpoch.Epoch = "", "", time.Time{}, ""
		e.want(s, noID, "no id", undecided)
		e.want(s, noAttempt, "no attempt", undecided)
		e.want(s, noExpiry, "no expiry", undecided)
		e.want(s, noEpoch, "no epoch", undecided, stale)
	}
}

// swapCase changes the case of the ASCII letters of s.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r ^ 0x20
		}
		return r
	}, s)
}
