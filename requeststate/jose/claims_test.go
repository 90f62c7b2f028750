package jose_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// Members of a payload that opens; tests replace some.
const (
	memberID       = `"jti":"AAAAAAAAAAAAAAAAAAAAAQ"`
	memberTimes    = `"iat":1800000000,"exp":1800000300`
	memberDeadline = `"rs_deadline":1800003600`
	memberText     = `"rs_text":"state"`
)

func payload(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

// A goodPayload opens, to that state.
type goodPayload struct{ what, payload, state string }

func goodPayloads() []goodPayload {
	valid := []string{memberID, memberTimes, memberDeadline}
	deepest := strings.Repeat("[", 100) + "1" + strings.Repeat("]", 100)
	return []goodPayload{
		{"least", payload(memberID, memberTimes, memberDeadline, memberText), "state"},
		{"other order", payload(memberText, memberDeadline, memberTimes, memberID), "state"},
		{"white space", " {\n\t" + strings.Join(append(valid, memberText), " ,\r\n ") + " } \n", "state"},
		{"space before colon", strings.ReplaceAll(payload(append(valid, memberText)...), ":", " : "), "state"},
		{"escapes", payload(append(valid, `"rs_text":"\u0073\/\"\\\b\f\n\r\t\ud83d\ude00\u0000\uD83D\uDE00é"`)...), "s/\"\\\b\f\n\r\t😀\x00😀é"},
		{"empty text", payload(append(valid, `"rs_text":""`)...), ""},
		{"bytes", payload(append(valid, `"rs_bytes":"_-8"`)...), "\xff\xef"},
		{"no bytes", payload(append(valid, `"rs_bytes":""`)...), ""},
		{"object", payload(append(valid, `"rs_json": { "a" : [ 1 , -2.5e+3, true,false,null, {} ,[], "\u00e9" ] } `)...), `{ "a" : [ 1 , -2.5e+3, true,false,null, {} ,[], "\u00e9" ] }`},
		{"deepest", payload(append(valid, `"rs_json":`+deepest)...), deepest},
		{"number", payload(append(valid, `"rs_json":9007199254740993`)...), "9007199254740993"},
		{"null", payload(append(valid, `"rs_json":null`)...), "null"},
	}
}

func TestPayloadsThatOpen(t *testing.T) {
	for _, c := range goodPayloads() {
		for _, f := range formats() {
			ring := newRing(t)
			o, err := opener(t, f, ring).Open(ctx, mint(t, f.name, ring, c.payload))
			if assert.NoError(t, err, c.what) {
				assert.Equal(t, c.state, string(o.State), c.what)
				assert.Equal(t, issued.Unix(), o.IssuedAt.Unix(), c.what)
			}
		}
	}
}

// TestDocumentExample opens the token that docs/token-format-jwt.md shows, under the key it names.
func TestDocumentExample(t *testing.T) {
	doc, err := os.ReadFile("../../docs/token-format-jwt.md")
	require.NoError(t, err)
	_, example, ok := strings.Cut(string(doc), "## Example")
	require.True(t, ok)
	token := strings.Join(strings.Fields(regexp.MustCompile(`eyJhbGci[\w.\-\s]*`).FindString(example)), "")
	secret := regexp.MustCompile(`[0-9a-f]{64}`).FindString(example)
	key, err := requeststate.ParseKey(secret)
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	assert.Contains(t, example, key.ID().String())
	for _, purpose := range []string{"jws", "jwe", "principal", "request"} {
		sub, _ := subkey(t, ring, purpose)
		assert.Contains(t, example, b64.EncodeToString(sub), purpose)
	}
	s, err := jose.NewJWS(ring, requeststate.WithAudience("https://example.com/mcp"),
		requeststate.WithClock(func() time.Time { return issued }))
	require.NoError(t, err)
	o, err := s.Open(ctx, token, requeststate.Principal("https://issuer.example", "alice"),
		requeststate.ToolCall("deploy", []byte(`{"env":"staging"}`)))
	require.NoError(t, err)
	assert.Equal(t, `{"step":1}`, string(o.State))
}

// refusedMembers are claims that replace or join the valid ones.
var refusedMembers = map[string][]string{
	"jti": {
		`"jti":"AAAAAAAAAAAAAAAAAAAAAR"`, `"jti":"AAAAAAAAAAAAAAAAAAAAAAA"`, `"jti":"AAAAAAAAAAAAAAAAAAAAA"`, `"jti":"AAAAAAAAAAAAAAAAAAAAAQ=="`,
		`"jti":""`, `"jti":1`, `"jti":null`, `"jti":["AAAAAAAAAAAAAAAAAAAAAQ"]`, `"jti":"AAAAAAAAAAAAAAAAAAAA\n"`, `"jti":"AAAAAAAAAAAAAAAAAAA+AQ"`,
		`"jti":"AAAAAAAAAAAAAAAAAAAAAA"`, memberID + "," + memberID, memberID + `,"\u006ati":"AAAAAAAAAAAAAAAAAAAAAQ"`,
		`"JTI":"AAAAAAAAAAAAAAAAAAAAAQ"`, `"\u006ati":"AAAAAAAAAAAAAAAAAAAAAQ"`, ``,
	},
	"times": {
		`"iat":1800000000`, `"exp":1800000300`, `"iat":1800000000,"exp":"1800000300"`, `"iat":1800000000,"exp":1800000300.0`,
		`"iat":1800000000,"exp":1.8e9`, `"iat":1800000000,"exp":-1800000300`, `"iat":1800000000,"exp":1e400`, `"iat":1800000000,"exp":01800000300`,
		`"iat":1800000000,"exp":+1800000300`, `"iat":1800000000,"exp":null`, `"iat":1800000000,"exp":true`, `"iat":1800000000,"exp":[1800000300]`,
		`"iat":1800000000,"exp":{}`, `"iat":1800000000,"exp":0`, `"iat":1800000000,"exp":-0`, `"iat":1800000000,"exp":`,
		`"iat":1800000000,"exp":18446744073709551615`, `"iat":1800000000,"exp":18446744075509551916`, `"iat":1800000000,"exp":9999999999999999`, `"iat":1800000000,"exp":` + strings.Repeat("9", 400),
		`"iat":0,"exp":1800000300`, `"iat":"x","exp":1800000300`, memberTimes + `,"exp":1800000300`, memberTimes + `,"nbf":1800000000`,
	},
	"deadline": {
		``, `"rs_deadline":1800000299`, `"rs_deadline":1800604801`, `"rs_deadline":"1800003600"`, `"rs_deadline":1800003600.5`,
		memberDeadline + `,` + memberDeadline,
	},
	"state": {
		``, memberText + `,"rs_json":1`, memberText + `,"rs_bytes":""`, memberText + `,` + memberText, `"rs_text":null`, `"rs_text":1`, `"rs_text":{}`,
		`"rs_text":"\ud800"`, `"rs_text":"\udc00\ud800"`, `"rs_text":"\ud800\u0041"`, `"rs_text":"\ud83d\ud83d"`, `"rs_text":"\x41"`, `"rs_text":"\u00g0"`,
		`"rs_text":"\u00"`, `"rs_text":"` + "\xff" + `"`, `"rs_text":"` + "\xed\xa0\x80" + `"`, `"rs_text":"` + "\n" + `"`, `"rs_text":"a`, `"rs_text":'a'`,
		`"rs_text":"a\`, `"rs_bytes":"_-9"`, `"rs_bytes":"_-8="`, `"rs_bytes":"/+8"`, `"rs_bytes":"_-8\n"`, `"rs_bytes":"_"`, `"rs_bytes":[]`,
		`"rs_json":`, `"rs_json":01`, `"rs_json":1.`, `"rs_json":.5`, `"rs_json":1e`, `"rs_json":-`, `"rs_json":+1`, `"rs_json":NaN`, `"rs_json":tru`,
		`"rs_json":{"a":1,}`, `"rs_json":[1,]`, `"rs_json":[1 2]`, `"rs_json":{"a" 1}`, `"rs_json":{a:1}`, `"rs_json":{1:1}`, `"rs_json":{"a":"\ud800"}`,
		`"rs_json":{"a":1`, `"rs_json":[`, `"rs_json":1]`, `"rs_json":` + strings.Repeat("[", 101) + strings.Repeat("]", 101),
		`"rs_json":` + strings.Repeat("[", 30000),
	},
	"more": {
		`"aud":""`, `"aud":1`, `"aud":null`, `"aud":[]`, `"aud":["a"]`, `"aud":{}`, `"iss":"x"`, `"sub":"x"`, `"nbf":1`, `"x":1`, `"rs_x":null`, `"":1`, `"crit":["x"]`,
		`"rs_round":2`, `"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`, `"rs_round":1,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAQ"`,
		`"rs_round":1,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`, `"rs_round":2,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAQ"`,
		`"rs_round":17,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`, `"rs_round":0,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`,
		`"rs_round":258,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`, `"rs_round":"2","rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`,
		`"rs_use":"single"`, `"rs_epoch":"ZQ"`, `"rs_epoch":""`, `"rs_use":"single","rs_epoch":""`, `"rs_use":"Single","rs_epoch":"ZQ"`, `"rs_use":"","rs_epoch":"ZQ"`,
		`"rs_use":1,"rs_epoch":"ZQ"`, `"rs_use":null,"rs_epoch":"ZQ"`, `"rs_use":"unlimited","rs_epoch":"ZQ"`, `"rs_use":"single","rs_epoch":"ZR"`,
		`"rs_use":"single","rs_epoch":"` + strings.Repeat("A", 400) + `"`, `"rs_use":"single","rs_use":"single","rs_epoch":"ZQ"`,
		`"rs_principal":""`, `"rs_principal":null`, `"rs_principal":"AAAAAAAAAAAAAAAAAAAAAB"`, `"rs_request":"AAAA"`, `"rs_request":1`,
		`"rs_request":"AAAAAAAAAAAAAAAAAAAAAA","rs_request":"AAAAAAAAAAAAAAAAAAAAAA"`,
	},
}

func refusedPayloads() []string {
	names := []string{"jti", "times", "deadline", "state", "more"}
	valid := []string{memberID, memberTimes, memberDeadline, memberText, ""}
	var payloads []string
	for i, name := range names {
		for _, member := range refusedMembers[name] {
			var members []string
			for j, v := range valid {
				if j == i {
					v = member
				}
				if v != "" {
					members = append(members, v)
				}
			}
			payloads = append(payloads, payload(members...))
		}
	}
	whole := validPayload
	return append(payloads, "", "null", "1", `"x"`, "[]", "{}", "[{}]", " ", "{", "}", whole+whole, whole+"x", whole+"\x00", "\ufeff"+whole,
		strings.TrimSuffix(whole, "}")+",}", "{,"+whole[1:], whole[:len(whole)-1], "{"+whole+"}", strings.ReplaceAll(whole, ",", ";"), strings.Repeat("{", 40000))
}

func TestRefusedPayloads(t *testing.T) {
	for _, f := range formats() {
		ring := newRing(t)
		s := opener(t, f, ring)
		_, err := s.Open(ctx, mint(t, f.name, ring, validPayload))
		require.NoError(t, err, "the valid one")
		for _, p := range refusedPayloads() {
			refused(t, s, mint(t, f.name, ring, p), requeststate.ErrMalformed, f.name+" "+p[:min(len(p), 200)])
		}
	}
}

var update = flag.Bool("update", false, "rewrite testdata/jwt-claims.json")

// TestClaimsFile keeps testdata/jwt-claims.json, which other implementations are held against, equal to the tables
// here.
func TestClaimsFile(t *testing.T) {
	type vector struct {
		Payload []byte  `json:"payload"`         // base64, because some are not UTF-8
		State   *[]byte `json:"state,omitempty"` // base64
	}
	file := struct {
		About   string   `json:"about"`
		Good    []vector `json:"good"`
		Refused []vector `json:"refused"`
	}{About: "Claims of docs/token-format-jwt.md, in base64. good: they say this state, at second 1800000000. refused: malformed."}
	for _, c := range goodPayloads() {
		state := []byte(c.state)
		file.Good = append(file.Good, vector{[]byte(c.payload), &state})
	}
	for _, p := range refusedPayloads() {
		if len(p) < 2000 {
			file.Refused = append(file.Refused, vector{Payload: []byte(p)})
		}
	}
	want, err := json.MarshalIndent(file, "", " ")
	require.NoError(t, err)
	const name = "../../testdata/jwt-claims.json"
	if *update {
		require.NoError(t, os.WriteFile(name, append(want, '\n'), 0o644))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got), "run go test with -update")
}
