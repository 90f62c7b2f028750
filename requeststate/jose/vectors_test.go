package jose_test

import (
	"strings"
)

// vectorFile has tokens that must open and must fail. They are made below by hand from docs/token-format-jwt.md, without a line
// of the package under test, so that they are a second opinion on it.
const vectorFile = "../../testdata/vectors-jwt.json"

// A vector is a token, the request that carries it, and what comes of it.
type vector struct {
	Name      string   `json:"name"`
	Format    string   `json:"format"` // jws or jwe: the sealer that opens it
	Token     string   `json:"token"`
	Now       int64    `json:"now"`
	Audience  string   `json:"audience,omitempty"`
	Principal []string `json:"principal,omitempty"`
	Method    string   `json:"method,omitempty"`
	Params    string   `json:"params,omitempty"`
	Use       string   `json:"use,omitempty"`
	Reason    string   `json:"reason,omitempty"` // of the refusal; none: it opens
	State     []byte   `json:"state,omitempty"`
	Round     int      `json:"round,omitempty"`
	Flow      string   `json:"flow,omitempty"`
}

type vectorKey struct {
	Secret  string            `json:"secret"`  // hex
	ID      string            `json:"id"`      // base64url
	Subkeys map[string]string `json:"subkeys"` // base64url
}

type vectors struct {
	About   string      `json:"about"`
	Keys    []vectorKey `json:"keys"` // the ring, the key that seals first
	Vectors []vector    `json:"vectors"`
}

// makeVectors makes the file.
func makeVectors() vectors {
	all := vectors{About: "Tokens of docs/token-format-jwt.md: format opens token at second now for the request described, or refuses it for reason. " +
		"state is base64. The store's epoch is \"epoch\", and nothing was spent before a vector."}
	for _, secret := range secrets {
		m := newMaker("jws", secret)
		key := vectorKey{Secret: secret, ID: m.id(), Subkeys: map[string]string{}}
		for _, p := range []string{"token jws", "token jwe", "token rs1h", "token rs1x", "token rs1c", "principal tag", "request tag"} {
			name := strings.TrimSuffix(strings.TrimPrefix(p, "token "), " tag")
			key.Subkeys[name] = b64.EncodeToString(derived(m.secret, p, 32))
		}
		all.Keys = append(all.Keys, key)
	}
	for _, format := range []string{"jws", "jwe"} {
		all.Vectors = append(all.Vectors, opening(format)...)
		all.Vectors = append(all.Vectors, failing(format)...)
	}
	return all
}

// base is the request that the tokens are bound to.
func base(format, name, token string) vector {
	return vector{Name: name, Format: format, Token: token, Now: 1_800_000_000, Audience: "https://example.com/mcp",
		Principal: vectorPrincipal, Method: "tools/call", Params: vectorParams}
}

func opening(format string) (out []vector) {
	m, old := newMaker(format, secrets[0]), newMaker(format, secrets[1])
	flow := "_____________________w"
	if format == "jwe" { // nothing was spent before: no id is in both halves of the file
		m.jti, old.jti, flow = 50, 50, "_____________________g"
	}
	add := func(name, token, state string, change ...func(*vector)) {
		v := base(format, name, token)
		v.State = []byte(state)
		for _, f := range change {
			f(&v)
		}
		out = append(out, v)
	}
	add("text", m.token(m.bound(`"rs_text":"step 1 \"é\" \ud83d\ude00"`)), `step 1 "é" 😀`)
	add("JSON", m.token(m.bound(`"rs_json":{"n":9007199254740993,"x":[1.50,null]}`)), `{"n":9007199254740993,"x":[1.50,null]}`)
	add("bytes", m.token(m.bound(`"rs_bytes":"_wD-"`)), "\xff\x00\xfe")
	add("empty state", m.token(m.bound(`"rs_text":""`)), "")
	add("white space", m.token(strings.ReplaceAll(m.bound(`"rs_text":"a"`), ",", " ,\n ")), "a")
	add("last second", m.token(m.bound(`"rs_text":"a"`)), "a", func(v *vector) { v.Now += 299 })
	add("a minute early", m.token(m.bound(`"rs_text":"a"`)), "a", func(v *vector) { v.Now -= 60 })
	add("equal params", m.token(m.bound(`"rs_text":"a"`)), "a", func(v *vector) {
		v.Params = ` {"_meta":{},"arguments" : {"env":"st\u0061ging"},"name":"deploy"}`
	})
	add("second key of the ring", old.token(old.bound(`"rs_text":"old"`)), "old")
	add("not bound", m.token(payload(memberID, memberTimes, memberDeadline, memberText)), "state", func(v *vector) {
		v.Audience, v.Principal, v.Method, v.Params = "", nil, "", ""
	})
	add("single use", m.token(m.bound(`"rs_use":"single","rs_epoch":"ZXBvY2g","rs_text":"once"`)), "once", func(v *vector) { v.Use = "single" })
	add("round 2", m.token(m.bound(`"rs_round":2,"rs_flow":"`+flow+`","rs_use":"redemption","rs_epoch":"ZXBvY2g","rs_text":"r2"`)), "r2",
		func(v *vector) { v.Use, v.Round, v.Flow = "redemption", 2, flow })
	return out
}

