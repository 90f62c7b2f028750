package gosdk_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// redeemer serves one tool that asks and then does what it is told.
func redeemer(t *testing.T, w *mrtrtest.World, then func(context.Context) error) *mcp.Server {
	s := mcp.NewServer(implementation, nil)
	s.AddTool(&mcp.Tool{Name: "redeem", InputSchema: anyObject},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses["confirm"] == nil {
				return &mcp.CallToolResult{InputRequests: sure()}, nil
			}
			return &mcp.CallToolResult{}, then(ctx)
		})
	protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleRedemption("redeem"))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	return s
}

// A transaction spends in place of the store, for modern and for old clients.
func TestRedeemWith(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	var uses []requeststate.Use
	s := redeemer(t, w, func(ctx context.Context) error {
		return gosdk.RedeemWith(ctx, func(_ context.Context, use requeststate.Use) error {
			uses = append(uses, use)
			return nil
		})
	})
	for _, version := range []string{modern, older} {
		_, err := client(t, s, &mcp.ClientSessionOptions{ProtocolVersion: version}).
			CallTool(t.Context(), &mcp.CallToolParams{Name: "redeem"})
		require.NoError(t, err, version)
	}
	require.Len(t, uses, 2)
	assert.NotEqual(t, uses[0].ID, uses[1].ID)
	for _, use := range uses {
		assert.Len(t, use.ID, 22)
		assert.NotEmpty(t, use.Epoch)
	}
}

func TestRedeemWithAnUndecidedTransaction(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	fail := errors.New("deadlock detected")
	a := &mrtrtest.Attacker{T: t, World: w, Server: serveMemory(t, redeemer(t, w, func(ctx context.Context) error {
		return gosdk.RedeemWith(ctx, func(context.Context, requeststate.Use) error { return fail })
	}))}
	token := a.First("redeem")
	assert.Equal(t, internal, string(a.Retry("redeem", token).Error))
	assert.Contains(t, w.Log(), "deadlock detected")
	fail = nil
	assert.Nil(t, a.Retry("redeem", token).Error, "the user may try again")
}

// One request redeems once, also when its handler tries more often, and tells the client of its success.
func TestRedeemTwiceInOneRequest(t *testing.T) {
	for _, version := range []string{modern, older} {
		w := mrtrtest.NewWorld(t)
		var mu sync.Mutex
		redeemed := 0
		s := redeemer(t, w, func(ctx context.Context) error {
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if gosdk.Redeem(ctx) == nil {
						mu.Lock()
						redeemed++
						mu.Unlock()
					}
				})
			}
			all.Wait()
			return nil
		})
		_, err := client(t, s, &mcp.ClientSessionOptions{ProtocolVersion: version}).
			CallTool(t.Context(), &mcp.CallToolParams{Name: "redeem"})
		require.NoError(t, err, version)
		assert.Equal(t, 1, redeemed, version)
	}
}

func TestWaiveAndRedeem(t *testing.T) {
	for name, test := range map[string]struct {
		then func(context.Context) error
		want string
	}{
		"waive": {gosdk.Waive, ""},
		"redeem then waive": {func(ctx context.Context) error {
			return errors.Join(gosdk.Redeem(ctx), unwrapped(gosdk.Waive(ctx)))
		}, ""},
		"waive then redeem": {func(ctx context.Context) error {
			return errors.Join(gosdk.Waive(ctx), gosdk.Redeem(ctx))
		}, internal},
		"neither": {func(context.Context) error { return nil }, internal},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			a := &mrtrtest.Attacker{T: t, World: w, Server: serveMemory(t, redeemer(t, w, test.then))}
			r := a.Retry("redeem", a.First("redeem"))
			assert.Equal(t, test.want, string(r.Error))
		})
	}
}

// unwrapped turns an expected error into success, and the lack of one into an error.
func unwrapped(err error) error {
	if err == nil {
		return errors.New("no error where one was due")
	}
	return nil
}

// Asking on after the redemption would make a flow that nobody can finish.
func TestAskingAfterRedeeming(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	s := mcp.NewServer(implementation, nil)
	s.AddTool(&mcp.Tool{Name: "redeem", InputSchema: anyObject},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses != nil {
				assert.NoError(t, gosdk.Redeem(ctx))
			}
			return &mcp.CallToolResult{InputRequests: sure()}, nil
		})
	protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleRedemption("redeem"))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	a := &mrtrtest.Attacker{T: t, World: w, Server: serveMemory(t, s)}
	assert.Equal(t, internal, string(a.Retry("redeem", a.First("redeem")).Error))
	assert.Contains(t, w.Log(), "was redeemed")
}

func TestEffect(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	ctx, stop := gosdk.Effect(parent, time.Hour)
	defer stop()
	cancel()
	require.NoError(t, ctx.Err())
	assert.Equal(t, "kept", ctx.Value(key{}))
	_, limited := ctx.Deadline()
	assert.True(t, limited)
}
