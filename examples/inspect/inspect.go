package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

// A format is one kind of token.
type format struct {
	name   string
	codec  func(*requeststate.Keyring) (requeststate.Codec, error)
	public func(*report, string) // prints what needs no key
}

// formatOf tells the kind by what is in front. It trusts nothing: the codec checks it again.
func formatOf(token string) (format, bool) {
	segments := strings.Count(token, ".") + 1
	switch {
	case strings.HasPrefix(token, hmac.Prefix):
		return format{"signed, binary (rs1h)", hmac.NewCodec, publicSigned}, true
	case strings.HasPrefix(token, aead.PrefixXAES):
		return format{"encrypted, XAES-256-GCM (rs1x)", aead.NewCodec, publicBinary}, true
	case strings.HasPrefix(token, aead.PrefixXChaCha):
		return format{"encrypted, XChaCha20-Poly1305 (rs1c)", aead.NewXChaCha20Poly1305Codec, publicBinary}, true
	case strings.HasPrefix(token, "eyJ") && segments == 3:
		return format{"signed JWT (JWS)", jose.NewJWSCodec, publicJWS}, true
	case strings.HasPrefix(token, "eyJ") && segments == 5:
		return format{"encrypted JWT (JWE)", jose.NewJWECodec, publicJWT}, true
	}
	return format{}, false
}

// inspect prints all there is to say and reports whether the token would open.
func inspect(out *report, r *request) bool {
	f, ok := formatOf(r.token)
	if !ok {
		out.line("format", "none of this library's")
		return out.verdict("refused: malformed")
	}
	out.line("format", f.name)
	out.linef("size", "%d bytes", len(r.token))
	if r.ring == nil {
		f.public(out, r.token)
		return out.verdict("nobody can say without the key: give -keys. " +
			"The above is what everybody who holds the token can see, and may be a lie")
	}
	codec, err := f.codec(r.ring)
	if err != nil {
		return out.verdict(err.Error())
	}
	var c requeststate.Claims
	key, err := codec.Open(context.Background(), r.token, &c)
	if err != nil {
		f.public(out, r.token)
		out.line("keys", r.ring.String())
		return out.verdict("refused: " + reason(err) + ". The above is not authenticated, and may be a lie")
	}
	out.line("key id", key.ID().String())
	out.claims(&c)
	return out.verdict(judge(codec, &c, r))
}

// judge has the library itself check the token against the flags, with a store that spends nothing.
func judge(codec requeststate.Codec, c *requeststate.Claims, r *request) string {
	opts := []requeststate.Option{
		requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(), requeststate.WithReplayStore(dry{}),
		requeststate.WithMaxTokenSize(maxToken), requeststate.WithClock(func() time.Time { return r.now }),
	}
	audience := string(c.Audience)
	if r.audience != nil {
		audience = *r.audience
	}
	if audience == "" {
		opts = append(opts, requeststate.WithoutAudience())
	} else {
		opts = append(opts, requeststate.WithAudience(audience))
	}
	s, err := requeststate.New(codec, opts...)
	if err != nil {
		return err.Error()
	}
	_, err = s.Open(context.Background(), r.token, bindings(c, r)...)
	switch {
	case err != nil && !errors.Is(err, requeststate.ErrInvalid):
		return err.Error()
	case err != nil:
		return "refused: " + reason(err) + hint(err, c, r)
	case c.Use == requeststate.UseSingle:
		return "opens, unless the replay store says that it was used before or that its epoch is past: not asked here"
	case c.Use == requeststate.UseSingleRedemption:
		return "opens; whether its flow can still be redeemed only the replay store can say: not asked here"
	}
	return "opens"
}

func bindings(c *requeststate.Claims, r *request) []requeststate.OpenOption {
	var b []requeststate.OpenOption
	if r.principal != nil {
		b = append(b, requeststate.Principal(r.principal...))
	}
	if r.method != "" {
		b = append(b, requeststate.Request(r.method, json.RawMessage(r.params)))
	}
	use := c.Use
	switch r.use {
	case "unlimited":
		use = requeststate.UseUnlimited
	case "single":
		use = requeststate.UseSingle
	case "redemption":
		use = requeststate.UseSingleRedemption
	}
	switch use {
	case requeststate.UseSingle:
		b = append(b, requeststate.SingleUse())
	case requeststate.UseSingleRedemption:
		b = append(b, requeststate.SingleRedemption())
	}
	return b
}

// hint says which flag is missing, where that is why.
func hint(err error, c *requeststate.Claims, r *request) string {
	switch {
	case errors.Is(err, requeststate.ErrPrincipal) && r.principal == nil:
		return " (it is bound to a principal: give -principal)"
	case errors.Is(err, requeststate.ErrPrincipal) && c.Principal == nil:
		return " (it is bound to no principal: leave out -principal)"
	case errors.Is(err, requeststate.ErrRequest) && r.method == "":
		return " (it is bound to a request: give -method and -params)"
	case errors.Is(err, requeststate.ErrRequest) && c.Request == nil:
		return " (it is bound to no request: leave out -method)"
	}
	return ""
}

func reason(err error) string {
	var e *requeststate.Error
	if errors.As(err, &e) {
		return e.Reason()
	}
	return err.Error()
}

// dry is a replay store that remembers nothing, so that looking at a token does not use it up.
type dry struct{}

func (dry) Epoch(context.Context) (string, error)                 { return "", errors.New("inspect seals nothing") }
func (dry) Consume(context.Context, requeststate.Use) (err error) { return nil }

// publicBinary prints the key id of a binary token.
func publicBinary(out *report, token string) {
	if raw, err := base64.RawURLEncoding.DecodeString(token[5:]); err == nil && len(raw) >= 8 {
		out.line("key id", requeststate.KeyID(raw[:8]).String())
	}
}

// publicSigned prints the claims of a signed binary token, unauthenticated.
func publicSigned(out *report, token string) {
	publicBinary(out, token)
	var c requeststate.Claims
	raw, err := base64.RawURLEncoding.DecodeString(token[5:])
	if err == nil && len(raw) >= 40 && c.Decode(raw[8:len(raw)-32]) == nil {
		out.claims(&c)
	}
}

// publicJWT prints the header of a JWT.
func publicJWT(out *report, token string) {
	segment, _, _ := strings.Cut(token, ".")
	if header, err := base64.RawURLEncoding.DecodeString(segment); err == nil {
		out.bytes("header", header)
	}
}

// publicJWS prints header and claims of a signed JWT as they are written.
func publicJWS(out *report, token string) {
	publicJWT(out, token)
	if claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1]); err == nil {
		out.bytes("claims", claims)
	}
}
