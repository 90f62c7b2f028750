package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
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
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	sealer, err := newSealer(key, store)
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
	verify, tokens, err := users(key, "alice", "bob")
	if err != nil {
		return nil, nil, err
	}
	return auth.RequireBearerToken(verify, nil)(streamable), tokens, nil
}

// newKey reads the key that replicas share or, if there is none, makes one that ends with the process.
func newKey() (requeststate.Key, error) {
	if text := os.Getenv("REQUESTSTATE_KEY"); text != "" {
		return requeststate.ParseKey(text)
	}
	return requeststate.GenerateKey()
}

func newSealer(key requeststate.Key, store requeststate.ReplayStore) (requeststate.Sealer, error) {
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	return aead.New(ring, requeststate.WithAudience("https://gift-cards.example"), requeststate.WithReplayStore(store))
}

// users stands for an authorization server: it knows some bearer tokens, and whose they are. They come from the key, so that
// replicas know the same ones.
func users(key requeststate.Key, names ...string) (auth.TokenVerifier, map[string]string, error) {
	owners, tokens := make(map[string]string), make(map[string]string)
	for _, name := range names {
		token, err := requeststate.Derive(key, "example bearer "+name, func(b []byte) (string, error) { return hex.EncodeToString(b), nil })
		if err != nil {
			return nil, nil, err
		}
		owners[token], tokens[name] = name, token
	}
	return func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		name, ok := owners[token]
		if !ok {
			return nil, fmt.Errorf("%w: not issued here", auth.ErrInvalidToken)
		}
		claims := map[string]any{"iss": "https://login.example", "sub": name}
		return &auth.TokenInfo{UserID: name, Extra: claims, Expiration: time.Now().Add(time.Hour)}, nil
	}, tokens, nil
}
