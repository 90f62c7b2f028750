package replaytest

import (
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Counted is a store that tells how many ids it holds.
type Counted interface {
	requeststate.ReplayStore
	Len() int
}

// Churn spends n ids that live five minutes, spread evenly over a day of the store's clock, and checks that the store holds
// fewer than twice the live ones, and that none of a sample of old ids is spent again. A store that cleans on demand only
// is a [Sweeper], and swept every minute and a half.
func Churn(t *testing.T, open func(t *testing.T, now func() time.Time) Counted, n int) {
	t.Helper()
	const day, life = 24 * time.Hour, 5 * time.Minute
	c := &fakeClock{}
	start := noon()
	c.set(start)
	s := open(t, c.now)
	e := &env{reporter: t, t: t, config: newConfig(nil)}
	live := int(int64(n) * int64(life) / int64(day))
	var sample []requeststate.Use
	worst := 0
	for i := range n {
		c.set(start.Add(day / time.Duration(n) * time.Duration(i)))
		u := e.use(s, c.now().Truncate(time.Second).Add(life))
		if err := s.Consume(t.Context(), u); err != nil {
			t.Fatalf("id %d: %v", i, err)
		}
		if i%(n/1000) != 0 {
			continue
		}
		sample = append(sample, u)
		if sweeper, ok := s.(Sweeper); ok {
			if err := sweeper.Sweep(t.Context()); err != nil {
				t.Fatalf("Sweep: %v", err)
			}
		}
		if i > 2*live {
			worst = max(worst, s.Len())
		}
	}
	t.Logf("%d ids over a day, %d live at a time, at most %d held", n, live, worst)
	if worst == 0 || worst >= 2*live {
		t.Errorf("the store held %d ids where %d were live", worst, live)
	}
	for _, u := range sample {
		e.want(s, again(u), "an id of the day", consumed, stale)
	}
}
