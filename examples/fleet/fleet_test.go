package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/services"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// need skips a test whose outside program is missing, unless REQUIRE_SERVICES says that none may be.
func need(t *testing.T, have bool, install string) {
	t.Helper()
	switch {
	case have:
	case os.Getenv("REQUIRE_SERVICES") == "1":
		t.Fatal(install)
	default:
		t.Skip(install)
	}
}

// programs checks for what the example runs, and installs what the lock files pin.
func programs(t *testing.T) {
	for _, name := range []string{"node", "npm"} {
		_, err := exec.LookPath(name)
		need(t, err == nil, "the fleet needs Node.js 20.19 or newer with npm")
	}
	for _, dir := range []string{"node", "../../integration/polyglot/node"} {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
			continue
		}
		cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		need(t, cmd.Run() == nil, "npm packages are missing: run npm ci in examples/fleet/node and integration/polyglot/node")
	}
}

// TestUndecided: when the store does not answer, neither half redeems, and neither says that the card was used.
func TestUndecided(t *testing.T) {
	programs(t)
	store := &failing{}
	f, err := start(context.Background(), store, "node")
	require.NoError(t, err)
	t.Cleanup(f.close)
	alice := client{f.address, "alice"}
	for _, server := range []string{"go", "typescript"} {
		first, err := alice.call(context.Background(), server, card, "")
		require.NoError(t, err)
		require.NotNil(t, first.Result)
		r, err := alice.call(context.Background(), server, card, first.Result.RequestState)
		require.NoError(t, err)
		assert.Contains(t, r.String(), "Internal error", server)
	}
	assert.Equal(t, int64(2), store.spends.Load())
}

// failing is a store that never decides.
type failing struct{ spends atomic.Int64 }

func (f *failing) Epoch(context.Context) (string, error) { return "epoch", nil }
func (f *failing) Consume(context.Context, requeststate.Use) error {
	f.spends.Add(1)
	return errors.Join(requeststate.ErrConsumed, requeststate.ErrUnavailable) // both: undecided
}

// TestStoreServer: who has no token cannot spend.
func TestStoreServer(t *testing.T) {
	s := &storeServer{&failing{}, "secret"}
	for _, token := range []string{"", "Bearer ", "Bearer x", "secret"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/spend", strings.NewReader("{}"))
		r.Header.Set("Authorization", token)
		s.ServeHTTP(w, r)
		assert.Equal(t, 401, w.Code)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/spend", strings.NewReader(`{"id":"x"}`))
	r.Header.Set("Authorization", "Bearer secret")
	s.ServeHTTP(w, r)
	assert.Equal(t, 503, w.Code)
}

// TestFleet: each flow ends at the other server than it began at, and redeems once, whichever store they share.
func TestFleet(t *testing.T) {
	programs(t)
	t.Run("memory", func(t *testing.T) { wholeFleet(t, "memory", "") })
	t.Run("redis", func(t *testing.T) { wholeFleet(t, "redis", services.Redis(t)) })
}

func wholeFleet(t *testing.T, store, at string) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, "node", store, at))
	t.Log("\n" + out.String())
	assert.Equal(t, 2, strings.Count(out.String(), "redeemed 25 from GC-1"))
	for _, want := range []string{
		"alice accepts                at go:         redeemed 25 from GC-1 (asked by typescript, redeemed by go)",
		"alice accepts                at typescript: redeemed 25 from GC-1 (asked by go, redeemed by typescript)",
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.Equal(t, 12, strings.Count(out.String(), "Invalid or expired requestState"), "six refusals a flow")
}
