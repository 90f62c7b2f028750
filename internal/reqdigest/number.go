package reqdigest

import (
	"bytes"
	"strconv"
)

// maxExponent is how many digits an exponent may have as it is written.
const maxExponent = 9

// number reads a number that starts at i (RFC 8259 section 6).
func (s *scratch) number(src, buf []byte, i int) ([]byte, int) {
	start := i
	if src[i] == '-' {
		i++
	}
	whole := i
	i = digits(src, i)
	switch {
	case i == whole:
		return buf, s.failHere(src, i, "want a digit")
	case src[whole] == '0' && i > whole+1:
		return buf, s.fail(whole, "number with a leading zero")
	case i < len(src) && (src[i] == '.' || src[i]|' ' == 'e') || src[i-1] == '0':
		return s.decimal(src, buf, start, whole, i)
	}
	// An integer that does not end in zero is its own canonical text.
	return append(appendLength(append(buf, tagNumber), i-start), src[start:i]...), i
}

// digits is the first position from i on that is not a digit.
func digits(src []byte, i int) int {
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	return i
}

// decimal reads a number of any form: from start, its digits from whole on up to i.
func (s *scratch) decimal(src, buf []byte, start, whole, i int) ([]byte, int) {
	integer, fraction, exponent := src[whole:i], []byte(nil), 0
	if i < len(src) && src[i] == '.' {
		point := i + 1
		if i = digits(src, point); i == point {
			return buf, s.failHere(src, i, "want a digit")
		}
		fraction = src[point:i]
	}
	if i < len(src) && src[i]|' ' == 'e' {
		if exponent, i = s.exponent(src, i+1); i < 0 {
			return buf, i
		}
	}
	return appendDecimal(buf, src[start] == '-', integer, fraction, exponent), i
}

// exponent reads what follows the letter e.
func (s *scratch) exponent(src []byte, i int) (e, next int) {
	negative := false
	if i < len(src) && (src[i] == '-' || src[i] == '+') {
		negative = src[i] == '-'
		i++
	}
	first := i
	if i = digits(src, i); i == first {
		return 0, s.failHere(src, i, "want a digit")
	}
	if i > first+maxExponent {
		return 0, s.fail(first, "number exponent of more than nine digits")
	}
	for _, c := range src[first:i] {
		e = 10*e + int(c-'0')
	}
	if negative {
		e = -e
	}
	return e, i
}

// appendDecimal appends ±integer.fraction × 10^exponent as a number: the text "0", or the digits without zeros at
// either end and the exponent that belongs to them, which is left out if it is zero.
func appendDecimal(buf []byte, negative bool, integer, fraction []byte, exponent int) []byte {
	exponent -= len(fraction)
	fraction, exponent = trimRight(fraction, exponent)
	if len(fraction) == 0 {
		integer, exponent = trimRight(integer, exponent)
	}
	if len(integer) > 0 && integer[0] == '0' { // a leading zero stands alone
		integer = nil
	}
	if len(integer) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	if len(integer)+len(fraction) == 0 {
		return append(buf, tagNumber, 1, '0')
	}
	var scratch [16]byte
	tail := scratch[:0]
	if exponent != 0 {
		tail = strconv.AppendInt(append(tail, 'e'), int64(exponent), 10)
	}
	n := len(integer) + len(fraction) + len(tail)
	if negative {
		buf = append(appendLength(append(buf, tagNumber), n+1), '-')
	} else {
		buf = appendLength(append(buf, tagNumber), n)
	}
	buf = append(append(buf, integer...), fraction...)
	return append(buf, tail...)
}

// trimRight takes the zeros off the end of b and counts them into the exponent.
func trimRight(b []byte, exponent int) ([]byte, int) {
	n := len(b)
	for n > 0 && b[n-1] == '0' {
		n--
	}
	return b[:n], exponent + len(b) - n
}
