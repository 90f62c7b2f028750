package replay

import (
	"hash/maphash"
	"math"
	"slices"
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
	s := min(max(t.Unix(), 0), math.MaxUint32) // first, so that rounding cannot overflow
	if t.Nanosecond() > 0 {
		s++
	}
	return uint32(min(max(s, 1), math.MaxUint32))
}

// cutoff is the latest expiry that may be forgotten at now, when ids are kept for some seconds after theirs. It is below the
// greatest one that an entry holds, which stands for all dates after 2106: those are kept.
func cutoff(now time.Time, kept int64) uint32 {
	return uint32(min(max(now.Unix(), kept)-kept, math.MaxUint32-1))
}

// A shard is the part of a store that one lock protects. Its entries lie in the order they came, and a small table with
// linear probing says where each one is: a new id, which is the usual one, reads one line of that table and writes
// behind the entry before it, and touches none of the older entries. Nothing is ever deleted alone. When there is no
// room, what has not expired moves together.
type shard struct { // 64 bytes, so that neighbours share no cache line
	mu      sync.Mutex
	entries []entry  // never grows by itself
	index   []uint16 // a mark of the id and a place in entries, from 1; zero: empty
	oldest  uint32   // least exp in entries, if there is one
	horizon uint32   // greatest exp ever forgotten
}

const (
	placeBits = 11               // a shard holds fewer than 2,048 entries
	placeMask = 1<<placeBits - 1 // the other five bits are the mark, which keeps most strangers' entries from being read
)

// consume is [Memory.Consume] after the checks that need no state.
func (s *shard) consume(e entry, limit int, now func() time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.find(e); known != nil {
		if known.attempt == e.attempt {
			return nil // a retry inside the call that spent it
		}
		return requeststate.ErrConsumed
	}
	if n := len(s.entries); n == min(cap(s.entries), limit) {
		kept := int64(margin)
		if n == limit {
			kept = 0 // no fresh id is turned away for the sake of expired ones
		}
		s.rebuild(cutoff(now(), kept), limit, cap(s.entries)/2)
	}
	// The id is unknown. If it may have been known and forgotten, nobody can say whether it was spent.
	if e.exp <= s.horizon {
		return requeststate.ErrStale
	}
	if len(s.entries) >= limit {
		return errFull
	}
	s.insert(e)
	return nil
}

// find returns the entry with e's id, or nil.
func (s *shard) find(e entry) *entry {
	if len(s.entries) == 0 {
		return nil
	}
	mark := uint16(e.id2) &^ placeMask
	for i := s.start(e); ; i++ { // at most half of the index is taken, so the search ends
		if i == len(s.index) {
			i = 0
		}
		switch at := s.index[i]; {
		case at == 0:
			return nil
		case at&^placeMask == mark:
			if known := &s.entries[at&placeMask-1]; known.id == e.id && known.id2 == e.id2 {
				return known
			}
		}
	}
}

// start is where in the index the search for e begins. It goes by the upper bits of id2; the mark is of lower ones, and the
// shard was chosen by id.
func (s *shard) start(e entry) int { return int(uint64(e.id2) * uint64(len(s.index)) >> 32) }

// insert adds e, which is not there and has room.
func (s *shard) insert(e entry) {
	if len(s.entries) == 0 || e.exp < s.oldest {
		s.oldest = e.exp
	}
	s.entries = append(s.entries, e)
	i := s.start(e)
	for s.index[i] != 0 {
		if i++; i == len(s.index) {
			i = 0
		}
	}
	s.index[i] = uint16(e.id2)&^placeMask | uint16(len(s.entries))
}

// rebuild forgets the entries that expired by cutoff and makes room for half as many more as are left, at least for least, and
// never for more than limit in all. It is the only place that forgets, and it raises the horizon over all that it
// forgets.
func (s *shard) rebuild(cutoff uint32, limit, least int) {
	if len(s.entries) >= limit && s.oldest > cutoff {
		return // nothing to forget and no right to grow: a full store must not cost a copy for each refusal
	}
	live := 0
	for i := range s.entries {
		if s.entries[i].exp > cutoff {
			live++
		}
	}
	old := s.entries
	s.entries = old[:0] // in place, unless the room is to change
	if room := min(max(live+live/2, least, 4), limit); room > cap(old) || room <= cap(old)/2 {
		s.entries = slices.Grow([]entry(nil), room) // perhaps some more than that
		s.index = make([]uint16, 2*min(cap(s.entries), limit))
	} else {
		clear(s.index)
	}
	for _, e := range old {
		if e.exp > cutoff {
			s.insert(e)
		} else {
			s.horizon = max(s.horizon, e.exp)
		}
	}
}

// sweep rebuilds the shard with as little room as it needs, if something in it has expired.
func (s *shard) sweep(cutoff uint32, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) > 0 && s.oldest <= cutoff {
		s.rebuild(cutoff, limit, 0)
	}
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}
