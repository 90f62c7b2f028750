package lab

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// switches of the page, by their names in the form.
var switches = []string{"integrity", "principal", "ttl", "request", "single-use"}

// stopped is what the page must say of each attack while every switch is on.
var stopped = map[string]string{
	"state":     "integrity (forged)",
	"principal": "principal (other principal)",
	"expiry":    "ttl (expired)",
	"method":    "request (other request)",
	"arguments": "request (other request)",
	"audience":  "audience (other audience)",
	"retired":   "integrity (unknown key)",
	"format":    "integrity (forged)",
	"replay":    "single-use (already used)",
	"race":      "single-use (already used)",
	"fork":      "single-use (already used)",
	"restart":   "single-use (stale)",
	"flows":     "nothing here: your own records must (a balance, a unique row)",
}

// flips is which attacks begin to work without one switch.
var flips = map[string]string{
	"integrity":  "state principal expiry method arguments audience retired format replay race fork restart",
	"principal":  "principal",
	"ttl":        "expiry",
	"request":    "method arguments",
	"single-use": "replay race fork restart",
}

// passes is which attacks must work without the given switches.
func passes(without map[string]bool) map[string]bool {
	want := map[string]bool{"flows": true}
	for name, off := range without {
		for id := range strings.FieldsSeq(flips[name]) {
			want[id] = want[id] || off
		}
	}
	return want
}

// row is what the page shows of an attack.
type row struct{ Result, StoppedBy string }

func (p *page) table() map[string]row {
	p.t.Helper()
	return eval[map[string]row](p, `Object.fromEntries([...document.querySelectorAll("#rows tr")].map((tr) =>
		[tr.dataset.id, {Result: tr.children[1].innerText, StoppedBy: tr.children[2].innerText}]))`)
}

// check compares the page's table with what must come out without the given switches.
func (p *page) check(without map[string]bool) {
	p.t.Helper()
	got, want := p.table(), passes(without)
	require.Len(p.t, got, len(stopped))
	for id, r := range got {
		switch {
		case !want[id]:
			assert.Equal(p.t, row{"refused", stopped[id]}, r, "%s without %v", id, without)
		case id == "flows":
			assert.Equal(p.t, row{"PASS", stopped[id]}, r)
		default:
			assert.Equal(p.t, "PASS", r.Result, "%s without %v", id, without)
			assert.Contains(p.t, r.StoppedBy, "nothing (", "%s without %v", id, without)
		}
	}
}

// press turns a switch by clicking on its label, as a user does.
func (p *page) press(name string) {
	p.t.Helper()
	p.click(`label:has([name="` + name + `"])`)
}

// All 32 combinations, in Gray code: each step turns one switch. The first five singles are among them.
func TestEveryCombinationOfSwitches(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	without := map[string]bool{}
	p.check(without)
	seen := 1
	for i := 1; i < 32; i++ {
		name := switches[trailingZeros(i)]
		p.press(name)
		without[name] = !without[name]
		p.check(without)
		seen++
		assert.Equal(t, without["integrity"], eval[bool](p, `!document.getElementById("worthless").hidden`))
	}
	assert.Equal(t, 32, seen)
	p.quiet()
}

func trailingZeros(i int) (n int) {
	for ; i&1 == 0; i >>= 1 {
		n++
	}
	return n
}

// A switch flips its own rows and no other, in every format, and no format changes a row.
func TestEachSwitchInEachFormat(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "dark")
	for _, format := range []string{"hmac", "aead", "xchacha", "jwt", "jwe"} {
		before := p.table()
		p.click(`label:has([value="` + format + `"])`)
		assert.Equal(t, before, p.table(), "the change to %s", format)
		assert.Contains(t, p.text("#formats-same"), "The format changes not one row.")
		for _, name := range switches {
			p.press(name)
			p.check(map[string]bool{name: true})
			assert.Contains(t, p.text("#live"), name+" off", "the change is announced")
			p.press(name)
			assert.Equal(t, before, p.table(), "%s is on again", name)
		}
	}
	p.quiet()
}
