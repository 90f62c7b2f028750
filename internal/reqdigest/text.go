package reqdigest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// appendLength appends n in base 128, the least significant digit first, the top bit set on all but the last.
func appendLength(buf []byte, n int) []byte { return binary.AppendUvarint(buf, uint64(n)) }

// lengthSize is how many bytes appendLength appends.
func lengthSize(n uint32) uint32 { return uint32(bits.Len32(n|1)+6) / 7 }

// appendText appends s after its length.
func appendText(buf []byte, s string) []byte { return append(appendLength(buf, len(s)), s...) }

// appendString appends s, which is valid UTF-8, as a string value.
func appendString(buf []byte, s string) []byte { return appendText(append(buf, tagString), s) }

// maxShort is the longest text whose length takes one byte and that text copies by words.
const maxShort = 120

// text reads a string whose opening quote is before i, and returns the length of its text, too, which is at the end of
// buf. Here it does the short ones of plain ASCII, copying while it looks for the end; anything else starts again in
// longText.
func (s *scratch) text(src, buf []byte, i int) (_ []byte, next, n int) {
	at := len(buf) + 2
	last := min(len(src)-i, cap(buf)-at, maxShort) - 8 // where the last word may start
	for seen := uint64(0); n <= last; n += 8 {
		w := binary.LittleEndian.Uint64(src[i+n:])
		binary.LittleEndian.PutUint64(buf[at+n:at+n+8], w)
		hits := special(w)
		if hits == 0 {
			seen |= w
			continue
		}
		k := bits.TrailingZeros64(hits) &^ 7 // bits before the hit
		if byte(w>>k) != '"' || (seen|w&(1<<k-1))&tops != 0 {
			break
		}
		n += k / 8
		buf = buf[:at+n]
		buf[at-2], buf[at-1] = tagString, byte(n)
		return buf, i + n + 1, n
	}
	return s.longText(src, buf, i)
}

// longText is text for any string.
func (s *scratch) longText(src, buf []byte, i int) (_ []byte, next, n int) {
	end, ascii := scan(src, i)
	if end < len(src) && src[end] == '\\' {
		return s.escaped(src, buf, i, end)
	}
	if end >= len(src) || src[end] != '"' {
		return buf, s.failHere(src, end, "control character in a string"), 0
	}
	raw := src[i:end]
	if !ascii && !utf8.Valid(raw) {
		return buf, s.fail(i+invalidAt(raw), "invalid UTF-8"), 0
	}
	return append(appendLength(append(buf, tagString), len(raw)), raw...), end + 1, len(raw)
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// special tells where a word has a quote, a backslash or a control character: at the lowest byte whose top bit is set
// in the result. In each term that bit is set where the byte equals the character, or is below a space; a borrow can
// set it wrongly, but only above a right one.
func special(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & tops
}

// scan is the first position from i on of a quote, a backslash or a control character, or the length of src. It reports
// whether all bytes before it are ASCII.
func scan(src []byte, i int) (end int, ascii bool) {
	var seen uint64
	for ; i+8 <= len(src); i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		hits := special(w)
		if hits != 0 {
			n := bits.TrailingZeros64(hits) / 8
			seen |= w & (1<<(8*n) - 1)
			return i + n, seen&tops == 0
		}
		seen |= w
	}
	for ; i < len(src); i++ {
		c := src[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		seen |= uint64(c)
	}
	return i, seen&tops == 0
}

// invalidAt is the position of the first byte in b that is not UTF-8.
func invalidAt(b []byte) (at int) {
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return at
}

// escaped is text for a string that has its first backslash at i.
func (s *scratch) escaped(src, buf []byte, start, i int) (_ []byte, next, n int) {
	tmp := append(s.tmp[:0], src[start:i]...)
	ascii := true
	for i < len(src) && src[i] == '\\' {
		if tmp, i = s.escape(src, tmp, i); i < 0 {
			return buf, i, 0
		}
		end, a := scan(src, i)
		tmp, ascii = append(tmp, src[i:end]...), ascii && a
		i = end
	}
	s.tmp = tmp
	if i >= len(src) || src[i] != '"' {
		return buf, s.failHere(src, i, "control character in a string"), 0
	}
	// Escapes are ASCII: what is valid here is valid between them, and an escape cannot complete a raw sequence.
	if raw := src[start:i]; !utf8.Valid(raw) {
		return buf, s.fail(start+invalidAt(raw), "invalid UTF-8"), 0
	}
	return append(appendLength(append(buf, tagString), len(tmp)), tmp...), i + 1, len(tmp)
}

// escape appends to tmp what the escape at i stands for (RFC 8259 section 7).
func (s *scratch) escape(src, tmp []byte, i int) ([]byte, int) {
	if i+1 >= len(src) {
		return tmp, s.failHere(src, i+1, "")
	}
	switch c := src[i+1]; c {
	case '"', '\\', '/':
		return append(tmp, c), i + 2
	case 'b':
		return append(tmp, '\b'), i + 2
	case 'f':
		return append(tmp, '\f'), i + 2
	case 'n':
		return append(tmp, '\n'), i + 2
	case 'r':
		return append(tmp, '\r'), i + 2
	case 't':
		return append(tmp, '\t'), i + 2
	case 'u':
	default:
		return tmp, s.fail(i, "unknown escape")
	}
	r := hex4(src, i+2)
	if r < 0 {
		return tmp, s.fail(i, "bad \\u escape")
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(tmp, r), i + 6
	}
	if i+7 < len(src) && src[i+6] == '\\' && src[i+7] == 'u' {
		if r = utf16.DecodeRune(r, hex4(src, i+8)); r != utf8.RuneError {
			return utf8.AppendRune(tmp, r), i + 12
		}
	}
	return tmp, s.fail(i, "lone surrogate")
}

// hex4 is the number of four hex digits at i, or -1.
func hex4(src []byte, i int) rune {
	if i+4 > len(src) {
		return -1
	}
	var r rune
	for _, c := range src[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
