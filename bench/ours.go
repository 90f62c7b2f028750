package main

import (
	"context"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

type newSealer func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)

func ours(name, floor string, newSealer newSealer) subjectOf {
	key, err := requeststate.GenerateKey()
	must(err)
	ring, err := requeststate.NewKeyring(key)
	must(err)
	s, err := newSealer(ring, requeststate.WithoutAudience()) // the job has none; it would add its length
	must(err)
	ctx := context.Background()
	return subjectOf{
		name: name, floor: floor,
		seal: func() string {
			token, err := s.Seal(ctx, state, requeststate.Principal(issuer, subject), requeststate.ToolCall(tool, arguments))
			must(err)
			return token
		},
		open: func(token string) bool {
			o, err := s.Open(ctx, token, requeststate.Principal(issuer, subject), requeststate.ToolCall(tool, arguments))
			return err == nil && len(o.State) == len(state)
		},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

const oursHMAC = "rs1h. (hmac.New)"

// subjects are all cases, ours after the floor that each is measured against.
func subjects() []subjectOf {
	return []subjectOf{
		rawFloor(), floorHMAC(), ours(oursHMAC, "floor HMAC", hmac.New),
		floorXAES(), ours("rs1x. (aead.New)", "floor XAES-256-GCM", aead.New),
		floorXChaCha(), ours("rs1c. (XChaCha20-Poly1305)", "floor XChaCha20-Poly1305", aead.NewXChaCha20Poly1305),
		joseJWS(), ours("JWS (jose.NewJWS)", "go-jose JWS HS256", jose.NewJWS),
		joseJWE(), ours("JWE (jose.NewJWE)", "go-jose JWE A256KW", jose.NewJWE),
		tinkMAC(), tinkAEAD(), golangJWT(), jwxJWS(), cookie("securecookie, signed", false), cookie("securecookie, encrypted", true), pasetoLocal(),
	}
}
