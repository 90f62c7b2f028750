package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/services"

	"github.com/mcp-requeststate/requeststate-go/internal/child"
)

// As a child process the test's own program is the server.
func TestMain(m *testing.M) {
	if args := os.Getenv("REDEEM_ARGS"); args != "" {
		os.Exit(run(context.Background(), strings.Fields(args), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestStores(t *testing.T) {
	for kind, at := range map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string { return filepath.Join(t.TempDir(), "spent.db") },
		"redis":  func(t *testing.T) string { return services.Redis(t) },
	} {
		t.Run(kind, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Zero(t, run(t.Context(), []string{"-store", kind, "-at", at(t)}, &out, &errs), errs.String())
			assert.Contains(t, out.String(), "redeemed 5 times")
			assert.Contains(t, out.String(), "redeemed 1 times")
		})
	}
}

// process starts a server in a process of its own.
func process(t *testing.T, key, redis string) place {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "REQUESTSTATE_KEY="+key, "REDEEM_ARGS=-serve 127.0.0.1:0 -store redis -at "+redis)
	cmd.Stderr = io.Discard
	child.Bind(cmd)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	var at place
	require.NoError(t, json.Unmarshal(line, &at))
	return at
}

// Two server processes behind one address that sends each request to the next of them: a token that one minted is redeemed at
// the other, once.
func TestTwoProcessesBehindOneAddress(t *testing.T) {
	redis := services.Redis(t)
	const key = "5d1f0c7b93a84e26d0b1f7c5a39e8462b7d4c1e09f5a3b8c6d2e7f10a4b9c8d3"
	replicas := []place{process(t, key, redis), process(t, key, redis)}
	require.Equal(t, replicas[0].Tokens, replicas[1].Tokens)
	var requests [2]atomic.Int64
	var next atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(next.Add(1) % 2)
		requests[i].Add(1)
		to, err := url.Parse(replicas[i].URL)
		if err != nil {
			panic(err)
		}
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
	}))
	defer front.Close()
	at := place{URL: front.URL, Tokens: replicas[0].Tokens}
	alice, err := connect(t.Context(), at, "alice", nil)
	require.NoError(t, err)
	defer func() { _ = alice.Close() }()
	wins := 0
	for range 3 { // an odd number of requests a round, so that rounds begin at either
		token, err := begin(t.Context(), alice, safe, "GC-77")
		require.NoError(t, err)
		for range 4 {
			ok, _, err := redeemed(t.Context(), alice, safe, "GC-77", token)
			require.NoError(t, err)
			if ok {
				wins++
			}
		}
	}
	assert.Equal(t, 3, wins, "one for each flow")
	assert.Positive(t, requests[0].Load())
	assert.Positive(t, requests[1].Load())
}
