package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verdicts is the last column of the five replays.
func (p *page) verdicts() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll("#replays tr")].map((tr) => tr.lastChild.innerText.trim())`)
}

func count(list []string, part string) (n int) {
	for _, s := range list {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

func TestReplayAndRace(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	p.click("#replay")
	require.Len(t, p.verdicts(), 5)
	assert.Equal(t, 1, count(p.verdicts(), "PASS"), "%v", p.verdicts())
	assert.Equal(t, 4, count(p.verdicts(), "refused already used"), "%v", p.verdicts())
	p.click("#replay")
	assert.Equal(t, "0 PASS, 5 refused: already used. It was spent before: mint a new token.", p.text("#replay-summary"))
	p.click("#mint")
	assert.False(t, eval[bool](p, `document.querySelector(".replays").checkVisibility()`), "an earlier token's replays")
	p.click("#race")
	assert.Equal(t, "50 at once: 1 accepted, 49 refused: already used.", p.text("#race-summary"))

	p.press("single-use")
	p.click("#replay")
	assert.Equal(t, 5, count(p.verdicts(), "PASS"), "%v", p.verdicts())
	assert.Equal(t, "5 PASS, 0 refused.", p.text("#replay-summary"))
	checks := eval[[]string](p, `[...document.querySelectorAll("#replays td[data-label]")].map((td) => td.innerText)`)
	require.Len(t, checks, 30)
	assert.Equal(t, 25, count(checks, "pass"))
	assert.Equal(t, 5, count(checks, "off"))
	p.click("#race")
	assert.Equal(t, "50 at once: 50 accepted, 0 refused.", p.text("#race-summary"))
	p.quiet()
}

func TestFork(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	p.click("#fork")
	for id, redeemed := range map[string]int{"without": 2, "with": 1, "flows": 5} {
		steps := eval[[]string](p, `[...document.querySelectorAll("#flow-`+id+` .verdict")].map((e) => e.innerText)`)
		assert.Equal(t, redeemed, count(steps, "redeemed"), "%s: %v", id, steps)
	}
	p.quiet()
}

func TestNewSessionKey(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	before := p.text("#token")
	p.click("#rotate")
	assert.Contains(t, p.text("#rotated"), "refused (unknown key)")
	assert.NotEqual(t, before, p.text("#token"))
	p.do(chromedp.SetValue(chromedp.CSS(`#attack [name=token]`), before))
	p.click(`#attack [type=submit]`)
	assert.Contains(t, p.text("#log"), `token.reason="unknown key"`)
	p.quiet()
}

func TestAttackByHand(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	const refused = `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid or expired requestState",` +
		`"data":{"reason":"invalid_request_state"}}}`
	for _, tt := range []struct{ field, value, log string }{
		{"principal", "mallory", `token.reason="other principal"`},
		{"method", "prompts/get", `token.reason="other request"`},
		{"name", "refund", `token.reason="other request"`},
		{"arguments", `{"card":"GC-1042","amount":2500}`, `token.reason="other request"`},
		{"token", "rs1h.AAAA", `token.reason=malformed`},
	} {
		p.do(chromedp.SetValue(chromedp.CSS(`#attack [name=`+tt.field+`]`), tt.value))
		p.click(`#attack [type=submit]`)
		assert.Contains(t, p.text("#log"), tt.log, tt.field)
		assert.JSONEq(t, refused, p.text("#answer"), "the client's answer says nothing of %s", tt.field)
		p.click("#restore")
	}
	p.click("#flip")
	p.click(`#attack [type=submit]`)
	assert.Contains(t, p.text("#log"), "token.reason=forged")
	p.click("#restore")
	p.click(`#attack [type=submit]`)
	assert.Contains(t, p.text("#log"), "the token was accepted")
	assert.Contains(t, p.text("#answer"), `"result"`)
	p.quiet()
}

