package reqdigest

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParts checks that the digest of the parts is that of the whole.
func TestParts(t *testing.T) {
	t.Run("tools/call", func(t *testing.T) {
		none, err := Sum("tools/call", []byte(`{"name":"a\"b"}`))
		require.NoError(t, err)
		for _, arguments := range [][]byte{nil, {}, []byte(`null`), []byte(` null `), []byte(`{}`), []byte("{ \n}")} {
			got, err := ToolCall(`a"b`, arguments)
			require.NoError(t, err)
			assert.Equal(t, none, got, "%q", arguments)
		}
		for _, arguments := range []string{`{"a":null}`, `[]`, `false`, `""`, `0`, `[null]`, `{"":{}}`} {
			got, err := ToolCall(`a"b`, []byte(arguments))
			require.NoError(t, err)
			assert.NotEqual(t, none, got, arguments)
		}
	})
	t.Run("prompts/get", func(t *testing.T) {
		none, err := Sum("prompts/get", []byte(`{"name":"p","arguments":{}}`))
		require.NoError(t, err)
		for _, m := range []map[string]string{nil, {}} {
			got, err := PromptGet("p", m)
			require.NoError(t, err)
			assert.Equal(t, none, got)
		}
		m := map[string]string{"": "", "z": "\x00\"", "a": "€", "aaaaaaaaa": "1", "aaaaaaaa": "2"}
		for i := range 100 {
			m[fmt.Sprint("argument", i)] = fmt.Sprint(i)
		}
		params := mustJSON(t, map[string]any{"name": "p", "arguments": m})
		want, err := Sum("prompts/get", params)
		require.NoError(t, err)
		got, err := PromptGet("p", m)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
	t.Run("resources/read", func(t *testing.T) {
		for _, uri := range []string{"", "file:///a?b=ü", strings.Repeat("x", 20_000)} {
			want, err := Sum("resources/read", mustJSON(t, map[string]any{"uri": uri}))
			require.NoError(t, err)
			got, err := ResourceRead(uri)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	})
	t.Run("absent params", func(t *testing.T) {
		want, err := Sum("ping", []byte(`{}`))
		require.NoError(t, err)
		for _, params := range [][]byte{nil, {}} {
			got, err := Sum("ping", params)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	})
}

// TestPartsRefused: what has no place in params has offset -1.
func TestPartsRefused(t *testing.T) {
	const bad = "a\xffb"
	tool := func(name, arguments string) func() ([32]byte, error) {
		return func() ([32]byte, error) { return ToolCall(name, []byte(arguments)) }
	}
	prompt := func(name string, m map[string]string) func() ([32]byte, error) {
		return func() ([32]byte, error) { return PromptGet(name, m) }
	}
	for name, c := range map[string]struct {
		digest func() ([32]byte, error)
		want   Error
	}{
		"tool name":       {tool(bad, ""), Error{-1, "invalid UTF-8 in the name"}},
		"arguments":       {tool("t", `{"a":1,"a":2}`), Error{7, duplicate}},
		"cut off":         {tool("t", `{"a"`), Error{4, "unexpected end"}},
		"white space":     {tool("t", ` `), Error{1, "unexpected end"}},
		"byte order mark": {tool("t", "\ufeff{}"), Error{0, "byte order mark"}},
		"two arguments":   {tool("t", `{}{}`), Error{2, "data after the arguments"}},
		"too deep":        {tool("t", strings.Repeat("[", 1000)), Error{999, "nested deeper than 1000"}},
		"prompt name":     {prompt(bad, nil), Error{-1, "invalid UTF-8 in the name"}},
		"prompt argument": {prompt("p", map[string]string{"a": bad}), Error{-1, "invalid UTF-8 in the arguments"}},
		"argument name":   {prompt("p", map[string]string{bad: "a"}), Error{-1, "invalid UTF-8 in the arguments"}},
		"uri":             {func() ([32]byte, error) { return ResourceRead(bad) }, Error{-1, "invalid UTF-8 in the uri"}},
		"method":          {func() ([32]byte, error) { return Sum(bad, nil) }, Error{-1, "invalid UTF-8 in the method"}},
		"no method":       {func() ([32]byte, error) { return Sum("", nil) }, Error{-1, "no method"}},
	} {
		t.Run(name, func(t *testing.T) {
			sum, err := c.digest()
			require.Equal(t, &c.want, err)
			assert.Zero(t, sum)
			assert.NotContains(t, err.Error(), "\xff")
			if c.want.Offset >= 0 {
				assert.Equal(t, fmt.Sprintf("%s at byte %d", c.want.Msg, c.want.Offset), err.Error())
			} else {
				assert.Equal(t, c.want.Msg, err.Error())
			}
		})
	}
}

// TestErrorAfterError: a scratch that comes back from a refused request does not spoil the next one, and an error that
// was handed out does not change.
func TestErrorAfterError(t *testing.T) {
	want, err := ToolCall("t", []byte(arguments198))
	require.NoError(t, err)
	_, first := ToolCall("t", []byte(`{"b":{"z":1,"y":2},"a":{"c":[1,{"d":`))
	_, second := ToolCall("t", []byte(`{"b":01}`))
	got, err := ToolCall("t", []byte(arguments198))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, &Error{36, "unexpected end"}, first)
	assert.Equal(t, &Error{5, "number with a leading zero"}, second)
}

// TestEveryCut: no prefix of a request is a request, nor a panic.
func TestEveryCut(t *testing.T) {
	for _, in := range []string{arguments198, `{"a\u00e9\ud83d\ude00":[-1.50e-7,"ü",true,false,null,{"b":{},"a":[]}]}`} {
		for i := 1; i < len(in); i++ {
			_, err := Sum("any", []byte(in[:i]))
			require.Equal(t, &Error{i, "unexpected end"}, replaceLiteral(err, i), in[:i])
		}
	}
}

// replaceLiteral takes a word or an escape that is cut off for what it is: an end.
func replaceLiteral(err error, end int) error {
	if e := err.(*Error); e.Offset >= end-12 && (e.Msg == "not a JSON value" || e.Msg == "bad \\u escape" ||
		e.Msg == "lone surrogate" || e.Msg == "invalid UTF-8") {
		return &Error{end, "unexpected end"}
	}
	return err
}

// TestAmbiguity: values that read alike when they are put together are different requests.
func TestAmbiguity(t *testing.T) {
	seen := map[[32]byte]string{}
	add := func(what string, sum [32]byte, err error) {
		t.Helper()
		require.NoError(t, err)
		require.NotContains(t, seen, sum, "%s and %s", what, seen[sum])
		seen[sum] = what
	}
	for _, c := range [][2]string{
		{"a", `{"b":"c"}`}, {"a|b", `{"":"c"}`}, {"ab", `{"":"c"}`}, {"a", `{"bc":""}`}, {"a", `{"b":["c"]}`}, {"a.b", `"c"`},
		{"a\x00b", `"c"`}, {"a", `"b\u0000c"`}, {"a", `{"b":{"c":""}}`}, {"", `{"b":"c"}`}, {`{"b":"c"}`, ""},
		{"a", `{"b":"c","":""}`},
	} {
		sum, err := ToolCall(c[0], []byte(c[1]))
		add("tool "+c[0]+c[1], sum, err)
	}
	sum, err := PromptGet("a", map[string]string{"b": "c"})
	add("prompt", sum, err)
	sum, err = ResourceRead("a")
	add("resource", sum, err)
	for _, method := range []string{"tools/call ", "Tools/call", "tools", "tools/call{", "tools/call\n"} {
		sum, err = Sum(method, []byte(`{"name":"a","arguments":{"b":"c"}}`))
		add(method, sum, err)
	}
}

// TestNames: names that differ in case only are different members, and none is taken for a salient one.
func TestNames(t *testing.T) {
	want, err := Sum("tools/call", []byte(`{"name":"t"}`))
	require.NoError(t, err)
	for _, other := range []string{"RequestState", "reque\u017ftState", "Name", "NAME", "Arguments", "ARGUMENTS", "Task", "uri",
		"name\u0000"} {
		got, err := Sum("tools/call", mustJSON(t, map[string]any{"name": "t", other: map[string]any{"a": 1}}))
		require.NoError(t, err)
		assert.Equal(t, want, got, other)
	}
	for _, name := range []string{"Name", "NAME", "na\u212ae"} {
		_, err := Sum("tools/call", mustJSON(t, map[string]any{name: "t"}))
		assert.Equal(t, &Error{-1, "member name is missing"}, err)
	}
	a, err := ToolCall("t", []byte(`{"requestState":1,"RequestState":2}`))
	require.NoError(t, err)
	b, err := ToolCall("t", []byte(`{"requestState":2,"RequestState":1}`))
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
}

// TestDecimals compares exact values by math/big with canonical texts.
func TestDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	digits := func(n int) (s string) {
		for range n {
			s += string("0000123456789"[r.IntN(13)])
		}
		return s
	}
	seen := map[string]string{} // value by math/big → canonical text
	for range 2000 {
		text := []string{"", "-"}[r.IntN(2)] + []string{"0", "1" + digits(r.IntN(4))}[r.IntN(2)]
		if r.IntN(2) == 0 {
			text += "." + digits(1+r.IntN(3))
		}
		if r.IntN(2) == 0 {
			text += []string{"e", "E", "e+", "e-"}[r.IntN(4)] + digits(1+r.IntN(2))
		}
		b, err := canonical("x", []byte(`{"":`+text+`}`))
		require.NoError(t, err, text)
		_, params, err := decode(b)
		require.NoError(t, err, text)
		got := string(params[""].(decimal))
		want, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		value, ok := new(big.Rat).SetString(got)
		require.True(t, ok, got)
		require.Zero(t, want.Cmp(value), "%s and %s", text, got)
		if before, ok := seen[want.String()]; ok {
			require.Equal(t, before, got, text)
		}
		seen[want.String()] = got
	}
}

// TestSizes crosses the sizes at which the code takes another way.
func TestSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 118, 119, 120, 121, 127, 128, 129, 255, 16383, 16384} {
		for _, fill := range []string{"x", "é", `\n`, `\u00e9`} {
			text := strings.Repeat(fill, n)
			in := fmt.Appendf(nil, `{"b%s":"%s","a":"%s`, text, text, text)
			checkInput(t, append(in, `"}`...), r)
			checkInput(t, append(in, "\\\"x\"\n\t}"...), r)
		}
	}
	for n := range 60 {
		for _, prefix := range []string{"", "k", "seven__", "eight___", "longer than eight"} {
			checkInput(t, shuffledKeys(n, prefix), r)
			checkInput(t, keys(n, prefix), r)
		}
	}
	checkInput(t, nested(998), r)
	checkInput(t, orders(64<<10, false), r)
	checkInput(t, orders(64<<10, true), r)
}

