package requeststate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// exampleRing stands for a key from a secret manager.
func exampleRing() *requeststate.Keyring {
	return must(requeststate.NewKeyring(must(requeststate.GenerateKey())))
}

// A tool handler that asks for confirmation: the first call gets a question and a token, the second brings both back.
func Example_confirm() {
	sealer := must(hmac.New(exampleRing(), requeststate.WithAudience("https://mcp.example.com")))

	type pending struct{ Env string }
	deploy := func(ctx context.Context, user string, arguments json.RawMessage, requestState, answer string) (string, error) {
		bound := []requeststate.Binding{
			requeststate.Principal("https://auth.example.com", user),
			requeststate.ToolCall("deploy", arguments),
		}
		if requestState == "" { // first round: ask
			return requeststate.SealJSON(ctx, sealer, pending{Env: "production"}, bound...)
		}
		p, _, err := requeststate.OpenJSON[pending](ctx, sealer, requestState, bound...)
		if err != nil {
			return "", err // the same text whatever failed
		}
		return fmt.Sprintf("deployed to %s: %s", p.Env, answer), nil
	}

	ctx := context.Background()
	arguments := json.RawMessage(`{"version": "1.2.3"}`)
	token := must(deploy(ctx, "alice", arguments, "", ""))
	fmt.Println(must(deploy(ctx, "alice", json.RawMessage(`{"version":"1.2.3"}`), token, "yes")))

	_, err := deploy(ctx, "mallory", arguments, token, "yes")
	fmt.Println(err)
	fmt.Println(errors.Is(err, requeststate.ErrPrincipal)) // for the server's log
	code, message, data := requeststate.RPCError(err)      // for the client
	fmt.Println(code, message, string(data))
	// Output:
	// deployed to production: yes
	// requeststate: invalid or expired token
	// true
	// -32602 Invalid or expired requestState {"reason":"invalid_request_state"}
}

// A gift card whose confirmation works once: the Open that accepts the token spends it.
func ExampleSingleUse() {
	store := must(replay.NewMemory())
	sealer := must(aead.New(exampleRing(),
		requeststate.WithAudience("https://mcp.example.com"), requeststate.WithReplayStore(store)))

	ctx := context.Background()
	bound := []requeststate.Binding{
		requeststate.Principal("https://auth.example.com", "alice"),
		requeststate.ToolCall("redeem_card", json.RawMessage(`{"card":"7"}`)),
		requeststate.SingleUse(),
	}
	token := must(sealer.Seal(ctx, []byte("25 EUR"), bound...))
	for range 3 {
		opened, err := sealer.Open(ctx, token, bound...)
		if err != nil {
			fmt.Println("refused:", errors.Is(err, requeststate.ErrConsumed))
			continue
		}
		fmt.Printf("credited %s\n", opened.State)
	}
	// Output:
	// credited 25 EUR
	// refused: true
	// refused: true
}

// Three rounds, redeemed in the third. Earlier rounds may be opened again, so a lost reply costs nothing; but all branches
// of the flow together redeem once.
func ExampleSingleRedemption() {
	store := must(replay.NewMemory())
	sealer := must(hmac.New(exampleRing(),
		requeststate.WithAudience("https://mcp.example.com"), requeststate.WithReplayStore(store)))

	ctx := context.Background()
	bound := []requeststate.Binding{
		requeststate.Principal("https://auth.example.com", "alice"),
		requeststate.ToolCall("transfer", json.RawMessage(`{"to":"bob"}`)),
		requeststate.SingleRedemption(),
	}
	first := must(sealer.Seal(ctx, []byte("which account?"), bound...))

	branch := func() error {
		opened := must(sealer.Open(ctx, first, bound...))
		second := must(sealer.Seal(ctx, []byte("how much?"), requeststate.Continue(opened)))
		opened = must(sealer.Open(ctx, second, bound...))
		third := must(sealer.Seal(ctx, []byte("sure?"), requeststate.Continue(opened)))
		opened = must(sealer.Open(ctx, third, bound...))
		if err := opened.Redeem(ctx); err != nil {
			return err
		}
		ctx := context.WithoutCancel(ctx) // the redemption is gone; a client that hangs up must not stop the effect
		_ = ctx
		fmt.Println("transferred in round", opened.Round)
		return nil
	}
	for range 2 {
		if err := branch(); err != nil {
			fmt.Println("already redeemed:", errors.Is(err, requeststate.ErrConsumed))
		}
	}
	// Output:
	// transferred in round 3
	// already redeemed: true
}

