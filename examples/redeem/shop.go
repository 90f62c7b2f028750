package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
)

// cardValue is what every card is worth.
const cardValue = 50

type cardInput struct {
	Card string `json:"card" jsonschema:"the number on the card"`
}

type cardOutput struct {
	Redeemed bool `json:"redeemed"`
	Balance  int  `json:"balance" jsonschema:"the user's balance in euros"`
}

// offer is what the handler remembers between the question and the answer: what the user has been asked. It travels
// through the client, sealed.
type offer struct {
	Card  string `json:"card"`
	Euros int    `json:"euros"`
}

// shop has the balances. A real one also knows which cards are used up: single use is per approval, and five
// approvals are five. It would note that in the same transaction as the credit and the redemption (gosdk.RedeemWith).
type shop struct {
	mu       sync.Mutex
	balances map[string]int // by user, in euros
}

func (s *shop) credit(user string, euros int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.balances == nil {
		s.balances = make(map[string]int)
	}
	s.balances[user] += euros
	return s.balances[user]
}

// redeemer asks the user, and credits the card's value when the user has accepted.
func (s *shop) redeemer(once bool) mcp.ToolHandlerFor[cardInput, cardOutput] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in cardInput) (*mcp.CallToolResult, cardOutput, error) {
		user := req.Extra.TokenInfo.UserID
		offered, ok := gosdk.State[offer](ctx)
		answer, answered := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
		switch {
		case !ok || !answered:
			return ask(ctx, offer{Card: in.Card, Euros: cardValue})
		case answer.Action != "accept":
			if once {
				if err := gosdk.Waive(ctx); err != nil { // nothing happens, so nothing is spent
					return nil, cardOutput{}, err
				}
			}
			return nil, cardOutput{Balance: s.credit(user, 0)}, nil
		}
		if once {
			if err := gosdk.Redeem(ctx); err != nil { // just before the effect
				return nil, cardOutput{}, err
			}
		}
		ctx, cancel := gosdk.Effect(ctx, 10*time.Second) // a user who hangs up now must still get the money
		defer cancel()
		return nil, cardOutput{Redeemed: true, Balance: s.credit(user, offered.Euros)}, ctx.Err()
	}
}

func ask(ctx context.Context, o offer) (*mcp.CallToolResult, cardOutput, error) {
	question := &mcp.ElicitParams{
		Message:         fmt.Sprintf("Redeem gift card %s for %d euros?", o.Card, o.Euros),
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
	}
	err := gosdk.SetState(ctx, o)
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": question}}, cardOutput{}, err
}
