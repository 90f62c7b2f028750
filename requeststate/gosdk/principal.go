package gosdk

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errNoIdentity = errors.New("the verified token info names nobody: " +
	`let the verifier set UserID, or Extra["iss"] and Extra["sub"], or give the middleware WithPrincipal`)

// tokenPrincipal names the caller by the verified token info: issuer and subject (RFC 7519 sections 4.1.1 and 4.1.2),
// which together name a user for good, else the verifier's user id. No token info is an anonymous caller; token info
// that names nobody is an error, because two such callers would pass for one.
func tokenPrincipal(_ context.Context, req mcp.Request) ([]string, error) {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return nil, nil
	}
	info := extra.TokenInfo
	issuer, _ := info.Extra["iss"].(string)
	subject, _ := info.Extra["sub"].(string)
	switch {
	case issuer != "" && subject != "":
		return []string{issuer, subject}, nil
	case info.UserID != "":
		return []string{info.UserID}, nil
	}
	return nil, errNoIdentity
}
