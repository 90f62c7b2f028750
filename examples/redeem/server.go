package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
)

// Names of the tools. All three redeem a gift card, and all three are sealed.
const (
	trap    = "redeem_card_trap"    // without single use
	safe    = "redeem_card"         // with it
	hurried = "redeem_card_quickly" // with it, and with tokens that are valid for one second
)

// newServer returns the handler and the bearer token of each user.
func newServer(store requeststate.ReplayStore, logs *slog.Logger) (http.Handler, map[string]string, error) {
	sealer, err := newSealer(store)
	if err != nil {
		return nil, nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "gift-cards", Version: "1.0.0"}, nil)
	shop := &shop{}
	mcp.AddTool(server, &mcp.Tool{Name: trap, Description: "Redeem a gift card, again and again"}, shop.redeemer(false))
	mcp.AddTool(server, &mcp.Tool{Name: safe, Description: "Redeem a gift card, once"}, shop.redeemer(true))
	mcp.AddTool(server, &mcp.Tool{Name: hurried, Description: "Redeem a gift card, once and soon"}, shop.redeemer(true))

	// The one line that protects the server. It is added last, so it runs outermost.
	protect, err := gosdk.Middleware(sealer, gosdk.SingleRedemption(safe, hurried), gosdk.TTL(time.Second, hurried),
		gosdk.WithLogger(logs))
	if err != nil {
		return nil, nil, err
	}
	server.AddReceivingMiddleware(protect)

	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
	verify, tokens := users("alice", "bob")
	return auth.RequireBearerToken(verify, nil)(streamable), tokens, nil
}

// newSealer makes a key of its own. A server that restarts, or has replicas, loads its keys from a secret store.
func newSealer(store requeststate.ReplayStore) (requeststate.Sealer, error) {
	key, err := requeststate.GenerateKey()
	if err != nil {
		return nil, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	return aead.New(ring, requeststate.WithAudience("https://gift-cards.example"), requeststate.WithReplayStore(store))
}

// users stands for an authorization server: it knows some bearer tokens, and whose they are.
func users(names ...string) (auth.TokenVerifier, map[string]string) {
	owners, tokens := make(map[string]string), make(map[string]string)
	for _, name := range names {
		token := rand.Text()
		owners[token], tokens[name] = name, token
	}
	return func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		name, ok := owners[token]
		if !ok {
			return nil, fmt.Errorf("%w: not issued here", auth.ErrInvalidToken)
		}
		claims := map[string]any{"iss": "https://login.example", "sub": name}
		return &auth.TokenInfo{UserID: name, Extra: claims, Expiration: time.Now().Add(time.Hour)}, nil
	}, tokens
}
