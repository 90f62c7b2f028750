//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// serve prints its address and serves the variants and /cpu until ctx ends.
func serve(ctx context.Context) error {
	sealers, err := newSealers()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/plain", handler(false, ""))
	mux.Handle("/padded", handler(false, strings.Repeat("x", 200)))
	for _, v := range []struct {
		path   string
		sealer requeststate.Sealer
		opts   []gosdk.Option
	}{
		{"/hmac", sealers.hmac, nil},
		{"/aead", sealers.aead, nil},
		{"/redeemed", sealers.hmac, []gosdk.Option{gosdk.SingleRedemption("deploy")}},
	} {
		protect, err := gosdk.Middleware(v.sealer, v.opts...)
		if err != nil {
			return err
		}
		mux.Handle(v.path, handler(v.opts != nil, "", protect))
	}
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, int64(cpuTime())) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	s := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// cpuTime is what this process has used, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type sealers struct{ hmac, aead requeststate.Sealer }

func newSealers() (s sealers, err error) {
	key, err := requeststate.GenerateKey()
	if err != nil {
		return s, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return s, err
	}
	store, err := replay.NewMemory()
	if err != nil {
		return s, err
	}
	opts := []requeststate.Option{requeststate.WithAudience("overhead"), requeststate.WithReplayStore(store)}
	if s.hmac, err = hmac.New(ring, opts...); err != nil {
		return s, err
	}
	s.aead, err = aead.New(ring, opts...)
	return s, err
}

func handler(redeem bool, padding string, protect ...mcp.Middleware) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "overhead", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "deploy"}, deploy(redeem, padding))
	s.AddReceivingMiddleware(protect...)
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return authenticated(streamable)
}

type deployment struct {
	Service  string   `json:"service"`
	Version  string   `json:"version"`
	Env      string   `json:"env"`
	Replicas int      `json:"replicas"`
	Regions  []string `json:"regions"`
	Canary   struct {
		Percent int `json:"percent"`
		Minutes int `json:"minutes"`
	} `json:"canary"`
	Notify bool   `json:"notify"`
	Ticket string `json:"ticket"`
	DryRun bool   `json:"dry_run"`
}

// deploy asks once, as the typical tool does.
func deploy(redeem bool, padding string) mcp.ToolHandlerFor[deployment, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, d deployment) (*mcp.CallToolResult, any, error) {
		if req.Params.InputResponses["confirm"] == nil {
			return &mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{Message: fmt.Sprintf("Deploy %s?", d.Service)}},
				RequestState:  state + padding,
			}, nil, nil
		}
		if redeem {
			if err := gosdk.Redeem(ctx); err != nil {
				return nil, nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deployed"}}}, nil, nil
	}
}
