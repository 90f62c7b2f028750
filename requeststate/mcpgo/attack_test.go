package mcpgo_test

import (
	"testing"

	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

// What this SDK makes of an attack in place of what the table says. None lets an effect happen that nobody approved.
var limits = map[string]mrtrtest.Limit{
	// It reads member names regardless of case, so this is a requestState like any other.
	"state under another spelling": {Want: mrtrtest.Done, Effects: 1},
	// Its bridge for old clients asks in as many rounds as the handler wants.
	"legacy client, two rounds": {Want: mrtrtest.Done, Effects: 1},
}

func TestAttacksOverHTTP(t *testing.T) {
	mrtrtest.Run(t, mrtrtest.Adapter{Frozen: frozen, Internal: internal, Limits: limits,
		Start: func(t *testing.T, w *mrtrtest.World) mrtrtest.Server { return serveHTTP(t, newServer(t, w)) }})
}

func TestAttacksInProcess(t *testing.T) {
	mrtrtest.Run(t, mrtrtest.Adapter{Frozen: frozen, Internal: internal, Limits: limits,
		Start: func(t *testing.T, w *mrtrtest.World) mrtrtest.Server {
			return &memoryServer{MCPServer: newServer(t, w)}
		}})
}
