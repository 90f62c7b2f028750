package jose

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// Names of the claims. The first four are registered (RFC 7519 section 4.1); the others are private to this format.
const (
	nameID        = "jti"
	nameIssuedAt  = "iat"
	nameExpiresAt = "exp"
	nameAudience  = "aud"
	nameDeadline  = "rs_deadline"
	nameRound     = "rs_round"
	nameFlow      = "rs_flow"
	namePrincipal = "rs_principal"
	nameRequest   = "rs_request"
	nameUse       = "rs_use"
	nameEpoch     = "rs_epoch"
	nameJSON      = "rs_json"
	nameText      = "rs_text"
	nameBytes     = "rs_bytes"
)

// Values of rs_use. A token without the claim may be used any number of times.
const (
	useSingle           = "single"
	useSingleRedemption = "redemption"
)

// appendClaims appends c as the JSON object that docs/token-format-jwt.md describes. An audience that is not UTF-8 is
// an error: JSON cannot say it.
func appendClaims(b []byte, c *requeststate.Claims) ([]byte, error) {
	if !utf8.Valid(c.Audience) {
		return nil, errors.New("jose: the audience is not valid UTF-8, so a JWT cannot name it")
	}
	b = appendBase64(append(b, '{'), nameID, c.ID[:])
	b = appendInt(append(b, ','), nameIssuedAt, c.IssuedAt)
	b = appendInt(append(b, ','), nameExpiresAt, c.ExpiresAt)
	if len(c.Audience) > 0 {
		b = appendString(appendName(append(b, ','), nameAudience), c.Audience)
	}
	b = appendInt(append(b, ','), nameDeadline, c.Deadline)
	if c.Round > 1 {
		b = appendInt(append(b, ','), nameRound, int64(c.Round))
		b = appendBase64(append(b, ','), nameFlow, c.Flow[:])
	}
	if c.Principal != nil {
		b = appendBase64(append(b, ','), namePrincipal, c.Principal[:])
	}
	if c.Request != nil {
		b = appendBase64(append(b, ','), nameRequest, c.Request[:])
	}
	if use := useName(c.Use); use != "" {
		b = append(appendName(append(b, ','), nameUse), '"')
		b = append(append(b, use...), '"')
		b = appendBase64(append(b, ','), nameEpoch, c.Epoch)
	}
	return append(appendState(append(b, ','), c), '}'), nil
}

// appendState appends the one of three claims that shows the state best and loses nothing.
func appendState(b []byte, c *requeststate.Claims) []byte {
	switch {
	case c.JSON && strictJSON(c.State):
		return append(appendName(b, nameJSON), c.State...)
	case readable(c.State):
		return appendString(appendName(b, nameText), c.State)
	default:
		return appendBase64(b, nameBytes, c.State)
	}
}

// readable reports whether s is text: UTF-8 without control characters, but for tabs and line ends.
func readable(s []byte) bool {
	for _, c := range s {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return utf8.Valid(s)
}

func useName(m requeststate.UseMode) string {
	switch m {
	case requeststate.UseSingle:
		return useSingle
	case requeststate.UseSingleRedemption:
		return useSingleRedemption
	}
	return ""
}

func appendName(b []byte, name string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendInt(b []byte, name string, v int64) []byte {
	return strconv.AppendInt(appendName(b, name), v, 10)
}

func appendBase64(b []byte, name string, raw []byte) []byte {
	b = append(appendName(b, name), '"')
	b = b64.AppendEncode(b, raw)
	return append(b, '"')
}

// appendString appends s, which is UTF-8, as a JSON string. Only what RFC 8259 section 7 demands is escaped.
func appendString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
