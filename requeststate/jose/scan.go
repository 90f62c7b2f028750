package jose

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth of arrays and objects in a state in JSON: enough for data, too little for anybody's stack. A deeper state
// travels as text.
const maxDepth = 100

// strictJSON reports whether s is one JSON value (RFC 8259) of Unicode strings, without white space around it.
func strictJSON(s []byte) bool {
	p := scanner{b: s}
	return p.value(0) && p.i == len(s)
}

// scanner walks over JSON without making anything of it. Its methods report false at the first fault, and the
// position is then of no use.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) literal(text string) bool {
	if bytes.HasPrefix(s.b[s.i:], []byte(text)) {
		s.i += len(text)
		return true
	}
	return false
}

// value walks over any value.
func (s *scanner) value(depth int) bool {
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '{':
		return s.members('}', depth, func() bool {
			_, _, _, ok := s.str()
			s.space()
			return ok && s.take(':')
		})
	case '[':
		return s.members(']', depth, nil)
	case '"':
		_, _, _, ok := s.str()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

// members walks over an object or array, with name before each value.
func (s *scanner) members(end byte, depth int, name func() bool) bool {
	s.i++
	s.space()
	if depth >= maxDepth {
		return false
	}
	if s.take(end) {
		return true
	}
	for {
		s.space()
		if name != nil && !name() {
			return false
		}
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.take(end) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > start
}

// number walks over any JSON number.
func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		_ = s.take('+') || s.take('-')
		return s.digits()
	}
	return true
}

// str walks over a string and returns where its contents are and whether they have escapes. Control characters, bytes
// that are not UTF-8 and escapes of unpaired surrogates are faults.
func (s *scanner) str() (start, end int, escaped, ok bool) {
	if !s.take('"') {
		return 0, 0, false, false
	}
	start = s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return start, s.i - 1, escaped, true
		case c < ' ':
			return 0, 0, false, false
		case c == '\\':
			escaped = true
			if _, n := escape(s.b[s.i:]); n > 0 {
				s.i += n
				continue
			}
			return 0, 0, false, false
		case c < utf8.RuneSelf:
			s.i++
		default:
			r, n := utf8.DecodeRune(s.b[s.i:])
			if r == utf8.RuneError && n == 1 {
				return 0, 0, false, false
			}
			s.i += n
		}
	}
	return 0, 0, false, false
}

// escape returns the character that the escape at the start of b means, and the escape's length; 0 if it is none.
func escape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	if b[1] != 'u' {
		if i := bytes.IndexByte([]byte(`"\/bfnrt`), b[1]); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), 2
		}
		return 0, 0
	}
	r = hex4(b[2:])
	switch {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	case len(b) < 12 || b[6] != '\\' || b[7] != 'u':
		return 0, 0
	}
	if r = utf16.DecodeRune(r, hex4(b[8:])); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 returns the value of four hex digits, -1 if there are none.
func hex4(b []byte) (v rune) {
	if len(b) < 4 {
		return -1
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		v = v<<4 | rune(c)
	}
	return v
}

// unescape replaces the escapes in s, the contents of a string that str passed, in place.
func unescape(s []byte) []byte {
	out := s[:0]
	for len(s) > 0 {
		if s[0] != '\\' {
			out = append(out, s[0])
			s = s[1:]
			continue
		}
		r, n := escape(s)
		out = utf8.AppendRune(out, r)
		s = s[n:]
	}
	return out[:len(out):len(out)]
}
