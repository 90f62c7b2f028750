package reqdigest

import "bytes"

// maxDepth is how deep arrays and objects may nest, params being at depth one.
const maxDepth = 1000

// Tags of the canonical form. Each value starts with one, so does each member's name, which is a string.
const (
	tagNull   = 'n'
	tagFalse  = 'f'
	tagTrue   = 't'
	tagNumber = '#'
	tagString = '"'
	tagArray  = '['
	endArray  = ']'
	tagObject = '{'
	endObject = '}'
)

// Faults that are found in more than one place.
const (
	duplicate = "duplicate member name"
	tooLarge  = "more than 1 GiB"
)

// The methods that read take the input, the canonical bytes so far and a position in the input, and return the last
// two. A position of -1 means that s.err is set.

// fail sets the error and returns -1.
func (s *scratch) fail(at int, msg string) int {
	s.err = Error{at, msg}
	return -1
}

// failHere fails with msg, or with a better word for what is at that place.
func (s *scratch) failHere(src []byte, at int, msg string) int {
	switch {
	case at >= len(src):
		return s.fail(len(src), "unexpected end")
	case at == 0 && bytes.HasPrefix(src, []byte("\ufeff")):
		return s.fail(at, "byte order mark")
	}
	return s.fail(at, msg)
}

// error is the error that a method left.
func (s *scratch) error() error {
	e := s.err // the scratch goes back into the pool
	return &e
}

// skip is the first position from i on that is not white space.
func skip(src []byte, i int) int {
	for i < len(src) && src[i] <= ' ' && (src[i] == ' ' || src[i] == '\n' || src[i] == '\t' || src[i] == '\r') {
		i++
	}
	return i
}

// value reads a value that starts at i, inside depth arrays and objects.
func (s *scratch) value(src, buf []byte, i, depth int) ([]byte, int) {
	if i >= len(src) {
		return buf, s.failHere(src, i, "")
	}
	switch c := src[i]; c {
	case '"':
		buf, i, _ = s.text(src, buf, i+1)
		return buf, i
	case '{', '[':
		if depth >= maxDepth {
			return buf, s.fail(i, "nested deeper than 1000")
		}
		if c == '[' {
			return s.array(src, buf, i+1, depth+1)
		}
		return s.object(src, buf, i+1, depth+1)
	case 't':
		return s.literal(src, buf, i, "true")
	case 'f':
		return s.literal(src, buf, i, "false")
	case 'n':
		return s.literal(src, buf, i, "null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return s.number(src, buf, i)
		}
		return buf, s.failHere(src, i, "unexpected character")
	}
}

// literal reads the word, whose first letter is its tag.
func (s *scratch) literal(src, buf []byte, i int, word string) ([]byte, int) {
	end := i + len(word)
	if end > len(src) || string(src[i:end]) != word {
		return buf, s.fail(i, "not a JSON value")
	}
	return append(buf, word[0]), end
}

// array reads what follows the opening bracket.
func (s *scratch) array(src, buf []byte, i, depth int) ([]byte, int) {
	buf = append(buf, tagArray)
	if i = skip(src, i); i < len(src) && src[i] == ']' {
		return append(buf, endArray), i + 1
	}
	for {
		if buf, i = s.value(src, buf, skip(src, i), depth); i < 0 {
			return buf, i
		}
		if i = skip(src, i); i >= len(src) || src[i] != ',' {
			break
		}
		i++
	}
	if i >= len(src) || src[i] != ']' {
		return buf, s.failHere(src, i, "want a comma or the end of the array")
	}
	return append(buf, endArray), i + 1
}

// object reads what follows the opening brace.
func (s *scratch) object(src, buf []byte, i, depth int) ([]byte, int) {
	base := len(s.stack)
	buf, slot := s.open(buf)
	buf, i, sorted := s.members(src, buf, i, depth)
	if i < 0 || !sorted && !s.sort(buf, base) {
		return buf, -1
	}
	return s.close(buf, slot, base, sorted), i
}

// members reads what follows the opening brace, the closing one included, and leaves the members on the stack. It
// reports whether they are sorted; then their names differ.
func (s *scratch) members(src, buf []byte, i, depth int) (_ []byte, _ int, sorted bool) {
	if i = skip(src, i); i < len(src) && src[i] == '}' {
		return buf, i + 1, true
	}
	sorted = true
	for base := len(s.stack); ; i = skip(src, i+1) {
		if i >= len(src) || src[i] != '"' {
			return buf, s.failHere(src, i, "want a member name"), false
		}
		top := s.push(buf, i)
		var n int
		if buf, i, n = s.text(src, buf, i+1); i < 0 {
			return buf, i, false
		}
		m := &s.stack[top]
		m.prefix, m.length = prefix(buf, n), uint32(n)
		if sorted && top > base {
			sorted = less(buf, &s.stack[top-1], m) // so equal names are not sorted either: sort will find them
		}
		if i = skip(src, i); i >= len(src) || src[i] != ':' {
			return buf, s.failHere(src, i, "want a colon"), false
		}
		if buf, i = s.value(src, buf, skip(src, i+1), depth); i < 0 {
			return buf, i, false
		}
		s.stack[top].end = uint32(len(buf))
		if i = skip(src, i); i >= len(src) || src[i] != ',' {
			break
		}
	}
	if i >= len(src) || src[i] != '}' {
		return buf, s.failHere(src, i, "want a comma or the end of the object"), false
	}
	return buf, i + 1, sorted
}
