package main

import (
	"bytes"
	_ "embed"
	"go/format"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
)

//go:embed snippet.tmpl
var snippetText string

// snippetTemplate gets every value as Go source from quote or number, so nothing that a user typed is code.
var snippetTemplate = template.Must(template.New("snippet").Funcs(template.FuncMap{
	"quote": quote,
}).Parse(snippetText))

// constructors is how each format is made.
var constructors = map[string]struct{ pkg, call string }{
	"hmac":    {"hmac", "hmac.New"},
	"aead":    {"aead", "aead.New"},
	"xchacha": {"aead", "aead.NewXChaCha20Poly1305"},
	"jwt":     {"jose", "jose.NewJWS"},
	"jwe":     {"jose", "jose.NewJWE"},
}

// snippet is a Go program with the protection of c.
func snippet(c trap.Config) (string, error) {
	ttl := c.TTL
	if c.Without[trap.TTL] {
		ttl = trap.LongestTTL
	}
	var out bytes.Buffer
	err := snippetTemplate.Execute(&out, map[string]any{
		"Package":   constructors[c.Format].pkg,
		"New":       constructors[c.Format].call,
		"Service":   c.Service,
		"TTL":       strconv.Itoa(int(ttl/time.Second)) + "*time.Second",
		"Integrity": !c.Without[trap.Integrity],
		"Principal": !c.Without[trap.Principal],
		"Request":   !c.Without[trap.Request],
		"HasTTL":    !c.Without[trap.TTL],
		"SingleUse": !c.Without[trap.SingleUse],
		"Who":       c.Principal,
		"Method":    c.Method,
		"Params":    string(c.Params()),
		"State":     string(c.State),
	})
	if err != nil {
		return "", err
	}
	source, err := format.Source(out.Bytes())
	return string(source), err
}

// quote is s as a Go string, raw if that reads better.
func quote(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
