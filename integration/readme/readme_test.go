// Package readme builds the Go blocks of the README, and runs them.
package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is what the blocks stand in: names that the reader has, and a flow that is played.
const program = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func credit(context.Context) { fmt.Println("credited") }

// handler asks once, and redeems when it is answered.
func handler(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.RequestState == "" {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "25 EUR"}, nil
	}
HANDLER
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// bearer sends alice's access token.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer a")
	return http.DefaultTransport.RoundTrip(r)
}

func play(server *mcp.Server) {
	ctx := context.Background()
	server.AddTool(&mcp.Tool{Name: "redeem_card", InputSchema: json.RawMessage(` + "`" + `{"type":"object"}` + "`" + `)}, handler)
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "alice", Expiration: time.Now().Add(time.Hour)}, nil
	}
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(streamable))
	defer web.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: bearer{}}, DisableStandaloneSSE: true}, nil)
	check(err)
	defer session.Close()
	call := func(state string) (*mcp.CallToolResult, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: "redeem_card", Arguments: map[string]any{"card": "7"}, RequestState: state})
	}
	first, err := call("")
	check(err)
	fmt.Println("sealed:", strings.HasPrefix(first.RequestState, hmac.Prefix))
	for range 3 {
		_, err := call(first.RequestState)
		fmt.Println("refused:", err != nil)
	}
}

func option(sealer requeststate.Sealer, principal mcpgo.Principal) *server.MCPServer {
OPTION
	return s
}

func verbs(ctx context.Context, sealer requeststate.Sealer, state []byte, issuer, subject string, arguments json.RawMessage) {
	requestState := ""
	for range 3 {
		func() {
VERBS
			fmt.Println("opened:", opened != nil, err == nil)
			if requestState == "" {
				requestState = token
			}
		}()
	}
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
SETUP
	play(server)
	option(sealer, func(context.Context, mcpgo.Request) (string, error) { return "alice", nil })
	verbs(context.Background(), sealer, []byte("x"), "iss", "sub", nil)
}
`

// TestREADME builds the README's Go blocks into a program and runs it.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 4)
	source := strings.NewReplacer("SETUP", blocks[0][1], "HANDLER", blocks[1][1], "OPTION", blocks[2][1], "VERBS", blocks[3][1]).Replace(program)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "blocks", "main.go"): filepath.Join(dir, "main.go")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(dir, "readme")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./blocks").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, source)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "REQUESTSTATE_KEY=8d0f8a4f6c1e2b739a55d7e0c3b1f4826e9d0a7c5b3f18e2d4c6a8907f1e3b5d")
	out, err = cmd.Output() // the log goes to standard error
	require.NoError(t, err, "%s", out)
	require.Equal(t, "sealed: true\ncredited\nrefused: false\nrefused: true\nrefused: true\nopened: false false\nopened: true true\nopened: false false\n", string(out))
}

// TestTable: the table that the README shows is the one that the program prints.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	table := regexp.MustCompile("(?s)```\n(  Attack .*?)```").FindStringSubmatch(string(text))
	require.Len(t, table, 2)
	printed, err := os.ReadFile("../../examples/replaytrap/testdata/hmac.txt")
	require.NoError(t, err)
	require.Contains(t, string(printed), table[1])
}
