//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// authenticated has one user, so that tokens are bound to a principal as they would be.
func authenticated(h http.Handler) http.Handler {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "alice", Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, nil)(h)
}

// server is the other process.
type server struct {
	url    string
	client *http.Client
	stop   func()
}

func startServer(ctx context.Context) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-server")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return &server{url: strings.TrimSpace(line), client: client, stop: stop}, nil
}

// run has clients run flows against path.
func (s *server) run(ctx context.Context, path string, flows, clients int) (c cost, err error) {
	before, err := s.cpu(ctx)
	if err != nil {
		return c, err
	}
	start, mine := time.Now(), cpuTime()
	var left atomic.Int64
	left.Store(int64(flows))
	errs := make(chan error, clients)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := s.flow(ctx, path); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	c.wall = time.Since(start)
	close(errs)
	if err := <-errs; err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	after, err := s.cpu(ctx)
	c.cpu = after - before
	c.all = c.cpu + cpuTime() - mine
	return c, err
}

func (s *server) cpu(ctx context.Context) (time.Duration, error) {
	text, err := s.do(ctx, http.MethodGet, "/cpu", nil)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Duration(n), err
}

func (s *server) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return text, err
}

var headers = map[string]string{
	"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer alice",
	"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "deploy",
}

const (
	first = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},` +
		`"name":"deploy","arguments":` + arguments
	retryFormat = `%s,"requestState":%q,"inputResponses":{"confirm":{"action":"accept","content":{}}}}}`
)

// The job of the benchmarks: a state of 64 bytes and 200 of arguments.
const (
	state     = `{"step":"confirm","env":"production","nonce":"0123456789abcdef"}`
	arguments = `{"service":"checkout","version":"2026.7.28","env":"production","replicas":12,` +
		`"regions":["eu-west-1","us-east-1"],"canary":{"percent":5,"minutes":30},"notify":true,"ticket":"OPS-48213","dry_run":false}`
)

// flow is a first call and its retry.
func (s *server) flow(ctx context.Context, path string) error {
	text, err := s.do(ctx, http.MethodPost, "/"+path, []byte(first+"}}"))
	if err != nil {
		return err
	}
	var asked struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal(text, &asked); err != nil {
		return err
	}
	retry := fmt.Sprintf(retryFormat, first, asked.Result.RequestState)
	if text, err = s.do(ctx, http.MethodPost, "/"+path, []byte(retry)); err != nil {
		return err
	}
	if !bytes.Contains(text, []byte("deployed")) {
		return fmt.Errorf("retry: %s", text)
	}
	return nil
}

// alone measures Seal and Open by themselves, in microseconds.
func alone(ctx context.Context, sealer requeststate.Sealer) (sealUS, openUS float64, err error) {
	const n = 20000
	opts := func() []requeststate.Binding {
		call := requeststate.ToolCall("deploy", json.RawMessage(arguments))
		return []requeststate.Binding{requeststate.Principal("alice"), call}
	}
	var token string
	start := time.Now()
	for range n {
		if token, err = sealer.Seal(ctx, []byte(state), opts()...); err != nil {
			return 0, 0, err
		}
	}
	sealUS = float64(time.Since(start).Microseconds()) / n
	start = time.Now()
	for range n {
		if _, err = sealer.Open(ctx, token, opts()...); err != nil {
			return 0, 0, err
		}
	}
	return sealUS, float64(time.Since(start).Microseconds()) / n, nil
}
