// Command replaytrap shows in one run why a correct signature is not single use. It mints requestStates and attacks
// them: the residual table says what stops each attack, and what nothing stops.
//
//	go run ./examples/replaytrap
//	go run ./examples/replaytrap -without single-use,ttl
//	go run ./examples/replaytrap -format aead
//
// Every result was found by sealing and opening tokens in that run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:], time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "replaytrap:", err)
		os.Exit(1)
	}
}

// run is the program. now is when the token is minted; time then passes on the program's own clock.
func run(ctx context.Context, out io.Writer, args []string, now time.Time) error {
	c, help, err := parse(args)
	if help != "" {
		_, err = io.WriteString(out, help)
		return err
	}
	if err != nil {
		return err
	}
	key, err := requeststate.GenerateKey()
	if err != nil {
		return err
	}
	p := &printer{out: out, c: c, key: key, start: now.UTC().Truncate(time.Second)}
	for _, part := range []func(context.Context) error{p.token, p.table, p.trap} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return p.err
}

func parse(args []string) (c trap.Config, help string, err error) {
	var usage strings.Builder
	flags := flag.NewFlagSet("replaytrap", flag.ContinueOnError)
	flags.SetOutput(&usage)
	c = trap.Default()
	flags.StringVar(&c.Format, "format", c.Format, "token `format`: "+strings.Join(trap.Formats(), ", "))
	flags.Func("without", "leave out `bindings`, separated by commas: "+names(trap.Switches), func(list string) error {
		c.Without, err = trap.ParseSet(list)
		return err
	})
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return c, usage.String(), nil
	case err != nil:
		return c, "", err
	case flags.NArg() > 0:
		return c, "", fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	return c, "", c.Check()
}

func names(switches []trap.Switch) string {
	var list []string
	for _, s := range switches {
		list = append(list, string(s))
	}
	return strings.Join(list, ", ")
}
