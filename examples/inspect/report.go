package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// report prints name and value a line. What comes from the token is quoted: it may have control characters for the
// terminal.
type report struct {
	w   io.Writer
	now time.Time
}

func (r *report) line(name, value string) { _, _ = fmt.Fprintf(r.w, "%-13s%s\n", name, value) }

func (r *report) linef(name, format string, args ...any) { r.line(name, fmt.Sprintf(format, args...)) }

// verdict is the last line. It reports whether the token would open.
func (r *report) verdict(text string) bool {
	r.line("Open says", text)
	return len(text) >= 5 && text[:5] == "opens"
}

// bytes prints text quoted, and other bytes in base64url.
func (r *report) bytes(name string, raw []byte) {
	if utf8.Valid(raw) {
		r.line(name, strconv.QuoteToGraphic(string(raw)))
		return
	}
	r.line(name, base64.RawURLEncoding.EncodeToString(raw)+" (base64url)")
}

func (r *report) claims(c *requeststate.Claims) {
	r.line("id", c.ID.String())
	r.time("issued", c.IssuedAt)
	r.time("expires", c.ExpiresAt)
	if len(c.Audience) > 0 {
		r.bytes("audience", c.Audience)
	} else {
		r.line("audience", "none")
	}
	r.line("principal", bound(c.Principal))
	r.line("request", bound(c.Request))
	r.linef("flow", "%s, round %d", c.Flow, c.Round)
	r.time("deadline", c.Deadline)
	r.line("use", c.Use.String())
	if c.Use != requeststate.UseUnlimited {
		r.bytes("epoch", c.Epoch)
	}
	r.bytes("state", c.State)
}

func bound(tag *requeststate.Tag) string {
	if tag == nil {
		return "not bound"
	}
	return "bound, tag " + base64.RawURLEncoding.EncodeToString(tag[:])
}

// time prints a time and how far it is away.
func (r *report) time(name string, seconds int64) {
	t := time.Unix(seconds, 0).UTC()
	r.linef(name, "%s, %s", t.Format(time.RFC3339), away(t.Sub(r.now)))
}

// away is a distance in words, in its largest unit, rounded down.
func away(d time.Duration) string {
	distance := d.Abs()
	n, unit := int64(distance/time.Second), "second"
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if distance >= u.size {
			n, unit = int64(distance/u.size), u.name
			break
		}
	}
	if n != 1 {
		unit += "s"
	}
	switch {
	case n == 0:
		return "now"
	case d < 0:
		return fmt.Sprintf("%d %s ago", n, unit)
	}
	return fmt.Sprintf("in %d %s", n, unit)
}
