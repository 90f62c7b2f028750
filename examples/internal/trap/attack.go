package trap

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// A scene is where one attack takes place: a server of its own, so that attacks do not disturb each other.
type scene struct {
	*Server
	ring  *requeststate.Keyring
	store requeststate.ReplayStore
	time  time.Time
}

func newScene(c Config, key requeststate.Key, start time.Time) (*scene, error) {
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	sc := &scene{ring: ring, time: start}
	if sc.store, err = newStore(sc.now); err != nil {
		return nil, err
	}
	sc.Server, err = sc.server(c)
	return sc, err
}

// newStore has room for a few ids: a scene spends no more, and the default store takes 128 KiB from the start.
func newStore(now func() time.Time) (requeststate.ReplayStore, error) {
	return replay.NewMemory(replay.WithCapacity(128), replay.WithClock(now))
}

func (sc *scene) now() time.Time { return sc.time }

func (sc *scene) wait(d time.Duration) { sc.time = sc.time.Add(d) }

// server returns another server in the same scene: same keys, same store, same clock.
func (sc *scene) server(c Config) (*Server, error) {
	return NewServer(c, sc.ring, sc.store, sc.now, nil)
}

// rewrite is what an attacker can do where there is no integrity: he decodes a token that he has seen, keeps what he
// likes (the store's epoch), and writes every other claim anew. He needs no key, so he does it with a sealer of his
// own.
func (sc *scene) rewrite(ctx context.Context, seen string, as Config, once requeststate.Binding) (string, error) {
	if !sc.Without[Integrity] {
		return "", errors.New("trap: rewriting needs a token without integrity")
	}
	var claims requeststate.Claims
	if _, err := sc.codec.Open(ctx, seen, &claims); err != nil {
		return "", err
	}
	as.Format, as.Without = sc.Format, sc.Without
	attacker, err := newServer(as, sc.ring, knownEpoch(claims.Epoch), sc.now, nil)
	if err != nil {
		return "", err
	}
	return attacker.mint(ctx, as, once)
}

// knownEpoch is the epoch that an attacker has read in a token.
type knownEpoch string

func (e knownEpoch) Epoch(context.Context) (string, error) { return string(e), nil }

func (e knownEpoch) Consume(context.Context, requeststate.Use) error {
	return errors.New("trap: the attacker has no store")
}