func failing(format string) (out []vector) {
	m := newMaker(format, secrets[0])
	m.jti = 100
	add := func(name, token, reason string, change ...func(*vector)) {
		v := base(format, name, token)
		v.Reason = reason
		for _, f := range change {
			f(&v)
		}
		out = append(out, v)
	}
	good := m.token(m.bound(`"rs_text":"a"`))
	segments := strings.Split(good, ".")
	last := segments[len(segments)-1]
	without := strings.TrimSuffix(good, last)
	other := newMaker(format, "11f1e2d3c4b5a69788796a5b4c3d2e1f0f1e2d3c4b5a69788796a5b4c3d2e1fa")
	wrong := map[string]string{"jws": "jwe", "jwe": "jws"}[format]
	add("empty", "", "malformed")
	add("padding", good+"=", "malformed")
	add("line break", segments[0]+"\n."+strings.Join(segments[1:], "."), "malformed")
	add("trailing bits", without+aliasOf(last), "malformed")
	add("no last segment", strings.TrimSuffix(without, "."), "malformed")
	add("empty last segment", without, "malformed")
	add("extra segment", good+".", "malformed")
	add("the other format", newMaker(wrong, secrets[0]).token(m.bound(`"rs_text":"a"`)), "malformed")
	add("header with white space", b64.EncodeToString([]byte(strings.Replace(header(strings.ToUpper(format), m.id()+"."+format), ",", ", ", 1)))+
		strings.TrimPrefix(good, segments[0]), "malformed")
	if format == "jws" {
		key := derived(m.secret, "token jws", 32)
		add("alg none", hs256(key, strings.Replace(header("JWS", m.id()+".jws"), "HS256", "none", 1), m.bound(`"rs_text":"a"`)), "malformed")
		add("order of the header", hs256(key, `{"typ":"mcp-rs+jwt","alg":"HS256","kid":"`+m.id()+`.jws"}`, m.bound(`"rs_text":"a"`)), "malformed")
		add("signed under the secret", hs256(m.secret, header("JWS", m.id()+".jws"), m.bound(`"rs_text":"a"`)), "forged")
	} else {
		ciphertext, _ := b64.DecodeString(segments[3])
		tag, _ := b64.DecodeString(last)
		add("tag with a byte of the ciphertext", strings.Join([]string{segments[0], segments[1], segments[2],
			b64.EncodeToString(ciphertext[:len(ciphertext)-1]), b64.EncodeToString(append(ciphertext[len(ciphertext)-1:], tag...))}, "."), "malformed")
	}
	changed := without + swap(last[:1]) + last[1:]
	add("changed", changed, "forged")
	add("changed and expired", changed, "forged", func(v *vector) { v.Now += 1000 })
	add("key that is not in the ring", other.token(other.bound(`"rs_text":"a"`)), "unknown key")
	return append(out, authentic(m, format)...)
}

// swap is another character.
func swap(c string) string {
	if c == "A" {
		return "B"
	}
	return "A"
}

// authentic are failures behind authentication.
func authentic(m *maker, format string) (out []vector) {
	add := func(name, claims, reason string, change ...func(*vector)) {
		v := base(format, name, m.token(claims))
		v.Reason = reason
		for _, f := range change {
			f(&v)
		}
		out = append(out, v)
	}
	text := `"rs_text":"a"`
	replaced := func(old, new string) string { return strings.Replace(m.bound(text), old, new, 1) }
	add("claim twice", m.bound(text+","+text), "malformed")
	add("unknown claim", m.bound(text+`,"nbf":1`), "malformed")
	add("no state", m.bound(`"rs_use":"single","rs_epoch":"ZQ"`), "malformed")
	add("exp as text", replaced("1800000300", `"1800000300"`), "malformed")
	add("exp with a fraction", replaced("1800000300", "1800000300.0"), "malformed")
	add("aud as an array", replaced(`"https://example.com/mcp"`, `["https://example.com/mcp"]`), "malformed")
	add("unpaired surrogate", m.bound(`"rs_text":"\ud800"`), "malformed")
	add("exp past the deadline", replaced("1800003600", "1800000299"), "malformed")
	add("round 1 of another flow", m.bound(`"rs_round":1,"rs_flow":"_____________________w",`+text), "malformed")
	add("other audience", m.bound(text), "other audience", func(v *vector) { v.Audience = "https://example.com" })
	add("no audience", m.bound(text), "other audience", func(v *vector) { v.Audience = "" })
	add("other principal", m.bound(text), "other principal", func(v *vector) { v.Principal = []string{"https://issuer.exampleälice"} })
	add("no principal", m.bound(text), "other principal", func(v *vector) { v.Principal = nil })
	add("other arguments", m.bound(text), "other request", func(v *vector) { v.Params = `{"name":"deploy","arguments":{"env":"Staging"}}` })
	add("other method", m.bound(text), "other request", func(v *vector) { v.Method = "prompts/get" })
	add("params without a digest", m.bound(text), "other request", func(v *vector) { v.Params = `{"name":"deploy","name":"deploy"}` })
	add("single use not sealed in", m.bound(text), "other use mode", func(v *vector) { v.Use = "single" })
	add("single use not asked for", m.bound(`"rs_use":"single","rs_epoch":"ZXBvY2g",`+text), "other use mode")
	add("at expiry", m.bound(text), "expired", func(v *vector) { v.Now += 300 })
	add("too early", m.bound(text), "not yet valid", func(v *vector) { v.Now -= 61 })
	add("epoch of another history", m.bound(`"rs_use":"single","rs_epoch":"b2xk",`+text), "stale", func(v *vector) { v.Use = "single" })
	return out
}
