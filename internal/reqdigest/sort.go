package reqdigest

import (
	"bytes"
	"encoding/binary"
)

// A key stands for a member while an object is sorted.
type key struct {
	prefix uint64 // the member's
	member uint32 // from the object's first on the stack
}

// prefix is the first eight of the last n bytes of buf as a number that sorts like them.
func prefix(buf []byte, n int) (p uint64) {
	at := len(buf) - n
	if at+8 <= cap(buf) { // bytes behind the end do not matter: they are masked
		p = binary.BigEndian.Uint64(buf[at : at+8])
	} else {
		var b [8]byte
		copy(b[:], buf[at:])
		p = binary.BigEndian.Uint64(b[:])
	}
	if n < 8 {
		p &^= ^uint64(0) >> (8 * n)
	}
	return p
}

// less reports whether a's name is before b's in the order of their bytes.
func less(buf []byte, a, b *member) bool {
	return a.prefix < b.prefix || a.prefix == b.prefix && lessName(buf, a, b)
}

// lessName is less where prefixes do not tell.
func lessName(buf []byte, a, b *member) bool { return bytes.Compare(a.name(buf), b.name(buf)) < 0 }

// A sorter orders the keys of the members ms.
type sorter struct {
	buf []byte
	ms  []member
}

func (s *sorter) lessName(a, b uint32) bool { return lessName(s.buf, &s.ms[a], &s.ms[b]) }

// run is how many keys are sorted by insertion.
const run = 12

// sort sets keys to the members on the stack from base in the order of their names, and reports whether these differ.
// It merges sorted runs: n log n comparisons for any order. Equal names stay in the order of the input, so that the
// second is found to be the duplicate.
func (s *scratch) sort(buf []byte, base int) bool {
	ms := s.stack[base:]
	o := sorter{buf, ms}
	if len(ms) > run {
		usefulPrefixes(buf, ms)
	}
	keys := s.keys[:0]
	for i := range ms {
		keys = extend(keys)
		keys[i].prefix, keys[i].member = ms[i].prefix, uint32(i)
	}
	s.keys = keys
	for i := 0; i < len(keys); i += run {
		o.insert(keys[i:min(i+run, len(keys))])
	}
	if len(keys) > run {
		s.spare = append(s.spare[:0], keys...)
		o.merge(keys, s.spare)
	}
	for i := 1; i < len(keys); i++ {
		if a, b := &keys[i-1], &keys[i]; a.prefix == b.prefix && !o.lessName(a.member, b.member) {
			s.fail(int(ms[keys[i].member].src), duplicate)
			return false
		}
	}
	return true
}

// usefulPrefixes takes the prefixes from behind what all names have in common ("item_1", "item_2"), where they differ.
func usefulPrefixes(buf []byte, ms []member) {
	first := ms[0].name(buf)
	for i := 1; i < len(ms) && len(first) > 0; i++ {
		name, n := ms[i].name(buf), 0
		for n < min(len(first), len(name)) && name[n] == first[n] {
			n++
		}
		first = first[:n]
	}
	for i := range ms {
		m := &ms[i]
		m.prefix = prefix(buf[:m.value()], int(m.length)-len(first))
	}
}

// insert sorts keys, a few.
func (s *sorter) insert(keys []key) {
	for i := 1; i < len(keys); i++ {
		p, m, j := keys[i].prefix, keys[i].member, i
		for ; j > 0; j-- {
			k := &keys[j-1]
			if p > k.prefix || p == k.prefix && !s.lessName(m, k.member) {
				break
			}
			keys[j].prefix, keys[j].member = k.prefix, k.member
		}
		keys[j].prefix, keys[j].member = p, m
	}
}

// merge sorts keys, whose runs are sorted, with the help of spare, a copy of them.
func (s *sorter) merge(keys, spare []key) {
	from, to := keys, spare
	for width := run; width < len(keys); width *= 2 {
		for i := 0; i < len(keys); i += 2 * width {
			half, end := min(i+width, len(keys)), min(i+2*width, len(keys))
			s.mergeRuns(to[i:end], from[i:half], from[half:end])
		}
		from, to = to, from
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// mergeRuns merges a and b, which are sorted, into to.
func (s *sorter) mergeRuns(to, a, b []key) {
	for i := range to {
		if len(b) > 0 && (len(a) == 0 || b[0].prefix < a[0].prefix ||
			b[0].prefix == a[0].prefix && s.lessName(b[0].member, a[0].member)) {
			to[i], b = b[0], b[1:]
		} else {
			to[i], a = a[0], a[1:]
		}
	}
}
