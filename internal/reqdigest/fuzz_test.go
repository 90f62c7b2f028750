package reqdigest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// acceptable reports, by encoding/json and plain scans, whether params are an object that Sum takes for a method
// without salient members.
func acceptable(params []byte) bool {
	if !json.Valid(params) || !utf8.Valid(params) ||
		bytes.TrimLeft(params, " \t\r\n")[0] != '{' || loneSurrogate(params) {
		return false
	}
	type level struct {
		names map[string]bool // nil in an array
		value bool            // the next token is a value, not a name
	}
	var levels []level
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return true
		} else if err != nil {
			return false // deeper than encoding/json goes
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if n := len(levels); n > 0 && levels[n-1].names != nil {
			l := &levels[n-1]
			if l.value = !l.value; l.value {
				if l.names[token.(string)] {
					return false
				}
				l.names[token.(string)] = true
				continue
			}
		}
		switch token := token.(type) {
		case json.Delim:
			levels = append(levels, level{})
			if token == '{' {
				levels[len(levels)-1].names = map[string]bool{}
			}
			if len(levels) > 1000 {
				return false
			}
		case json.Number:
			if _, e, _ := strings.Cut(strings.ToLower(string(token)), "e"); len(strings.TrimLeft(e, "+-")) > 9 {
				return false
			}
		}
	}
}

// loneSurrogate looks for an escape of a surrogate without its other half in valid JSON.
func loneSurrogate(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		i++
		if b[i] != 'u' {
			continue
		}
		r, _ := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
		i += 4
		if !utf16.IsSurrogate(rune(r)) {
			continue
		}
		if i+6 >= len(b) || b[i+1] != '\\' || b[i+2] != 'u' {
			return true
		}
		second, _ := strconv.ParseUint(string(b[i+3:i+7]), 16, 16)
		if utf16.DecodeRune(rune(r), rune(second)) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

func FuzzSum(f *testing.F) {
	v := readVectors(f)
	for _, c := range v.Equal {
		for _, p := range c.Params {
			f.Add([]byte(p), uint64(len(p)))
		}
	}
	for _, c := range v.Refused {
		f.Add([]byte(c.Params+c.Hex), uint64(1))
	}
	f.Add([]byte(arguments198), uint64(3))
	f.Add(nested(20), uint64(4))
	f.Add(shuffledKeys(40, "prefix and "), uint64(5))
	f.Fuzz(func(t *testing.T, params []byte, seed uint64) {
		const method = "any"
		sum, err := Sum(method, params)
		if len(params) == 0 {
			params = []byte("{}")
		}
		require.Equal(t, acceptable(params), err == nil, "%q: %v", params, err)
		if err != nil {
			require.Zero(t, sum)
			return
		}
		checkForms(t, method, params, sum, rand.New(rand.NewPCG(seed, 0)))
		checkParts(t, params)
	})
}

func mustJSON(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// checkForms checks params, whose digest is sum, against their value by encoding/json.
func checkForms(t *testing.T, method string, params []byte, sum [32]byte, r *rand.Rand) {
	want, err := tree(params)
	require.NoError(t, err)
	b, err := canonical(method, params)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), 2*len(params)+len(label)+len(method)+2)
	gotMethod, got, err := decode(b)
	require.NoError(t, err)
	require.Equal(t, method, gotMethod)
	require.Equal(t, want, any(got))

	var plain map[string]any
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	require.NoError(t, d.Decode(&plain))
	again, err := json.Marshal(plain)
	require.NoError(t, err)
	same, err := Sum(method, again)
	require.NoError(t, err)
	require.Equal(t, sum, same, "%s and %s", params, again)

	if extreme.Match(params) {
		return
	}
	var text bytes.Buffer
	respell(r, &text, want)
	same, err = Sum(method, text.Bytes())
	require.NoError(t, err, "%s", &text)
	require.Equal(t, sum, same, "%s and %s", params, &text)

	n := r.IntN(8)
	text.Reset()
	if changed := change(want, &n); n < 0 && len(want.(map[string]any)) > 0 {
		respell(r, &text, changed)
		other, err := Sum(method, text.Bytes())
		require.NoError(t, err, "%s", &text)
		require.NotEqual(t, sum, other, "%s and %s", params, &text)
	}
}

// checkParts checks that ToolCall agrees with Sum, params being the arguments.
func checkParts(t *testing.T, params []byte) {
	got, err := ToolCall("näme", params)
	want, wantErr := Sum("tools/call", fmt.Appendf(nil, `{"arguments":%s,"_meta":{},"name":"näme"}`, params))
	require.Equal(t, wantErr == nil, err == nil, "%v and %v", err, wantErr)
	require.Equal(t, want, got)
}
