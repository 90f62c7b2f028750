package reqdigest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// respell writes a value in another way: members in a random order, white space, escapes, other forms of its numbers.
func respell(r *rand.Rand, b *bytes.Buffer, v any) {
	b.WriteString([]string{"", " ", "\n\t", "\r"}[r.IntN(4)])
	switch v := v.(type) {
	case decimal:
		respellNumber(r, b, string(v))
	case string:
		respellString(r, b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			respell(r, b, e)
		}
		b.WriteByte(']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteString(" ,")
			}
			respellString(r, b, name)
			b.WriteByte(':')
			respell(r, b, v[name])
		}
		b.WriteString(" }")
	default:
		fmt.Fprint(b, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
	b.WriteString([]string{"", " "}[r.IntN(2)])
}

func respellString(r *rand.Rand, b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c > 0xFFFF && r.IntN(2) == 0:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(b, `\u%04x\u%04X`, hi, lo)
		case c <= 0xFFFF && (c < ' ' || c == '"' || c == '\\' || r.IntN(8) == 0):
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}

func respellNumber(r *rand.Rand, b *bytes.Buffer, s string) {
	if s == "0" {
		b.WriteString([]string{"0", "-0", "0.00", "0e7"}[r.IntN(4)])
		return
	}
	digits, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	switch r.IntN(3) {
	case 0:
		fmt.Fprintf(b, "%s00E%+d", digits, e-2)
	case 1:
		fmt.Fprintf(b, "%s.0e%d", digits, e)
	default:
		sign := strings.TrimRight(digits, "0123456789")
		fmt.Fprintf(b, "%s0.%se%d", sign, strings.TrimPrefix(digits, sign), e+len(digits)-len(sign))
	}
}

// extreme finds exponents that respell might take over the limit.
var extreme = regexp.MustCompile(`[eE][-+]?[0-9]{9}`)

// change makes one leaf of v, the nth, another value. It reports what is left of n if v has fewer.
func change(v any, n *int) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = change(v[i], n)
		}
		if len(v) > 0 {
			return v
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v[name] = change(v[name], n)
		}
		if len(v) > 0 {
			return v
		}
	}
	*n--
	if *n != -1 {
		return v
	}
	switch v := v.(type) {
	case decimal:
		if strings.HasPrefix(string(v), "-") {
			return v[1:]
		} else if v == "0" {
			return decimal("1e-9")
		}
		return "-" + v
	case string:
		return v + "\x00"
	default:
		return "changed"
	}
}
