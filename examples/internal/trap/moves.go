package trap

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// present is a move that presents token as somebody.
func (sc *scene) presenting(ctx context.Context, name string, as Config, token string) move {
	return move{name: name, do: func() error { return sc.present(ctx, as, token) }}
}

// rewriting is a move that rewrites a token for somebody and presents it.
func (sc *scene) rewriting(ctx context.Context, seen string, as Config) move {
	return move{name: "rewritten", rewrites: true, do: func() error {
		token, err := sc.rewrite(ctx, seen, as, requeststate.SingleUse())
		if err != nil {
			return err
		}
		return sc.present(ctx, as, token)
	}}
}

func stateAltered(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.Mint(ctx)
	if err != nil {
		return nil, err
	}
	wish := sc.Config
	wish.State = append(bytes.Clone(sc.State), " and whatever the attacker likes"...)
	if sc.Without[Integrity] {
		return []move{{name: "rewritten", do: func() error {
			token, err := sc.rewrite(ctx, token, wish, requeststate.SingleUse())
			if err != nil {
				return err
			}
			opened, err := sc.open(ctx, sc.Config, token, requeststate.SingleUse())
			if err == nil && !bytes.Equal(opened.State, wish.State) {
				err = errors.New("trap: the server got another state than the attacker wrote")
			}
			return err
		}}}, nil
	}
	token, err = formats[sc.Format].alter(token)
	return []move{sc.presenting(ctx, "altered", sc.Config, token)}, err
}

// presentedAs is the attack of presenting a token with something else about the request.
func presentedAs(changes ...func(Config) Config) func(context.Context, *scene) ([]move, error) {
	return func(ctx context.Context, sc *scene) ([]move, error) {
		token, err := sc.Mint(ctx)
		var moves []move
		for _, change := range changes {
			as := change(sc.Config)
			moves = append(moves, sc.presenting(ctx, "verbatim", as, token), sc.rewriting(ctx, token, as))
		}
		return moves, err
	}
}

func (c Config) otherMethod() Config {
	if c.Method == "tools/call" {
		c.Method = "prompts/get"
	} else {
		c.Method = "tools/call"
	}
	return c
}

func afterExpiry(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.Mint(ctx)
	sc.wait(sc.TTL + time.Second)
	return []move{sc.presenting(ctx, "verbatim", sc.Config, token), sc.rewriting(ctx, token, sc.Config)}, err
}

func otherService(ctx context.Context, sc *scene) ([]move, error) {
	c := sc.Config
	c.Service = different(c.Service, "loyalty-points")
	other, err := sc.server(c)
	if err != nil {
		return nil, err
	}
	token, err := other.Mint(ctx)
	return []move{sc.presenting(ctx, "verbatim", sc.Config, token), sc.rewriting(ctx, token, sc.Config)}, err
}

func retiredKey(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.Mint(ctx)
	if err != nil {
		return nil, err
	}
	next, err := requeststate.GenerateKey()
	if err != nil {
		return nil, err
	}
	err = sc.ring.Rotate(next)
	return []move{sc.presenting(ctx, "verbatim", sc.Config, token), sc.rewriting(ctx, token, sc.Config)}, err
}

func otherFormat(ctx context.Context, sc *scene) ([]move, error) {
	c := sc.Config
	c.Without = Set{}
	for name, off := range sc.Without {
		c.Without[name] = off && name != Integrity // the other server does protect its tokens
	}
	mine := formats[sc.Format]
	c.Format = mine.other
	other, err := sc.server(c)
	if err != nil {
		return nil, err
	}
	token, err := other.Mint(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := sc.Mint(ctx) // what an attacker needs to know of this server's tokens is in any of them
	if err != nil {
		return nil, err
	}
	moves := []move{sc.presenting(ctx, "verbatim", sc.Config, token)}
	if sc.Without[Integrity] {
		return append(moves, sc.rewriting(ctx, seen, sc.Config)), nil
	}
	relabelled := mine.relabel(seen, formats[c.Format], token)
	return append(moves, sc.presenting(ctx, "relabelled", sc.Config, relabelled)), nil
}

func replayed(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.mintAndUse(ctx)
	return []move{sc.presenting(ctx, "verbatim", sc.Config, token), sc.rewriting(ctx, token, sc.Config)}, err
}

// mintAndUse returns a token that its owner has used.
func (sc *scene) mintAndUse(ctx context.Context) (string, error) {
	token, err := sc.Mint(ctx)
	if err != nil {
		return "", err
	}
	return token, sc.present(ctx, sc.Config, token)
}

func twice(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.Mint(ctx)
	both := func(a, b string) error {
		_, refused := sc.atOnce(ctx, []string{a, b})
		return errors.Join(refused...)
	}
	return []move{
		{name: "verbatim", do: func() error { return both(token, token) }},
		{name: "rewritten", rewrites: true, do: func() error {
			first, err := sc.Mint(ctx)
			if err != nil {
				return err
			}
			second, err := sc.rewrite(ctx, first, sc.Config, requeststate.SingleUse())
			if err != nil {
				return err
			}
			return both(first, second)
		}},
	}, err
}

func afterRestart(ctx context.Context, sc *scene) ([]move, error) {
	token, err := sc.mintAndUse(ctx)
	if err != nil {
		return nil, err
	}
	if sc.store, err = newStore(sc.now); err != nil {
		return nil, err
	}
	if sc.Server, err = sc.server(sc.Config); err != nil {
		return nil, err
	}
	fresh, err := sc.Mint(ctx) // a flow of the attacker's own, in which he reads the new epoch
	return []move{sc.presenting(ctx, "verbatim", sc.Config, token), sc.rewriting(ctx, fresh, sc.Config)}, err
}

func newFlows(ctx context.Context, sc *scene) ([]move, error) {
	return []move{{name: "verbatim", do: func() error {
		for range 2 {
			if _, err := sc.mintAndUse(ctx); err != nil {
				return err
			}
		}
		return nil
	}}}, nil
}
