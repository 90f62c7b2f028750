package main

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// frozen is the answer to every token that is not good, whatever is wrong with it.
const frozen = `{"code":-32602,"message":"Invalid or expired requestState","data":{"reason":"invalid_request_state"}}`

// demo is a client with two users who try things.
type demo struct {
	alice, bob *mcp.ClientSession
	out        io.Writer
}

func demonstrate(ctx context.Context, at place, out, wire io.Writer) error {
	d := &demo{out: out}
	var err error
	if d.alice, err = connect(ctx, at, "alice", wire); err != nil {
		return err
	}
	defer d.alice.Close()
	if d.bob, err = connect(ctx, at, "bob", wire); err != nil {
		return err
	}
	defer d.bob.Close()
	for _, step := range []func(context.Context) error{
		d.withoutSingleUse, d.withSingleUse, d.anotherUser, d.otherArguments, d.expired,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// retries sends one retry five times and checks how many of them redeem.
func (d *demo) retries(ctx context.Context, tool string, want int) error {
	token, err := begin(ctx, d.alice, tool, "1111")
	if err != nil {
		return err
	}
	accepted := 0
	for i := range 5 {
		ok, said, err := redeemed(ctx, d.alice, tool, "1111", token)
		if err != nil {
			return err
		}
		if ok {
			accepted++
		} else if said != frozen {
			return fmt.Errorf("%s was refused with %s", tool, said)
		}
		fmt.Fprintf(d.out, "  retry %d: %s\n", i+1, said)
	}
	fmt.Fprintf(d.out, "  redeemed %d times\n\n", accepted)
	if accepted != want {
		return fmt.Errorf("%s: redeemed %d times, want %d", tool, accepted, want)
	}
	return nil
}

func (d *demo) withoutSingleUse(ctx context.Context) error {
	fmt.Fprintln(d.out, "Sealed, bound to user and request, but without single use. One approval, sent five times:")
	return d.retries(ctx, trap, 5)
}

func (d *demo) withSingleUse(ctx context.Context) error {
	fmt.Fprintln(d.out, "The same with single redemption:")
	return d.retries(ctx, safe, 1)
}

// refused checks that s cannot use token.
func (d *demo) refused(ctx context.Context, s *mcp.ClientSession, tool, card, token string) error {
	ok, said, err := redeemed(ctx, s, tool, card, token)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "  %s\n", said)
	if ok || said != frozen {
		return fmt.Errorf("%s answered %s", tool, said)
	}
	return nil
}

// honest checks that alice could use token all the time.
func (d *demo) honest(ctx context.Context, card, token string) error {
	ok, said, err := redeemed(ctx, d.alice, safe, card, token)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "  as it was meant: %s\n\n", said)
	if !ok {
		return fmt.Errorf("the honest retry was refused with %s", said)
	}
	return nil
}

func (d *demo) anotherUser(ctx context.Context) error {
	fmt.Fprintln(d.out, "Alice's approval, sent by Bob:")
	token, err := begin(ctx, d.alice, safe, "2222")
	if err == nil {
		err = d.refused(ctx, d.bob, safe, "2222", token)
	}
	if err != nil {
		return err
	}
	return d.honest(ctx, "2222", token)
}

func (d *demo) otherArguments(ctx context.Context) error {
	fmt.Fprintln(d.out, "An approval of card 3333, sent for card 4444:")
	token, err := begin(ctx, d.alice, safe, "3333")
	if err == nil {
		err = d.refused(ctx, d.alice, safe, "4444", token)
	}
	if err != nil {
		return err
	}
	return d.honest(ctx, "3333", token)
}

func (d *demo) expired(ctx context.Context) error {
	fmt.Fprintln(d.out, "An approval that is older than its one second:")
	token, err := begin(ctx, d.alice, hurried, "5555")
	if err == nil {
		err = outlive(ctx)
	}
	if err != nil {
		return err
	}
	return d.refused(ctx, d.alice, hurried, "5555", token)
}