func TestFieldsAndMessages(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	for _, tt := range []struct{ name, value, inside string }{
		{"state", `{"step":2}`, `{"step":2}`},
		{"seconds", "42", "(42s)"},
	} {
		p.fill(tt.name, tt.value)
		assert.Contains(t, p.text("#inside"), tt.inside)
	}
	p.fill("who", "bob")
	assert.Equal(t, "bob", eval[string](p, `document.getElementById("attack").elements.principal.value`))
	assert.Contains(t, p.text("#snippet"), `"bob"`)
	before := p.text("#token")
	p.fill("arguments", `{"card": `)
	assert.Contains(t, p.text("#invalid"), "the arguments are not JSON")
	assert.Equal(t, before, p.text("#token"), "the page stays as it was")
	p.fill("arguments", `{"card":"GC-7"}`)
	assert.True(t, eval[bool](p, `document.getElementById("invalid").hidden`))
	p.check(nil)
	p.do(chromedp.SendKeys(chromedp.CSS(`#controls [name=method]`), "res"))
	p.idle()
	assert.Equal(t, "URI", p.text("#name-label"))
	p.check(nil)
	p.complaints = nil // the browser logs the 400 that is the message
}

// fill types into a field of the controls.
func (p *page) fill(name, value string) {
	p.t.Helper()
	field := `#controls [name=` + name + `]`
	eval[bool](p, `document.querySelector(`+toJSON(field)+`).select(), true`) // typing replaces what is there
	p.do(chromedp.SendKeys(chromedp.CSS(field), value))
	p.idle()
}

// The client reads a signed token's claims and not an encrypted one's.
func TestWhatTheClientReads(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	for format, readable := range map[string]bool{"hmac": true, "aead": false, "xchacha": false, "jwt": true, "jwe": false} {
		p.click(`label:has([value="` + format + `"])`)
		assert.Equal(t, readable, strings.Contains(p.text("#readable"), "gift-cards"), format)
		assert.Contains(t, p.text("#inside"), `{"confirmed":true,"amount":25}`)
	}
	p.quiet()
}

// Everything is to be reached and worked with the keyboard, and the focus is to be seen.
func TestKeyboard(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "integrity", eval[string](p, `document.activeElement.name`), "behind the link that skips")
	assert.NotEqual(t, "none", eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`))
	p.do(chromedp.KeyEvent(" "))
	p.idle()
	p.check(map[string]bool{"integrity": true})
	want := eval[int](p, `[...document.querySelectorAll("button, input, select, textarea, summary, a[href], pre[tabindex]")]
		.filter((e) => e.checkVisibility() && (e.type !== "radio" || e.checked)).length`)
	reached := map[string]bool{}
	for range want + 3 {
		reached[eval[string](p, `[...document.querySelectorAll("*")].indexOf(document.activeElement).toString()`)] = true
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	assert.GreaterOrEqual(t, len(reached), want-2, "the two before integrity are behind the end of the round")
	p.quiet()
}

// The page has its token and its table within 300 ms. Ten times that is the limit here, for a machine that is busy.
func TestFirstPaintIsQuick(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	best := 1 << 20
	for range 5 {
		p.load()
		best = min(best, eval[int](p, `Number(document.documentElement.dataset.ready)`))
	}
	t.Logf("token and table %d ms after the navigation began, best of 5", best)
	assert.Less(t, best, 3000)
	p.quiet()
}

func TestAxe(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	need(t, err == nil, "the accessibility test needs axe-core: npm ci --prefix integration/lab")
	url := startLab(t)
	for _, width := range []int64{360, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			p := openPage(t, url, width, scheme)
			for _, show := range []string{"", "all", "off"} {
				switch show {
				case "all":
					for _, id := range []string{"#replay", "#race", "#fork", "#flip", "#attack [type=submit]"} {
						p.click(id)
					}
				case "off":
					p.press("integrity")
					p.click("#replay")
					p.click("#rotate")
				}
				_, err := chromedp.Run(p.ctx, chromedp.Evaluate[chromedp.Void](string(source)))
				require.NoError(t, err)
				violations := eval[[]json.RawMessage](p, `axe.run(document, {resultTypes: ["violations"]}).then((r) =>
					r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.map((n) => n.html + " " + n.failureSummary)})))`)
				for _, v := range violations {
					t.Errorf("%d px, %s, %q: %s", width, scheme, show, v)
				}
			}
			p.quiet()
		}
	}
}
