// Package trap computes what the examples replaytrap and lab show: which attacks on a requestState still work under a
// given set of bindings. It has no table of answers. Every result comes from tokens sealed and opened to find it.
package trap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Switch is one thing that can be left out of a server's protection.
type Switch string

// The switches, in the order in which Open checks them.
const (
	Integrity Switch = "integrity"
	Audience  Switch = "audience"
	Principal Switch = "principal"
	Request   Switch = "request"
	TTL       Switch = "ttl"
	SingleUse Switch = "single-use"
)

// Switches lists all of them.
var Switches = []Switch{Integrity, Audience, Principal, Request, TTL, SingleUse}

// A Set of switches.
type Set map[Switch]bool

// ParseSet reads a list such as "ttl,single-use". The empty text is the empty set.
func ParseSet(list string) (Set, error) {
	set := Set{}
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(Switches, Switch(name)) {
			return nil, fmt.Errorf("no binding is called %q; there are %v", name, Switches)
		}
		set[Switch(name)] = true
	}
	return set, nil
}

// String is the form that ParseSet reads.
func (s Set) String() string {
	var names []string
	for _, name := range Switches {
		if s[name] {
			names = append(names, string(name))
		}
	}
	return strings.Join(names, ",")
}

// A Config is a server's protection and the one request that its token is for.
type Config struct {
	// Format is one of Formats. Without lists what the server leaves out.
	Format  string
	Without Set

	// Service is the audience. Principal is the caller.
	Service   string
	Principal string
	// Method is tools/call, prompts/get or resources/read. Name is the tool, the prompt or the URI. Arguments is a
	// JSON object; a resource has none.
	Method    string
	Name      string
	Arguments json.RawMessage
	State     []byte
	// TTL is whole seconds, 1 s to 1 h: LongestTTL, which stands for none, must be longer.
	TTL time.Duration
}

// LongestTTL is what a server has that leaves the TTL out: the library knows no token without an expiry.
const LongestTTL = 24 * time.Hour

// Default is the story of the examples: alice redeems a gift card, once.
func Default() Config {
	return Config{
		Format:    "hmac",
		Without:   Set{},
		Service:   "gift-cards",
		Principal: "alice",
		Method:    "tools/call",
		Name:      "redeem_card",
		Arguments: json.RawMessage(`{"card":"GC-1042","amount":25}`),
		State:     []byte(`{"confirmed":true,"amount":25}`),
		TTL:       5 * time.Minute,
	}
}

// Limits of a Config's fields, in bytes.
const (
	maxText      = 200
	maxArguments = 8 << 10
	maxState     = 8 << 10
)

// Check returns what is wrong with c, in words for whoever typed it.
func (c Config) Check() error {
	if _, ok := formats[c.Format]; !ok {
		return fmt.Errorf("no format is called %q; there are %v", c.Format, Formats())
	}
	for _, field := range []struct{ what, text string }{
		{"service", c.Service}, {"principal", c.Principal}, {"name", c.Name},
	} {
		if field.text == "" || len(field.text) > maxText {
			return fmt.Errorf("the %s must have 1 to %d bytes", field.what, maxText)
		}
	}
	if !slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, c.Method) {
		return fmt.Errorf("a requestState belongs to tools/call, prompts/get or resources/read, not to %q", c.Method)
	}
	if c.TTL < time.Second || c.TTL > time.Hour || c.TTL%time.Second != 0 {
		return errors.New("the TTL must be whole seconds, 1 to 3600")
	}
	if len(c.State) > maxState {
		return fmt.Errorf("the state must have at most %d bytes", maxState)
	}
	return checkArguments(c.Arguments)
}

func checkArguments(text json.RawMessage) error {
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(text, &object); {
	case len(text) > maxArguments:
		return fmt.Errorf("the arguments must have at most %d bytes", maxArguments)
	case err != nil && json.Valid(text), err == nil && object == nil:
		return errors.New(`the arguments must be a JSON object, such as {"amount": 25}`)
	case err != nil:
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	return nil
}

// Params is the wire's params object.
func (c Config) Params() json.RawMessage {
	name, _ := json.Marshal(c.Name) // a string always has a JSON form
	if c.Method == "resources/read" {
		return slices.Concat([]byte(`{"uri":`), name, []byte(`}`))
	}
	return slices.Concat([]byte(`{"name":`), name, []byte(`,"arguments":`), c.Arguments, []byte(`}`))
}

// otherPrincipal, otherName and otherArguments are the attacker's wishes. They differ from c's own.

func (c Config) otherPrincipal() Config {
	c.Principal = different(c.Principal, "mallory")
	return c
}

func (c Config) otherName() Config {
	c.Name = different(c.Name, "transfer_balance")
	return c
}

func (c Config) otherArguments() Config {
	if c.Method == "resources/read" { // all that a resource is asked for is its URI
		c.Name += "/../other"
		return c
	}
	amount := "9999"
	if bytes.Contains(c.Arguments, []byte(amount)) {
		amount = "8888"
	}
	c.Arguments = json.RawMessage(`{"card":"GC-1042","amount":` + amount + `}`)
	return c
}

func different(text, other string) string {
	if text == other {
		return other + "-2"
	}
	return other
}
