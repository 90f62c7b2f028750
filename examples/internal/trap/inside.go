package trap

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A Field is one thing that a token says.
type Field struct{ Name, Value string }

// Inside lists what is in token, as the server sees it. The token must be one that the server's codec opens.
func (s *Server) Inside(ctx context.Context, token string) ([]Field, error) {
	var c requeststate.Claims
	key, err := s.codec.Open(ctx, token, &c)
	if err != nil {
		return nil, err
	}
	keyID := Field{"key id", key.ID().String()}
	if s.Without[Integrity] {
		keyID = Field{"key id", "none: no integrity, and the tags' key is public"}
	}
	return append([]Field{keyID}, fields(&c)...), nil
}

// Readable lists what anybody reads in token without a key: the claims, if the format does not hide them, and otherwise
// nothing.
func (s *Server) Readable(token string) []Field {
	f := formats[s.Format]
	head, tail := len(requeststate.KeyID{}), f.trailer
	if s.Without[Integrity] {
		f, head, tail = format{segment: 1, readable: true}, 0, 0
	}
	segments := strings.Split(token, ".")
	if !f.readable || len(segments) <= f.segment {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(segments[f.segment])
	if err != nil || len(raw) < head+tail {
		return nil
	}
	if json.Valid(raw) { // a JWT's
		return []Field{{"payload", string(raw)}}
	}
	var c requeststate.Claims
	if c.Decode(raw[head:len(raw)-tail]) != nil {
		return nil
	}
	return fields(&c)
}

func fields(c *requeststate.Claims) []Field {
	at := func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
	list := []Field{
		{"id", c.ID.String()},
		{"issued", at(c.IssuedAt)},
		{"expires", fmt.Sprintf("%s (%v)", at(c.ExpiresAt), time.Duration(c.ExpiresAt-c.IssuedAt)*time.Second)},
		{"audience", orNone(string(c.Audience))},
		{"principal", tag(c.Principal)},
		{"request", tag(c.Request)},
		{"flow", fmt.Sprintf("round %d, until %s", c.Round, at(c.Deadline))},
		{"use", c.Use.String()},
		{"state", printable(c.State)},
	}
	if len(c.Epoch) > 0 {
		list = slices.Insert(list, len(list)-1, Field{"epoch", string(c.Epoch)})
	}
	return list
}

func tag(t *requeststate.Tag) string {
	if t == nil {
		return "not bound"
	}
	return hex.EncodeToString(t[:]) + " (keyed tag)"
}

func orNone(text string) string {
	if text == "" {
		return "not bound"
	}
	return text
}

// printable is b as it is, or in hex if a terminal or a page could not show it.
func printable(b []byte) string {
	ok := utf8.Valid(b) && strings.IndexFunc(string(b), unicode.IsControl) < 0
	if ok {
		return string(b)
	}
	return "hex " + hex.EncodeToString(b)
}
