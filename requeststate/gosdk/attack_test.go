package gosdk_test

import (
	"testing"

	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

func TestAttacksOverHTTP(t *testing.T) {
	start := func(t *testing.T, w *mrtrtest.World) mrtrtest.Server { return serveHTTP(t, newServer(t, w)) }
	mrtrtest.Run(t, mrtrtest.Adapter{Frozen: frozen, Internal: internal, Start: start})
}

func TestAttacksInMemory(t *testing.T) {
	start := func(t *testing.T, w *mrtrtest.World) mrtrtest.Server {
		return serveMemory(t, newServer(t, w, gosdk.WithPrincipal(metaUser)))
	}
	mrtrtest.Run(t, mrtrtest.Adapter{Frozen: frozen, Internal: internal, Start: start})
}
