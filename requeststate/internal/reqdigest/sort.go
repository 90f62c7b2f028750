package reqdigest

import "bytes"

// less reports whether a's name is before b's in the order of their bytes.
func less(buf []byte, a, b *member) bool {
	return a.prefix < b.prefix || a.prefix == b.prefix && lessName(buf, a, b)
}

func lessName(buf []byte, a, b *member) bool { return bytes.Compare(a.name(buf), b.name(buf)) < 0 }

// run is how many members sort sorts by insertion.
const run = 12

// sort sorts the members on the stack from base and reports whether their names differ. It merges sorted runs: n log n
// comparisons for any order. Equal names stay in the order of the input, so that the second is found to be the duplicate.
func (s *scratch) sort(buf []byte, base int) bool {
	ms := s.stack[base:]
	if len(ms) > run {
		usefulPrefixes(buf, ms)
	}
	for i := 0; i < len(ms); i += run {
		insertionSort(buf, ms[i:min(i+run, len(ms))])
	}
	if len(ms) > run {
		s.merge(buf, ms)
	}
	for i := 1; i < len(ms); i++ {
		a, b := &ms[i-1], &ms[i]
		if a.prefix == b.prefix && bytes.Equal(a.name(buf), b.name(buf)) {
			s.fail(int(b.src), duplicate)
			return false
		}
	}
	return true
}

// usefulPrefixes takes the prefixes from behind what all names have in common ("item_1", "item_2"), where they differ.
func usefulPrefixes(buf []byte, ms []member) {
	first := ms[0].name(buf)
	common := len(first)
	for i := 1; i < len(ms) && common > 0; i++ {
		name, n := ms[i].name(buf), 0
		for n < min(common, len(name)) && name[n] == first[n] {
			n++
		}
		common = n
	}
	for i := range ms {
		m := &ms[i]
		m.prefix = prefix(buf[:m.value()], int(m.length)-common)
	}
}

func insertionSort(buf []byte, ms []member) {
	for i := 1; i < len(ms); i++ {
		m, j := ms[i], i
		for ; j > 0 && less(buf, &m, &ms[j-1]); j-- {
			ms[j] = ms[j-1]
		}
		ms[j] = m
	}
}

// merge sorts ms, whose runs are sorted.
func (s *scratch) merge(buf []byte, ms []member) {
	s.spare = append(s.spare[:0], ms...)
	from, to := ms, s.spare
	for width := run; width < len(ms); width *= 2 {
		for i := 0; i < len(ms); i += 2 * width {
			half, end := min(i+width, len(ms)), min(i+2*width, len(ms))
			mergeRuns(buf, to[i:end], from[i:half], from[half:end])
		}
		from, to = to, from
	}
	if &from[0] != &ms[0] {
		copy(ms, from)
	}
}

// mergeRuns merges a and b, which are sorted, into to.
func mergeRuns(buf []byte, to, a, b []member) {
	for i := range to {
		if len(b) == 0 || len(a) > 0 && !less(buf, &b[0], &a[0]) {
			to[i], a = a[0], a[1:]
		} else {
			to[i], b = b[0], b[1:]
		}
	}
}
