package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
)

var update = flag.Bool("update", false, "write testdata anew")

var start = time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC)

// masks hide what is random.
var masks = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`(?m)^  (rs1[a-z]\.|unprotected\.|eyJ)[\w.-]+(\n  [\w.-]+)*$`), "  ${1}(token)"},
	{regexp.MustCompile(`(?m)^  (key id|id|epoch)( +)[\w-]{11,22}$`), "  ${1}${2}(random)"},
	{regexp.MustCompile(`[0-9a-f]{32}`), "(random)"},
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, args, start))
	text := out.String()
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.text)
	}
	return text
}

func TestOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"hmac":              nil,
		"aead":              {"-format", "aead"},
		"xchacha":           {"-format", "xchacha"},
		"jwt":               {"-format", "jwt"},
		"jwe":               {"-format", "jwe"},
		"without-integrity": {"-without", "integrity"},
		"without-three":     {"-without", "principal,ttl,single-use"},
		"without-all":       {"-without", "integrity,audience,principal,request,ttl,single-use"},
	} {
		t.Run(name, func(t *testing.T) {
			got, file := output(t, args...), filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// verdicts cuts the residual table out of the output: attack → result and what stopped it.
func verdicts(text string) map[string]string {
	rows := map[string]string{}
	_, text, _ = strings.Cut(text, "------\n")
	text, _, _ = strings.Cut(text, "\n\n")
	cell := regexp.MustCompile(` {2,}`)
	for line := range strings.Lines(text) {
		cells := cell.Split(strings.TrimSpace(line), 3)
		rows[cells[0]] = cells[1] + " " + cells[2]
	}
	return rows
}

// flips is what leaving out one binding changes, and that is the same in every format.
var flips = map[string][]string{
	"integrity": {
		"State altered", "Presented by another principal", "Presented after its expiry",
		"Presented to another method or tool",
		"Presented with other arguments", "Token of another service, same key", "Token of a retired key",
		"Token of another format, same secret", "Replayed unchanged", "Presented twice at once",
		"Earlier round replayed (fork)", "Replayed after the store lost its memory",
	},
	"audience":  {"Token of another service, same key"},
	"principal": {"Presented by another principal"},
	"request":   {"Presented to another method or tool", "Presented with other arguments"},
	"ttl":       {"Presented after its expiry"},
	"single-use": {
		"Replayed unchanged", "Presented twice at once", "Earlier round replayed (fork)",
		"Replayed after the store lost its memory",
	},
}

func TestEachBindingFlipsItsOwnRows(t *testing.T) {
	whole := verdicts(output(t))
	require.Len(t, whole, 13)
	for _, format := range trap.Formats() {
		assert.Equal(t, whole, verdicts(output(t, "-format", format)), "all bindings, %s", format)
		for _, binding := range trap.Switches {
			got := verdicts(output(t, "-format", format, "-without", string(binding)))
			var flipped []string
			for attack, verdict := range got {
				if verdict != whole[attack] {
					flipped = append(flipped, attack)
					assert.Contains(t, verdict, "PASS nothing", "%s without %s: %s", format, binding, attack)
				}
			}
			assert.ElementsMatch(t, flips[string(binding)], flipped, "%s without %s", format, binding)
		}
	}
}

func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"no format is called":   {"-format", "rot13"},
		"no binding is called":  {"-without", "clock"},
		"unexpected argument":   {"hmac"},
		"not defined: -nothing": {"-nothing"},
	} {
		require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, args, start), want)
	}
	assert.Contains(t, output(t, "-help"), "-without bindings")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenPipe(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), brokenPipe{}, nil, start), "broken pipe")
}
