package trap

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// PublicSecret is the secret of the key under which unprotectedCodec's tags are made, in hex. It is printed here and
// known to everybody: that is what "no integrity" means.
const PublicSecret = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff0"

const unprotectedPrefix = "unprotected."

// unprotectedCodec writes the claims down and believes them when they come back. It is what a server has that puts
// plain JSON into its requestState, and exists to show what that is worth. Do not copy it.
//
// The library would still put keyed tags of principal and request into the claims, which nobody without the key could
// make. So the key is public here: an attacker can write any claim, as he could if they were plain text.
type unprotectedCodec struct{ key requeststate.Key }

func newUnprotectedCodec() (unprotectedCodec, error) {
	key, err := requeststate.ParseKey(PublicSecret)
	return unprotectedCodec{key}, err
}

func (c unprotectedCodec) Seal(_ context.Context, draft *requeststate.Draft) (string, error) {
	claims, err := draft.Claims(c.key)
	if err != nil {
		return "", err
	}
	plain, err := claims.Append(nil)
	if err != nil {
		return "", err
	}
	return unprotectedPrefix + base64.RawURLEncoding.EncodeToString(plain), nil
}

func (c unprotectedCodec) Open(_ context.Context, token string, claims *requeststate.Claims) (requeststate.Key, error) {
	text, ok := strings.CutPrefix(token, unprotectedPrefix)
	if !ok {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return requeststate.Key{}, requeststate.ErrMalformed
	}
	return c.key, claims.Decode(plain)
}
