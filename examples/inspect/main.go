// Command inspect says what a token says, and what Open would say to it.
//
//	go run ./examples/inspect -keys keyfile [-audience URL] [-principal PART]... [-method M -params JSON] [TOKEN]
//
// The token is an argument, or comes on standard input. The key file has one secret a line, in hex or base64url, or
// is a JWK Set; the secrets themselves are never shown. Without -keys the output is what everybody who holds the
// token can see. Nothing is ever spent: there is no replay store behind it.
//
// It ends with 0 if the token would open, 1 if not or if nobody can say, and 2 on a mistake in its use.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.Now()))
}

// maxToken is the longest token that is read, in bytes: sixteen times the default of a sealer.
const maxToken = 1 << 20

// request is what the flags say.
type request struct {
	token     string
	ring      *requeststate.Keyring // nil: no -keys
	audience  *string               // nil: the token's own
	principal []string
	method    string
	params    string
	use       string
	now       time.Time
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer, now time.Time) int {
	r, err := parse(args, stdin, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "inspect:", err)
		}
		return 2
	}
	r.now = now
	out := &report{w: stdout, now: now}
	if !inspect(out, r) {
		return 1
	}
	return 0
}

func parse(args []string, stdin io.Reader, stderr io.Writer) (*request, error) {
	r := &request{}
	var keys string
	f := flag.NewFlagSet("inspect", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&keys, "keys", "", "`file` of secrets: hex or base64url, one a line, or a JWK Set")
	f.Func("audience", "the service that would open it; \"\" for none (default: the token's own)", func(s string) error {
		r.audience = &s
		return nil
	})
	f.Func("principal", "a `part` of the caller's name, in order: issuer, subject", func(s string) error {
		r.principal = append(r.principal, s)
		return nil
	})
	f.StringVar(&r.method, "method", "", "the method of the request that would carry it, such as tools/call")
	f.StringVar(&r.params, "params", "{}", "the params of that request, in `JSON`")
	f.StringVar(&r.use, "use", "",
		"the mode that would be asked for: unlimited, single or redemption (default: the token's own)")
	if err := f.Parse(args); err != nil {
		return nil, flag.ErrHelp // the flag set has said it
	}
	switch r.use {
	case "", "unlimited", "single", "redemption":
	default:
		return nil, errors.New("-use is unlimited, single or redemption")
	}
	if keys != "" {
		ring, err := readKeys(keys)
		if err != nil {
			return nil, err
		}
		r.ring = ring
	}
	var err error
	r.token, err = readToken(f.Args(), stdin)
	return r, err
}

func readToken(args []string, stdin io.Reader) (string, error) {
	switch len(args) {
	case 0:
		raw, err := io.ReadAll(io.LimitReader(stdin, maxToken+1))
		if err != nil {
			return "", err
		}
		args = []string{string(raw)}
	case 1:
	default:
		return "", errors.New("more than one token (flags come first)")
	}
	token := strings.TrimSpace(args[0])
	switch {
	case token == "":
		return "", errors.New("no token, neither as an argument nor on standard input")
	case len(token) > maxToken:
		return "", fmt.Errorf("the token has more than %d bytes", maxToken)
	}
	return token, nil
}

// readKeys makes a ring of a key file. Errors do not quote it.
func readKeys(file string) (*requeststate.Keyring, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var keys []requeststate.Key
	if text := strings.TrimSpace(string(raw)); strings.HasPrefix(text, "{") {
		keys, err = jose.ParseKeys(raw)
	} else {
		for line := range strings.Lines(text) {
			var key requeststate.Key
			if key, err = requeststate.ParseKey(line); err != nil {
				break
			}
			keys = append(keys, key)
		}
	}
	if err == nil && len(keys) == 0 {
		err = errors.New("no keys")
	}
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	return requeststate.NewKeyring(keys[0], keys[1:]...)
}
