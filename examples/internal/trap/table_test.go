package trap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

var start = time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC)

// stopped is what refuses each attack while every binding is on.
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

// flips is which attacks begin to work when one binding is left out. Without integrity all of them do.
var flips = map[Switch][]string{
	Integrity: {
		"state", "principal", "expiry", "method", "arguments", "audience", "retired", "format",
		"replay", "race", "fork", "restart",
	},
	Principal: {"principal"},
	TTL:       {"expiry"},
	Request:   {"method", "arguments"},
	Audience:  {"audience"},
	SingleUse: {"replay", "race", "fork", "restart"},
}

// passes is which attacks must work without the switches of set.
func passes(set Set) map[string]bool {
	want := map[string]bool{"flows": true}
	for name := range set {
		for _, id := range flips[name] {
			want[id] = true
		}
	}
	return want
}

func newKey(t *testing.T) requeststate.Key {
	t.Helper()
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	return key
}

// subset i of the switches, one bit each.
func subset(i int) Set {
	set := Set{}
	for bit, name := range Switches {
		if i>>bit&1 == 1 {
			set[name] = true
		}
	}
	return set
}

func TestEverySubsetOfBindings(t *testing.T) {
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			for i := range 1 << len(Switches) {
				c := Default()
				c.Format, c.Without = format, subset(i)
				rows, err := Table(t.Context(), c, newKey(t), start)
				require.NoError(t, err, "without %s", c.Without)
				want := passes(c.Without)
				require.Len(t, rows, len(stopped))
				for _, row := range rows {
					assert.Equal(t, want[row.ID], row.Passed(), "%s without %s: %v", row.ID, c.Without, row.Err)
					if !row.Passed() || row.Beyond != "" {
						assert.Equal(t, stopped[row.ID], row.StoppedBy(), "%s without %s", row.ID, c.Without)
					}
				}
			}
		})
	}
}

// Without integrity every other binding is worthless, because whatever does not pass verbatim passes rewritten.
func TestWithoutIntegrityTheAttackerRewrites(t *testing.T) {
	c := Default()
	c.Without = Set{Integrity: true}
	rows, err := Table(t.Context(), c, newKey(t), start)
	require.NoError(t, err)
	moves := map[string]string{}
	for _, row := range rows {
		moves[row.ID] = row.Move
	}
	assert.Equal(t, map[string]string{
		"state": "rewritten", "principal": "rewritten", "expiry": "rewritten", "method": "rewritten",
		"arguments": "rewritten", "audience": "rewritten", "retired": "verbatim", "format": "rewritten",
		"replay": "rewritten", "race": "rewritten",
		"fork": "rewritten", "restart": "rewritten", "flows": "verbatim",
	}, moves)
}

// The rows must not depend on the story: other requests give the same table.
func TestOtherRequestsGiveTheSameTable(t *testing.T) {
	stories := map[string]func(*Config){
		"prompt":   func(c *Config) { c.Method = "prompts/get" },
		"resource": func(c *Config) { c.Method, c.Name = "resources/read", "file:///etc/motd" },
		"the attacker's": func(c *Config) {
			c.Principal, c.Name, c.Service = "mallory", "transfer_balance", "loyalty-points"
		},
		"the attacker's 2": func(c *Config) { c.Arguments = json.RawMessage(`{"card":"GC-1042","amount":9999}`) },
		"empty":            func(c *Config) { c.Arguments, c.State = json.RawMessage(`{}`), nil },
		"one second":       func(c *Config) { c.TTL = time.Second },
		"long name": func(c *Config) {
			c.Method, c.Name = "resources/read", strings.Repeat("x", maxText)
		},
		"one hour":          func(c *Config) { c.TTL = time.Hour },
		"state not of text": func(c *Config) { c.State = []byte{0, 255, 10} },
	}
	for name, change := range stories {
		for i := range 1 << len(Switches) {
			c := Default()
			c.Without = subset(i)
			change(&c)
			rows, err := Table(t.Context(), c, newKey(t), start)
			require.NoError(t, err, "%s without %s", name, c.Without)
			for _, row := range rows {
				want := passes(c.Without)[row.ID]
				assert.Equal(t, want, row.Passed(), "%s: %s without %s: %v", name, row.ID, c.Without, row.Err)
			}
		}
	}
}

// A fault of the program must not pass for a refusal: it would make an attack look stopped.
func TestTableDoesNotTakeFaultsForRefusals(t *testing.T) {
	defer func(all []attack) { attacks = all }(attacks)
	for _, fault := range []error{errors.New("a mistake"), requeststate.ErrUnavailable} {
		attacks = []attack{{"x", "X", "", func(context.Context, *scene) ([]move, error) {
			return []move{{name: "verbatim", do: func() error { return fault }}}, nil
		}}}
		_, err := Table(t.Context(), Default(), newKey(t), start)
		require.ErrorIs(t, err, fault)
	}
}

func ExampleTable() {
	key, _ := requeststate.GenerateKey()
	c := Default()
	c.Without = Set{Principal: true, SingleUse: true}
	rows, _ := Table(context.Background(), c, key, start)
	for _, row := range rows {
		if row.Passed() {
			fmt.Println(row.Attack)
		}
	}
	// Output:
	// Presented by another principal
	// Replayed unchanged
	// Presented twice at once
	// Earlier round replayed (fork)
	// Replayed after the store lost its memory
	// A new flow for each use
}