// kms stands for a key service: it makes data keys and unwraps them.
type kms struct{ keys map[string][]byte }

func (k *kms) unwrap(_ context.Context, wrapped string) ([]byte, error) {
	secret, ok := k.keys[wrapped]
	if !ok {
		return nil, requeststate.ErrUnknownKey
	}
	return secret, nil
}

// kmsCodec is a codec of one's own: each data key of the service becomes a ring of one, and the token names it.
type kmsCodec struct {
	kms     *kms
	current string // wrapped data key, rotated now and then
}

// inner unwraps at each call, to be short. A real one caches the rings by name, in a bounded cache, also the names that are
// unknown: the name in a token is whatever its sender likes, before it is authenticated.
func (c *kmsCodec) inner(ctx context.Context, wrapped string) (requeststate.Codec, error) {
	secret, err := c.kms.unwrap(ctx, wrapped)
	if err != nil {
		return nil, err // an outage here is ErrUnavailable for the caller, not a rejection
	}
	key, err := requeststate.NewKey(secret)
	if err != nil {
		return nil, err
	}
	ring, err := requeststate.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	return hmac.NewCodec(ring)
}

func (c *kmsCodec) Seal(ctx context.Context, draft *requeststate.Draft) (string, error) {
	codec, err := c.inner(ctx, c.current)
	if err != nil {
		return "", requeststate.Unavailable(err)
	}
	token, err := codec.Seal(ctx, draft)
	return "kms." + c.current + "." + token, err
}

