package replaytest

import "time"

// noon is where fake clocks start. Some stores compare the dates of several clocks, so it is near the real time.
func noon() time.Time { return time.Now().Truncate(time.Hour) }

// checkClocks: a store whose clock is an hour ahead of the sealers', or an hour behind, accepts each use once and only
// once, while it cleans.
func checkClocks(e *env) {
	start := noon()
	for _, shift := range []time.Duration{-time.Hour, time.Hour} {
		s, c := e.clocked(start.Add(shift))
		for i := range 300 {
			// The sealers' time goes on, so that no use expires before an earlier one.
			u := e.use(s, start.Add(time.Duration(i+1)*time.Second))
			e.want(s, u, "first, by clocks that disagree", spent)
			e.want(s, again(u), "again, by clocks that disagree", consumed, stale)
			c.add(time.Second)
		}
	}
}

// checkHorizon: after the store forgot spent ids, they are still refused, and nothing is spent twice.
func checkHorizon(e *env) {
	start := noon()
	s, c := e.clocked(start)
	exp := start.Add(time.Minute)
	victims := spend(e, s, exp, 200)
	unseen := e.use(s, exp)

	c.add(3 * time.Hour)
	e.clean(s, start.Add(4*time.Hour), 2000)
	for _, u := range victims {
		e.want(s, again(u), "spent, expired and perhaps forgotten", consumed, stale)
	}
	// An id that nobody spent may be refused, too, because the store cannot know that.
	if e.want(s, unseen, "unspent and expired", spent, stale) == spent {
		e.want(s, again(unseen), "expired, again", consumed, stale)
	}
}

// checkStepBack: a clock that is set back after the store has forgotten reopens nothing.
func checkStepBack(e *env) {
	start := noon()
	s, c := e.clocked(start)
	exp := start.Add(time.Minute)
	victims := spend(e, s, exp, 200)

	c.add(3 * time.Hour)
	e.clean(s, start.Add(4*time.Hour), 2000)
	c.set(start)
	for _, u := range victims {
		e.want(s, again(u), "spent, after the clock stepped back", consumed, stale)
	}
	e.want(s, e.use(s, start.Add(5*time.Hour)), "a fresh id", spent)
}
