// Command lab serves a page on which each binding of a requestState is a switch, and every result is computed on the
// spot by sealing and opening real tokens.
//
//	go run ./examples/lab
//
// It listens on loopback. It is a teaching tool: it gives its tokens, and what is inside them, to whoever can reach
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8642", "`address` to listen on; port 0 takes a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Stdout, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// serve listens on addr until ctx ends.
func serve(ctx context.Context, out io.Writer, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		_ = listener.Close()
		return fmt.Errorf("%s is not a loopback address, and the lab is for its user alone", addr)
	}
	lab := newLab(time.Now)
	server := &http.Server{
		Handler:           lab.handler(hosts(listener.Addr())),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	go lab.sessions.sweepUntil(ctx, 30*time.Second) // so that an idle page's key goes without a request
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(out, "The lab is at http://%s\nInterrupt (Ctrl-C) ends it and forgets all keys.\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