func (c *kmsCodec) Open(ctx context.Context, token string, claims *requeststate.Claims) (requeststate.Key, error) {
	rest, ok := strings.CutPrefix(token, "kms.")
	wrapped, inner, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || len(wrapped) > 64 {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	codec, err := c.inner(ctx, wrapped)
	if err != nil {
		return requeststate.Key{}, err
	}
	return codec.Open(ctx, inner, claims)
}

// A codec over data keys of a key service. Its tags are made under sub-keys of the data key, because the draft gives its
// claims only for a key.
func ExampleNew() {
	service := &kms{keys: map[string][]byte{"dk1": []byte("\x9c\x1f\xee\x05\x6a\x83\xd4\x27\xb0\x5b\xc8\x31\x72\xfd\x4e\x90\x18\xa7\x66\xeb\x3d\x02\x51\xcf\x84\x2b\xf9\x60\x95\x1c\xd8\x7a")}}
	sealer := must(requeststate.New(&kmsCodec{service, "dk1"}, requeststate.WithAudience("https://mcp.example.com")))

	ctx := context.Background()
	bound := []requeststate.Binding{requeststate.Principal("alice"), requeststate.ResourceRead("file:///report")}
	token := must(sealer.Seal(ctx, []byte("page 2"), bound...))
	fmt.Printf("%s\n", must(sealer.Open(ctx, token, bound...)).State)

	delete(service.keys, "dk1")
	_, err := sealer.Open(ctx, token, bound...)
	fmt.Println(errors.Is(err, requeststate.ErrUnknownKey))
	// Output:
	// page 2
	// true
}

// readRing makes a ring of a key file: one key a line, the one that seals first.
func readRing(file string) ([]requeststate.Key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var keys []requeststate.Key
	for line := range strings.Lines(string(text)) {
		key, err := requeststate.ParseKey(line)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no keys in the file")
	}
	return keys, nil
}

// Rotation: re-read the key file on a signal or a timer. Tokens under the old key open until it leaves the file.
func ExampleKeyring_Rotate() {
	dir := must(os.MkdirTemp("", "keys"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "keys")
	const old = "8d0f8a4f6c1e2b739a55d7e0c3b1f4826e9d0a7c5b3f18e2d4c6a8907f1e3b5d"
	const fresh = "3b7e1d5c9f20a4866d8e0b2c4f6a18937c5d9e1f0a2b4c6d8e7f90a1b3c5d7e9"
	must(0, os.WriteFile(file, []byte(old+"\n"), 0o600))

	keys := must(readRing(file))
	ring := must(requeststate.NewKeyring(keys[0], keys[1:]...))
	sealer := must(hmac.New(ring, requeststate.WithAudience("https://mcp.example.com")))

	ctx := context.Background()
	bound := []requeststate.Binding{requeststate.Principal("alice"), requeststate.ResourceRead("file:///report")}
	token := must(sealer.Seal(ctx, []byte("sealed before"), bound...))

	rotate := func(text string) {
		must(0, os.WriteFile(file, []byte(text), 0o600))
		keys := must(readRing(file))
		must(0, ring.Rotate(keys[0], keys[1:]...))
	}
	rotate(fresh + "\n" + old + "\n")
	fmt.Printf("%s\n", must(sealer.Open(ctx, token, bound...)).State)
	rotate(fresh + "\n")
	_, err := sealer.Open(ctx, token, bound...)
	fmt.Println(errors.Is(err, requeststate.ErrUnknownKey))
	// Output:
	// sealed before
	// true
}

// ledger stands for a database whose transactions hold the effect and the redemption together; sqlreplay.Store is the real one.
type ledger struct {
	spent   map[string]bool
	balance int
}

type ledgerTx struct {
	*ledger
	use    requeststate.Use
	credit int
}

func (tx *ledgerTx) consume(_ context.Context, use requeststate.Use) error {
	if tx.spent[use.ID] {
		return requeststate.ErrConsumed
	}
	tx.use = use
	return nil
}

func (tx *ledgerTx) commit() { tx.spent[tx.use.ID] = true; tx.balance += tx.credit }

func (l *ledger) Epoch(context.Context) (string, error) { return "ledger", nil }

func (l *ledger) Consume(ctx context.Context, use requeststate.Use) error {
	tx := &ledgerTx{ledger: l}
	if err := tx.consume(ctx, use); err != nil {
		return err
	}
	tx.commit()
	return nil
}

// Redeeming inside the transaction that has the effect: either both happen or neither.
func ExampleOpened_RedeemWith() {
	db := &ledger{spent: map[string]bool{}}
	sealer := must(hmac.New(exampleRing(), requeststate.WithAudience("https://mcp.example.com"), requeststate.WithReplayStore(db)))

	ctx := context.Background()
	bound := []requeststate.Binding{
		requeststate.Principal("alice"),
		requeststate.ToolCall("redeem_card", json.RawMessage(`{"card":"7"}`)),
		requeststate.SingleRedemption(),
	}
	token := must(sealer.Seal(ctx, nil, bound...))
	redeem := func(crash bool) error {
		opened := must(sealer.Open(ctx, token, bound...))
		tx := &ledgerTx{ledger: db}
		if err := opened.RedeemWith(ctx, tx.consume); err != nil {
			return err
		}
		tx.credit = 25
		if crash {
			return errors.New("rolled back")
		}
		tx.commit()
		return nil
	}
	fmt.Println(redeem(true), db.balance)
	fmt.Println(redeem(false), db.balance)
	fmt.Println(errors.Is(redeem(false), requeststate.ErrConsumed), db.balance)
	// Output:
	// rolled back 0
	// <nil> 25
	// true 25
}
