package reqdigest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A decimal is a number's canonical text.
type decimal string

var errCanonical = errors.New("not canonical")

// A decoder turns canonical bytes back into values, strictly: what it accepts is the one form of its value.
type decoder struct{ b []byte }

// decode is the method and the parameters that canonical bytes stand for.
func decode(b []byte) (method string, params map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errCanonical, r)
		}
	}()
	d := &decoder{b}
	if d.text() != label {
		panic("label")
	}
	method = d.text()
	params = d.value().(map[string]any)
	if len(d.b) > 0 {
		panic("data behind")
	}
	return method, params, nil
}

func (d *decoder) byte() byte {
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) text() string {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || size > 1 && d.b[size-1] == 0 {
		panic("length")
	}
	s := string(d.b[size : size+int(n)])
	d.b = d.b[size+int(n):]
	if !utf8.ValidString(s) {
		panic("UTF-8")
	}
	return s
}

var decimalForm = regexp.MustCompile(`^(0|-?[1-9]([0-9]*[1-9])?(e-?[1-9][0-9]*)?)$`)

func (d *decoder) value() any {
	switch c := d.byte(); c {
	case 'n':
		return nil
	case 't':
		return true
	case 'f':
		return false
	case '"':
		return d.text()
	case '#':
		s := d.text()
		if !decimalForm.MatchString(s) {
			panic("decimal")
		}
		return decimal(s)
	case '[':
		all := []any{}
		for d.b[0] != ']' {
			all = append(all, d.value())
		}
		d.byte()
		return all
	case '{':
		return d.object()
	default:
		panic("tag")
	}
}

func (d *decoder) object() map[string]any {
	all, last := map[string]any{}, ""
	for d.b[0] != '}' {
		if d.byte() != '"' {
			panic("name")
		}
		name := d.text()
		if len(all) > 0 && name <= last {
			panic("order")
		}
		all[name], last = d.value(), name
	}
	d.byte()
	return all
}

// tree is the value of JSON text by encoding/json, its numbers as decimals. It does not look for what only Sum refuses.
func tree(text []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return decimals(v), nil
}

func decimals(v any) any {
	switch v := v.(type) {
	case json.Number:
		return toDecimal(string(v))
	case []any:
		for i := range v {
			v[i] = decimals(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = decimals(v[name])
		}
	}
	return v
}

// toDecimal is a slow and plain way to a number's canonical text.
func toDecimal(s string) decimal {
	s, negative := strings.CutPrefix(s, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	e := 0
	fmt.Sscanf(strings.TrimPrefix(exponent, "+"), "%d", &e) //nolint:errcheck // an empty exponent is zero
	digits := strings.TrimLeft(whole+fraction, "0")
	e -= len(fraction)
	for strings.HasSuffix(digits, "0") {
		digits, e = digits[:len(digits)-1], e+1
	}
	switch {
	case digits == "":
		return "0"
	case negative:
		digits = "-" + digits
	}
	if e != 0 {
		digits += fmt.Sprintf("e%d", e)
	}
	return decimal(digits)
}
