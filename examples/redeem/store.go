package main

import (
	"context"
	"fmt"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

const storeKinds = "memory"

// openStore opens the store of one kind, and returns what closes it.
func openStore(_ context.Context, kind string) (store requeststate.ReplayStore, closeStore func() error, err error) {
	switch kind {
	case "memory": // for one process: replicas need a store that they share
		store, err = replay.NewMemory()
		return store, func() error { return nil }, err
	}
	return nil, nil, fmt.Errorf("no store %q; there are: %s", kind, storeKinds)
}
