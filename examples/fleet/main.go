// Command fleet runs a Go and a TypeScript MCP server, each with its official SDK, behind one address. A flow that starts at
// one ends at the other, and a gift card's flow redeems once, wherever the copies of its last request go.
//
//	(cd integration/polyglot/node && npm ci) && (cd examples/fleet/node && npm ci)
//	go run ./examples/fleet
//
// Tokens are signed JWTs of package jose: the TypeScript half reads and writes them from docs/token-format-jwt.md, with the
// sub-keys of jose.SecretJWKS. There is one replay store, which is the Go half's: in memory, or in Redis with -store redis. The
// Go half lends it to the TypeScript half over the loopback interface, so that one implementation of the store decides for
// both; the TypeScript half does not call Redis itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/stores"
)

func main() {
	nodeDir := flag.String("node", "examples/fleet/node", "`folder` of the TypeScript server")
	kind := flag.String("store", "memory", stores.Kinds)
	at := flag.String("at", "", "the store's `address`")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *nodeDir, *kind, *at); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, nodeDir, kind, at string) error {
	store, closeStore, err := stores.Open(ctx, kind, at)
	if err != nil {
		return err
	}
	defer func() { _ = closeStore() }()
	f, err := start(ctx, store, nodeDir)
	if err != nil {
		return err
	}
	defer f.close()
	return demonstrate(ctx, out, f.address)
}

const card = `{"card":"GC-1","amount":25}`

// demonstrate prints what the fleet does with two flows and their copies.
func demonstrate(ctx context.Context, out io.Writer, address string) error {
	alice, mallory := client{address, "alice"}, client{address, "mallory"}
	for _, route := range [][2]string{{"typescript", "go"}, {"go", "typescript"}} {
		first, err := alice.call(ctx, route[0], card, "")
		if err != nil {
			return err
		}
		if first.Result == nil || first.Result.RequestState == "" {
			return fmt.Errorf("no token from %s: %v", route[0], first)
		}
		token := first.Result.RequestState
		fmt.Fprintf(out, "alice starts at %s: %v\n", first.By, first)
		for _, step := range []struct {
			who    client
			server string
			args   string
			what   string
		}{
			{mallory, route[1], card, "mallory sends alice's token"},
			{alice, route[1], `{"card":"GC-1","amount":2500}`, "alice asks for more"},
			{alice, route[1], card, "alice accepts"},
			{alice, "", card, "the same request again"},
			{alice, "", card, "the same request again"},
			{alice, "", card, "the same request again"},
			{alice, "", card, "the same request again"},
		} {
			r, err := step.who.call(ctx, step.server, step.args, token)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %-28s at %-11s %v\n", step.what, r.By+":", r)
		}
	}
	return nil
}
