package replay

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// An entry is one spent id, or an empty slot if exp is zero. Ids and attempts are kept as hashes under seeds that are
// random for each store and never leave it, so that an id of any length and alphabet takes 24 bytes and nobody can choose
// ids that collide or crowd one shard.
//
// Two ids that share all 96 bits would be one to the store: the second is refused although it is fresh (with ten million
// live ids, one redemption in 10^21). It cannot make an id spendable twice. Two attempts on one id that share 64 bits
// would: the second is taken for a retry of the first. Attempts are random for each call, so a replay has one chance in
// 2^64.
type entry struct {
	id      uint64
	attempt uint64
	id2     uint32
	exp     uint32 // Unix seconds, 1 to 2^32-1
}

// A hasher makes entries of uses.
type hasher struct{ a, b maphash.Seed }

func newHasher() hasher { return hasher{a: maphash.MakeSeed(), b: maphash.MakeSeed()} }

func (h hasher) entry(use requeststate.Use) entry {
	return entry{
		id:      maphash.String(h.a, use.ID),
		id2:     uint32(maphash.String(h.b, use.ID)),
		attempt: maphash.String(h.a, use.Attempt),
		exp:     seconds(use.ExpiresAt),
	}
}

// seconds is t in Unix seconds, rounded up and moved into the range that an entry holds. That keeps the order of times,
// which is all that the horizon needs.
func seconds(t time.Time) uint32 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return uint32(min(max(s, 1), math.MaxUint32))
}

// cutoff is the latest expiry that may be forgotten at now. It is below the greatest one that an entry holds, which
// stands for all dates after 2106: those are kept.
func cutoff(now time.Time) uint32 {
	return uint32(min(max(now.Unix()-margin, 0), math.MaxUint32-1))
}

// A shard is the part of a store that one lock protects: an open-addressing table with linear probing. Nothing is ever
// deleted from a table. When it is full, what has not expired moves to a new one of the right size, larger or smaller.
type shard struct {
	mu      sync.Mutex
	slots   []entry
	count   int     // entries in slots
	room    int     // entries that slots may hold
	oldest  uint32  // least exp in slots, if there is one
	horizon uint32  // greatest exp ever forgotten
	_       [8]byte // to 64 bytes, so that neighbours share no cache line
}

// consume is [Memory.Consume] after the checks that need no state.
func (s *shard) consume(e entry, limit int, now func() time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count > 0 {
		if known := s.slot(e); known.exp != 0 {
			if known.attempt == e.attempt {
				return nil // a retry inside the call that spent it
			}
			return requeststate.ErrConsumed
		}
	}
	if s.count >= s.room {
		s.rebuild(cutoff(now()), limit)
	}
	// After cleaning, because that moves the horizon. The id is unknown; if it may have been known and forgotten, nobody
	// can say whether it was spent.
	if e.exp <= s.horizon {
		return requeststate.ErrStale
	}
	if s.count >= limit {
		return errFull
	}
	s.insert(e)
	return nil
}

// slot returns the slot that holds e's id or, if there is none, the empty one where it belongs. The table is never quite
// full, so the search ends.
func (s *shard) slot(e entry) *entry {
	n := uint64(len(s.slots))
	for i := uint64(e.id2) * n >> 32; ; i++ {
		if i == n {
			i = 0
		}
		known := &s.slots[i]
		if known.exp == 0 || known.id == e.id && known.id2 == e.id2 {
			return known
		}
	}
}

func (s *shard) insert(e entry) {
	*s.slot(e) = e
	if s.count == 0 || e.exp < s.oldest {
		s.oldest = e.exp
	}
	s.count++
}

// rebuild forgets the entries that expired by cutoff and moves the others to a table with room for two fifths more, up to
// limit. It is the only place that forgets, and it raises the horizon over all that it forgets.
func (s *shard) rebuild(cutoff uint32, limit int) {
	if s.count >= limit && s.oldest > cutoff {
		return // nothing to forget and no right to grow: a full store must not cost a copy for each refusal
	}
	live := 0
	for i := range s.slots {
		if s.slots[i].exp > cutoff {
			live++
		}
	}
	old := s.slots
	// Between 1/2 and 7/10 of a table's slots are taken, 34 to 48 bytes for each id. Fuller tables would be smaller and
	// slower: a search for a new id passes the whole run of taken slots, line of memory by line.
	s.slots = make([]entry, min(max(8, live*2), limit*10/7+1))
	s.room = min(len(s.slots)*7/10, limit)
	s.count = 0
	for _, e := range old {
		if e.exp > cutoff {
			s.insert(e)
		} else {
			s.horizon = max(s.horizon, e.exp)
		}
	}
}

// sweep rebuilds the table if something in it has expired.
func (s *shard) sweep(cutoff uint32, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count > 0 && s.oldest <= cutoff {
		s.rebuild(cutoff, limit)
	}
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
