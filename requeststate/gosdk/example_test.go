package gosdk_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

type transfer struct {
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

// transferMoney is a handler that asks before it acts.
func transferMoney(ctx context.Context, req *mcp.CallToolRequest, in transfer) (*mcp.CallToolResult, any, error) {
	agreed, ok := gosdk.State[transfer](ctx)
	answer, answered := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
	switch {
	case !ok || !answered:
		question := &mcp.ElicitParams{Message: fmt.Sprintf("Send %d to %s?", in.Amount, in.To)}
		res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": question}}
		return res, nil, gosdk.SetState(ctx, in)
	case answer.Action != "accept":
		return text("nothing was sent"), nil, gosdk.Waive(ctx)
	}
	if err := gosdk.Redeem(ctx); err != nil { // once per approval
		return nil, nil, err
	}
	return text(fmt.Sprintf("sent %d to %s", agreed.Amount, agreed.To)), nil, nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func ExampleMiddleware() {
	ctx := context.Background()
	key, _ := requeststate.GenerateKey()
	ring, _ := requeststate.NewKeyring(key)
	store, _ := replay.NewMemory()
	sealer, err := aead.New(ring, requeststate.WithAudience("https://bank.example"), requeststate.WithReplayStore(store),
		requeststate.AllowAnonymous()) // an in-memory connection has no users
	if err != nil {
		fmt.Println(err)
		return
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, transferMoney)
	protect, err := gosdk.Middleware(sealer, gosdk.SingleRedemption("transfer"))
	if err != nil {
		fmt.Println(err)
		return
	}
	server.AddReceivingMiddleware(protect)

	// A client that answers by itself.
	there, here := mcp.NewInMemoryTransports()
	serving, err := server.Connect(ctx, there, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer serving.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "transfer", Arguments: transfer{To: "Ada", Amount: 100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// Send 100 to Ada?
	// sent 100 to Ada
}
