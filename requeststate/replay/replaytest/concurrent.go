package replaytest

import (
	"sync"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// racers is how many attempts race for one id.
const racers = 64

// checkRace: of 64 attempts at once, one spends the id.
func checkRace(e *env) {
	s := e.store()
	e.race(s, s)
}

// checkPeer: what one client spends, the other refuses at once. A store that reads from a stale copy fails here.
func checkPeer(e *env) {
	a := e.store()
	b := e.openPeer(e.t, a)
	for range 100 {
		u, v := e.use(a, soon()), e.use(b, soon())
		e.want(a, u, "first, at one client", spent)
		e.want(b, again(u), "again, at the other", consumed)
		e.want(b, u, "the same attempt, at the other", spent)
		e.want(b, v, "first, at the other", spent)
		e.want(a, again(v), "again, at the one", consumed)
	}
}

// checkPeerRace is checkRace with half of the attempts at each of two clients.
func checkPeerRace(e *env) {
	a := e.store()
	e.race(a, e.openPeer(e.t, a))
}

// race lets attempts at a and b race for one id, for many ids. A loaded machine may leave some undecided; such a trial
// shows nothing, so few may end without a winner.
func (e *env) race(a, b requeststate.ReplayStore) {
	e.Helper()
	open := 0
	for trial := range e.trials {
		u := e.use(a, soon())
		count := e.raceOnce(a, b, u)
		if count[confused] > 0 || count[stale] > 0 || count[spent] > 1 {
			e.Fatalf("trial %d: %d attempts at once: %v", trial, racers, count)
		}
		if count[spent] == 0 {
			if count[undecided] == 0 {
				e.Fatalf("trial %d: nobody won: %v", trial, count)
			}
			open++
			continue
		}
		e.want(b, again(u), "again, after a race", consumed, undecided)
	}
	if open > e.trials/20 {
		e.Errorf("%d of %d races had no winner, because all that did not lose were undecided", open, e.trials)
	}
}

// raceOnce counts the verdicts on 64 attempts at u's id that start together.
func (e *env) raceOnce(a, b requeststate.ReplayStore, u requeststate.Use) map[verdict]int {
	start := make(chan struct{})
	verdicts := make([]verdict, racers)
	var wg sync.WaitGroup
	for i := range verdicts {
		s, attempt := a, again(u)
		if i%2 == 1 {
			s = b
		}
		wg.Go(func() {
			<-start
			verdicts[i] = judge(s.Consume(e.ctx(), attempt))
		})
	}
	close(start)
	wg.Wait()
	count := make(map[verdict]int)
	for _, v := range verdicts {
		count[v]++
	}
	return count
}
