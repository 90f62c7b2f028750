// Command redeem is a real MCP server and a real client, over streamable HTTP, with a gift card.
//
//	go run ./examples/redeem [-v] [-store KIND [-at ADDRESS]]   the client tries five ways to cheat the server
//	go run ./examples/redeem -serve ADDRESS                     the server alone; its first line says where it is, as JSON
//
// Stores are memory, sqlite, redis and postgres. With REQUESTSTATE_KEY (openssl rand -hex 32) in the environment several servers
// are replicas of each other, if they have one store.
//
// It ends with 0 if everything was answered as it should be.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/stores"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("redeem", flag.ContinueOnError)
	flags.SetOutput(stderr)
	verbose := flags.Bool("v", false, "show the JSON on the wire")
	storeKind := flags.String("store", "memory", "where redemptions are remembered: "+stores.Kinds)
	storeAt := flags.String("at", "", "the store's address")
	address := flags.String("serve", "", "serve on this address until interrupted, without the client")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	logs := slog.New(slog.DiscardHandler)
	if *verbose || *address != "" {
		logs = slog.New(slog.NewTextHandler(stderr, nil)) // the operator's side: why something was refused
	}
	err := start(ctx, storeFlags{*storeKind, *storeAt}, *address, logs, func(ctx context.Context, at place) error {
		if *address != "" {
			return serveOnly(ctx, stdout, at)
		}
		var wire io.Writer
		if *verbose {
			wire = stdout
		}
		return demonstrate(ctx, at, stdout, wire)
	})
	if err != nil {
		fmt.Fprintln(stderr, "redeem:", err)
		return 1
	}
	return 0
}

// place is where the server is, and what its two users' bearer tokens are.
type place struct {
	URL    string            `json:"url"`
	Tokens map[string]string `json:"tokens"`
}

// storeFlags say which store, and where.
type storeFlags struct{ kind, at string }

// start runs the server while use runs.
func start(
	ctx context.Context, in storeFlags, address string, logs *slog.Logger, use func(context.Context, place) error,
) (err error) {
	store, closeStore, err := stores.Open(ctx, in.kind, in.at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	handler, tokens, err := newServer(store, logs)
	if err != nil {
		return err
	}
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = use(ctx, place{URL: "http://" + listener.Addr().String(), Tokens: tokens})
	err = errors.Join(err, server.Close())
	if stopped := <-served; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}

// serveOnly waits for the end of ctx.
func serveOnly(ctx context.Context, stdout io.Writer, at place) error {
	line, err := json.Marshal(at)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", line)
	<-ctx.Done()
	return nil
}
