// Package codectest is the suite that every [requeststate.Codec] must pass, the built-in ones and a user's own:
//
//	func TestCodec(t *testing.T) {
//		codectest.Run(t, func(t *testing.T) requeststate.Codec { return newKMSCodec(t) })
//	}
package codectest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Run checks the codecs that open returns. Each call of open returns a codec under keys of its own.
func Run(t *testing.T, open func(t *testing.T) requeststate.Codec) {
	s := &suite{open: open}
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"RoundTrip", s.roundTrip},
		{"Text", s.text},
		{"OneSpelling", s.oneSpelling},
		{"Truncated", s.truncated},
		{"Spliced", s.spliced},
		{"OtherKeys", s.otherKeys},
		{"Junk", s.junk},
		{"Reasons", s.reasons},
		{"ForgedAndExpired", s.forgedAndExpired},
		{"Flow", s.flow},
		{"LongestFlow", s.longestFlow},
		{"Concurrent", s.concurrent},
	} {
		t.Run(c.name, c.run)
	}
}

// now is the suite's clock; tests move a copy.
var now = time.Unix(1_800_000_000, 0)

type suite struct {
	open func(*testing.T) requeststate.Codec
}

// sealer is a sealer over codec whose clock is at *at.
func sealer(t *testing.T, codec requeststate.Codec, at *time.Time, opts ...requeststate.Option) requeststate.Sealer {
	t.Helper()
	opts = append([]requeststate.Option{
		requeststate.WithClock(func() time.Time { return *at }),
		requeststate.WithReplayStore(&store{spent: map[string]bool{}}),
	}, opts...)
	s, err := requeststate.New(codec, opts...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

// bound are the bindings that the suite uses where it does not matter which.
func bound(more ...requeststate.Binding) []requeststate.Binding {
	return append([]requeststate.Binding{
		requeststate.Principal("https://issuer.example", "alice"),
		requeststate.ToolCall("deploy", json.RawMessage(`{"env":"staging"}`)),
	}, more...)
}

// seal seals or ends the test.
func seal(t *testing.T, s requeststate.Sealer, state []byte, opts ...requeststate.SealOption) string {
	t.Helper()
	token, err := s.Seal(context.Background(), state, opts...)
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	return token
}

// refused fails the test unless token is rejected, for the reason want if that is not nil.
func refused(t *testing.T, s requeststate.Sealer, token string, want error, opts ...requeststate.OpenOption) {
	t.Helper()
	opened, err := s.Open(context.Background(), token, opts...)
	switch {
	case err == nil || opened != nil:
		t.Fatalf("opened, want a rejection: %s", clip(token))
	case !errors.Is(err, requeststate.ErrInvalid):
		t.Fatalf("error %v, want a rejection: %s", err, clip(token))
	case want != nil && !errors.Is(err, want):
		var got, wanted *requeststate.Error
		errors.As(err, &got)
		errors.As(want, &wanted)
		t.Fatalf("rejected as %q, want %q: %s", got.Reason(), wanted.Reason(), clip(token))
	case err.Error() != requeststate.ErrInvalid.Error():
		t.Fatalf("text %q differs from that of other rejections", err)
	}
}

func clip(token string) string {
	if len(token) > 300 {
		return fmt.Sprintf("%q… (%d bytes)", token[:300], len(token))
	}
	return fmt.Sprintf("%q", token)
}

func (s *suite) roundTrip(t *testing.T) {
	at := now
	codec := s.open(t)
	for _, state := range []string{"", "\x00", `{"step":1}`, "héllo\u2028<&>\"\\", "\xff\xfe\x80", "null", " ", "\r\n", strings.Repeat("A", 40<<10)} {
		for _, audience := range []requeststate.Option{requeststate.WithAudience("https://example.com/mcp"), requeststate.WithoutAudience()} {
			sl := sealer(t, codec, &at, audience)
			token := seal(t, sl, []byte(state), bound(requeststate.TTL(time.Minute))...)
			o, err := sl.Open(context.Background(), token, bound()...)
			if err != nil {
				t.Fatalf("Open of state %.20q: %v", state, err)
			}
			if string(o.State) != state || o.Round != 1 || o.Flow != o.ID || !o.IssuedAt.Equal(now) || !o.ExpiresAt.Equal(now.Add(time.Minute)) {
				t.Fatalf("state %.20q came back as %.20q, round %d, %v to %v", state, o.State, o.Round, o.IssuedAt, o.ExpiresAt)
			}
			if other := seal(t, sl, []byte(state), bound()...); other == token {
				t.Fatal("two tokens of equal input are equal")
			}
		}
	}
	for _, v := range []any{nil, 1, "x", map[string]any{"a": []any{1.5, "<&>"}}, json.RawMessage(`{"big":9007199254740993}`)} {
		sl := sealer(t, codec, &at, requeststate.WithoutAudience())
		want, _ := json.Marshal(v)
		token, err := requeststate.SealJSON(context.Background(), sl, v, bound()...)
		if err != nil {
			t.Fatalf("SealJSON: %v", err)
		}
		got, o, err := requeststate.OpenJSON[json.RawMessage](context.Background(), sl, token, bound()...)
		if err != nil || !bytes.Equal(got, want) || !bytes.Equal(o.State, want) {
			t.Fatalf("OpenJSON of %s: %s, %v", want, got, err)
		}
	}
}

// text: a token travels as a JSON string and in logs.
func (s *suite) text(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	token := seal(t, sl, []byte("<state>"), bound()...)
	quoted, _ := json.Marshal(token)
	if string(quoted) != `"`+token+`"` {
		t.Fatalf("the token needs escaping in JSON: %s", quoted)
	}
}

// oneSpelling replaces each byte of a token by each that could stand in a token, and some more. Every bit of the text is
// thereby flipped, and so is every bit that it encodes.
func (s *suite) oneSpelling(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithAudience("a"))
	token := seal(t, sl, []byte("state"), bound()...)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \r\n\t\x00\x7f~"
	for i := range len(token) {
		for _, b := range []byte(alphabet) {
			if b != token[i] {
				refused(t, sl, token[:i]+string(b)+token[i+1:], nil, bound()...)
			}
		}
		for _, insert := range []string{"\n", "\r\n", "=", ".", " ", "A", token[i : i+1]} {
			refused(t, sl, token[:i]+insert+token[i:], nil, bound()...)
		}
		for bit := range 8 {
			refused(t, sl, token[:i]+string([]byte{token[i] ^ 1<<bit})+token[i+1:], nil, bound()...)
		}
	}
	for _, tail := range []string{"=", "==", "\n", "\r\n", " ", "\x00", ".", "A", "AA", "AAAA", token} {
		refused(t, sl, token+tail, nil, bound()...)
	}
	refused(t, sl, strings.ToUpper(token), nil, bound()...)
	refused(t, sl, strings.ToLower(token), nil, bound()...)
	refused(t, sl, " "+token, nil, bound()...)
	if _, err := sl.Open(context.Background(), token, bound()...); err != nil {
		t.Fatalf("the token itself: %v", err)
	}
}

func (s *suite) truncated(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	token := seal(t, sl, []byte("some state"), bound()...)
	for n := range len(token) {
		refused(t, sl, token[:n], nil, bound()...)
		refused(t, sl, token[n+1:], nil, bound()...)
		refused(t, sl, token[:n]+token[n+1:], nil, bound()...)
	}
}

// spliced joins the parts of two valid tokens.
func (s *suite) spliced(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	a, b := seal(t, sl, []byte("state a"), bound()...), seal(t, sl, []byte("state b"), bound()...)
	for n := 1; n < min(len(a), len(b)); n++ {
		if spliced := a[:n] + b[n:]; spliced != a && spliced != b {
			refused(t, sl, spliced, nil, bound()...)
		}
	}
}

func (s *suite) otherKeys(t *testing.T) {
	at := now
	mine := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	other := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	refused(t, mine, seal(t, other, nil, bound()...), nil, bound()...)
}

func (s *suite) junk(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience(), requeststate.WithMaxTokenSize(6<<20))
	prefix, _, _ := strings.Cut(seal(t, sl, nil, bound()...), ".")
	for _, body := range []string{"", "A", "AA", "AAAA", strings.Repeat("A", 1<<10), strings.Repeat("_", 1<<10), strings.Repeat(".", 5<<20), "é", "\x00", "{}", "null"} {
		refused(t, sl, body, nil, bound()...)
		refused(t, sl, prefix+body, nil, bound()...)
		refused(t, sl, prefix+"."+body, nil, bound()...)
	}
	small := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	dots := strings.Repeat(".", 5_000_000)
	refused(t, small, dots, requeststate.ErrTooLarge, bound()...)
	if n := testing.AllocsPerRun(10, func() {
		_, _ = small.Open(context.Background(), dots, requeststate.Principal("p"), requeststate.ResourceRead("u"))
	}); n > 10 {
		t.Fatalf("refusing five million dots took %v allocations", n)
	}
}

func (s *suite) concurrent(t *testing.T) {
	at := now
	sl := sealer(t, s.open(t), &at, requeststate.WithoutAudience())
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 20 {
				state := fmt.Sprintf("state %d of %d", i, g)
				token, err := sl.Seal(context.Background(), []byte(state), bound()...)
				if err != nil {
					t.Errorf("Seal: %v", err)
					return
				}
				o, err := sl.Open(context.Background(), token, bound()...)
				if err != nil || string(o.State) != state {
					t.Errorf("Open of %q: %v", state, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