func checkInput(t *testing.T, in []byte, r *rand.Rand) {
	t.Helper()
	sum, err := Sum("any", in)
	require.NoError(t, err, "%.100s", in)
	checkForms(t, "any", in, sum, r)
}

// TestDuplicates finds a duplicate wherever it is, in objects of any size.
func TestDuplicates(t *testing.T) {
	for _, n := range []int{2, 3, 12, 13, 25, 40} {
		for first := range n {
			for second := first + 1; second < n; second++ {
				names := make([]string, n)
				for i := range names {
					names[i] = fmt.Sprintf(`"%05d":0`, (i*37)%101)
				}
				names[second] = names[first]
				in := "{" + strings.Join(names, ",") + "}"
				_, err := ToolCall("t", []byte(in))
				require.Equal(t, &Error{1 + second*len(`"00000":0,`), duplicate}, err, in)
			}
		}
	}
}

// TestWhiteSpace puts every byte between tokens: four of them change nothing (RFC 8259 section 2), the others are refused.
func TestWhiteSpace(t *testing.T) {
	want, err := Sum("any", []byte(`{"a":[1,{}],"b":true}`))
	require.NoError(t, err)
	tokens := []string{"", `{`, `"a"`, `:`, `[`, `1`, `,`, `{`, `}`, `]`, `,`, `"b"`, `:`, `true`, `}`, ""}
	for c := range 256 {
		for at := 1; at < len(tokens); at++ {
			between := string([]byte{byte(c)})
			in := strings.Join(tokens[:at], "") + between + strings.Join(tokens[at:], "")
			got, err := Sum("any", []byte(in))
			switch {
			case strings.Contains(" \t\r\n", between):
				require.NoError(t, err, "%q", in)
				require.Equal(t, want, got, "%q", in)
			case err == nil: // a digit or a minus that makes another number
				require.Contains(t, "-0123456789", between, "%q", in)
				require.NotEqual(t, want, got, "%q", in)
			}
		}
	}
}
