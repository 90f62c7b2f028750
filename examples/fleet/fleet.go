package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// A fleet is the two servers and the gateway.
type fleet struct {
	address string // of the gateway
	closers []func()
}

func (f *fleet) close() {
	for i := len(f.closers) - 1; i >= 0; i-- {
		f.closers[i]()
	}
}

// start runs both servers under one key and one store, and the gateway. nodeDir is the folder of server.mjs.
func start(ctx context.Context, store requeststate.ReplayStore, nodeDir string) (*fleet, error) {
	key, err := requeststate.GenerateKey()
	if err != nil {
		return nil, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	sealer, err := jose.NewJWS(ring, requeststate.WithAudience(audience), requeststate.WithReplayStore(store))
	if err != nil {
		return nil, err
	}
	f := &fleet{}
	goAddress, err := f.serve(newGoServer(sealer))
	if err != nil {
		return nil, err
	}
	lent := &storeServer{store, rand.Text()}
	lentAddress, err := f.serve(lent)
	if err != nil {
		f.close()
		return nil, err
	}
	tsAddress, err := f.node(ctx, nodeDir, ring, map[string]string{"address": lentAddress, "token": lent.token})
	if err != nil {
		f.close()
		return nil, err
	}
	g := &gateway{}
	if err := errors.Join(g.add("go", goAddress), g.add("typescript", tsAddress)); err != nil {
		f.close()
		return nil, err
	}
	if f.address, err = f.serve(g); err != nil {
		f.close()
		return nil, err
	}
	f.address += "/mcp"
	return f, nil
}

// serve listens on a free port of the loopback interface.
func (f *fleet) serve(h http.Handler) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	f.closers = append(f.closers, func() { _ = s.Close() })
	return "http://" + l.Addr().String(), nil
}

// node starts the TypeScript half. Its configuration has secrets, so it goes through a pipe: not in arguments, environment
// or a file. It ends when the pipe closes.
func (f *fleet) node(ctx context.Context, dir string, ring *requeststate.Keyring, store any) (string, error) {
	jwks, err := jose.SecretJWKS(ring)
	if err != nil {
		return "", err
	}
	config, err := json.Marshal(map[string]any{
		"jwks": json.RawMessage(jwks), "audience": audience, "issuer": issuer, "store": store,
	})
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(dir, "server.mjs"))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	f.closers = append(f.closers, func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if _, err := stdin.Write(append(config, '\n')); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the TypeScript server did not start (npm ci in %s and integration/polyglot/node?): %w", dir, err)
	}
	return strings.TrimSpace(line), nil
}
