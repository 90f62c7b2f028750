package jose

import "github.com/mcp-requeststate/requeststate-go/requeststate"

// parseClaims sets c to what payload says, which it keeps and may change: c's slices point into it. payload is
// authenticated. Everything that this format does not have is refused with [requeststate.ErrMalformed], so that no
// two readers of a token can differ: names twice or unknown, other types, numbers that are not plain integers,
// strings that are not Unicode.
func parseClaims(payload []byte, c *requeststate.Claims) error {
	*c = requeststate.Claims{Round: 1}
	p := parser{scanner: scanner{b: payload}, c: c}
	if !p.object() || !p.complete() {
		return requeststate.ErrMalformed
	}
	return nil
}

// parser reads the claims object.
type parser struct {
	scanner
	c    *requeststate.Claims
	seen set
	tags [2]requeststate.Tag
}

// set is a set of claims, a bit each.
type set uint16

const (
	hasID set = 1 << iota
	hasIssuedAt
	hasExpiresAt
	hasAudience
	hasDeadline
	hasRound
	hasFlow
	hasPrincipal
	hasRequest
	hasUse
	hasEpoch
	hasState // one of three names
)

// object reads the members up to the end of the payload.
func (p *parser) object() bool {
	p.space()
	if !p.take('{') {
		return false
	}
	for {
		p.space()
		start, end, _, ok := p.str()
		if !ok {
			return false
		}
		p.space()
		if !p.take(':') {
			return false
		}
		p.space()
		if !p.member(p.b[start:end]) {
			return false
		}
		p.space()
		switch {
		case p.take(','):
		case p.take('}'):
			p.space()
			return p.i == len(p.b)
		default:
			return false
		}
	}
}

// member reads the value of the claim of that name. A name that is spelled with escapes is not one of ours.
func (p *parser) member(name []byte) bool {
	c := p.c
	switch string(name) {
	case nameID:
		return p.first(hasID) && p.fixed(c.ID[:])
	case nameIssuedAt:
		return p.first(hasIssuedAt) && p.integer(&c.IssuedAt)
	case nameExpiresAt:
		return p.first(hasExpiresAt) && p.integer(&c.ExpiresAt)
	case nameAudience:
		return p.first(hasAudience) && p.text(&c.Audience) && len(c.Audience) > 0
	case nameDeadline:
		return p.first(hasDeadline) && p.integer(&c.Deadline)
	case nameRound:
		return p.first(hasRound) && p.round()
	case nameFlow:
		return p.first(hasFlow) && p.fixed(c.Flow[:])
	case namePrincipal:
		c.Principal = &p.tags[0]
		return p.first(hasPrincipal) && p.fixed(p.tags[0][:])
	case nameRequest:
		c.Request = &p.tags[1]
		return p.first(hasRequest) && p.fixed(p.tags[1][:])
	case nameUse:
		return p.first(hasUse) && p.use()
	case nameEpoch:
		return p.first(hasEpoch) && p.bytes(&c.Epoch)
	case nameJSON:
		c.JSON = true
		return p.first(hasState) && p.raw(&c.State)
	case nameText:
		return p.first(hasState) && p.text(&c.State)
	case nameBytes:
		return p.first(hasState) && p.bytes(&c.State)
	}
	return false
}

// first notes a claim and reports whether it is there for the first time.
func (p *parser) first(claim set) bool {
	before := p.seen
	p.seen |= claim
	return p.seen != before
}

// complete reports whether all claims are there that the format demands. Whether their values go together is checked by
// the sealer, for every codec.
func (p *parser) complete() bool {
	const always = hasID | hasIssuedAt | hasExpiresAt | hasDeadline | hasState
	both := func(a, b set) bool { return p.seen&a == 0 == (p.seen&b == 0) }
	if p.seen&always != always || !both(hasRound, hasFlow) || !both(hasUse, hasEpoch) {
		return false
	}
	if p.seen&hasFlow == 0 {
		p.c.Flow = p.c.ID
	}
	return true
}

// round reads rs_round, which round 1 does not have.
func (p *parser) round() bool {
	var v int64
	ok := p.integer(&v) && v >= 2 && v <= 255
	p.c.Round = int(v)
	return ok
}

func (p *parser) use() bool {
	start, end, _, ok := p.str()
	if !ok {
		return false
	}
	switch string(p.b[start:end]) {
	case useSingle:
		p.c.Use = requeststate.UseSingle
	case useSingleRedemption:
		p.c.Use = requeststate.UseSingleRedemption
	default:
		return false
	}
	return true
}

// integer reads a non-negative integer of at most 15 digits, written plainly: a float64 of another reader is exact.
func (p *parser) integer(v *int64) bool {
	start := p.i
	for p.i < len(p.b) && p.b[p.i]-'0' <= 9 {
		*v = *v*10 + int64(p.b[p.i]-'0')
		if p.i++; p.i-start > 15 {
			return false
		}
	}
	return p.i > start && (p.b[start] != '0' || p.i == start+1)
}

// text reads a string. Unescaping never lengthens it, so it is done in place.
func (p *parser) text(v *[]byte) bool {
	start, end, escaped, ok := p.str()
	if !ok {
		return false
	}
	*v = p.b[start:end:end]
	if escaped {
		*v = unescape(*v)
	}
	return true
}

// bytes reads a string of base64url. It is decoded as it is written: no escape is base64url, and line breaks, which the
// decoder would skip, are control characters, which str refuses.
func (p *parser) bytes(v *[]byte) bool {
	start, end, _, ok := p.str()
	if !ok {
		return false
	}
	var err error
	*v, err = b64.AppendDecode(nil, p.b[start:end])
	return err == nil
}

// fixed reads a string of base64url that fills v.
func (p *parser) fixed(v []byte) bool {
	var out [18]byte // 16 bytes, and room for whole groups
	start, end, _, ok := p.str()
	if !ok || end-start != b64.EncodedLen(len(v)) {
		return false
	}
	n, err := b64.Decode(out[:], p.b[start:end])
	return err == nil && n == copy(v, out[:n])
}

// raw reads any JSON value as it is written.
func (p *parser) raw(v *[]byte) bool {
	start := p.i
	if !p.value(0) {
		return false
	}
	*v = p.b[start:p.i:p.i]
	return true
}
