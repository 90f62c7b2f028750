package requeststate

import (
	"encoding/binary"
	"errors"
)

// Bounds of what a token may say, checked for every codec after authentication.
const (
	maxTTL      = 24 * 60 * 60     // seconds from iat to exp
	maxFlowTTL  = 7 * 24 * 60 * 60 // seconds from round 1 to the flow's deadline
	maxRounds   = 16
	maxAudience = 255     // bytes
	maxEpoch    = 255     // bytes
	maxIssuedAt = 1 << 40 // seconds since 1970, five bytes
)

// A UseMode says how often a token may be spent. It is sealed into the token at round 1 and inherited by [Continue].
type UseMode uint8

// The modes. Their values are those of the token format.
const (
	// UseUnlimited: any number of times until it expires.
	UseUnlimited UseMode = iota
	// UseSingle: spent by the Open that accepts it ([SingleUse]).
	UseSingle
	// UseSingleRedemption: its flow is spent by [Opened.Redeem] ([SingleRedemption]).
	UseSingleRedemption
)

// String is the mode in words.
func (m UseMode) String() string {
	switch m {
	case UseUnlimited:
		return "unlimited"
	case UseSingle:
		return "single use"
	case UseSingleRedemption:
		return "single redemption"
	}
	return "unknown"
}

// Claims is what a token says. A [Codec] turns it into a token and back; nothing else needs it. Times are NumericDates in
// whole seconds (RFC 7519 section 2).
type Claims struct {
	// ID is the token's id (jti), random.
	ID ID
	// IssuedAt (iat) and ExpiresAt (exp): 0 < exp − iat ≤ 24 h.
	IssuedAt, ExpiresAt int64
	// Audience (aud) is the service the token is for, at most 255 bytes; empty: none.
	Audience []byte
	// Principal and Request are the tags of the two bindings; nil: not bound.
	Principal, Request *Tag
	// Flow is the id of the flow's first token, and Deadline the time that no token of the flow outlives. Both are set in
	// round 1 and copied by every further round. Round counts from 1 to 16; Flow equals ID in round 1 and there alone.
	Flow     ID
	Deadline int64
	Round    int
	// Use is the flow's mode, and Epoch the store's history at round 1, at most 255 bytes, empty under UseUnlimited alone.
	Use   UseMode
	Epoch []byte
	// State is the caller's, opaque.
	State []byte
	// JSON says that State was sealed by SealJSON, so that a codec may show it as JSON. It is a hint for the codec that
	// seals; binary tokens do not carry it.
	JSON bool

	tags [2]Tag // what Principal and Request point to after Decode and Draft.Claims: no allocation of their own
}

// Bits of the first byte of the binary claims. The two bits of useShift hold the mode; unused bits are zero.
const (
	flagAudience  = 1 << 0
	flagPrincipal = 1 << 1
	flagRequest   = 1 << 2
	flagContinued = 1 << 3
	useShift      = 4
	flagsKnown    = flagAudience | flagPrincipal | flagRequest | flagContinued | 3<<useShift
)

// Append appends the binary form of c to b. The form is docs/token-format.md's, and every valid Claims has exactly one:
//
//	flags(1) id(16) iat(5) exp−iat(3) deadline−exp(3)
//	[round(1) flow(16)] [len(1) audience] [principal(16)] [request(16)] [len(1) epoch] state
//
// Claims that no sealer makes are an error.
func (c *Claims) Append(b []byte) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	flags := byte(c.Use) << useShift
	if len(c.Audience) > 0 {
		flags |= flagAudience
	}
	if c.Principal != nil {
		flags |= flagPrincipal
	}
	if c.Request != nil {
		flags |= flagRequest
	}
	if c.Round > 1 {
		flags |= flagContinued
	}
	b = append(b, flags)
	b = append(b, c.ID[:]...)
	b = append(b, byte(c.IssuedAt>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(c.IssuedAt))
	b = appendUint24(b, c.ExpiresAt-c.IssuedAt)
	b = appendUint24(b, c.Deadline-c.ExpiresAt)
	if c.Round > 1 {
		b = append(b, byte(c.Round))
		b = append(b, c.Flow[:]...)
	}
	if len(c.Audience) > 0 {
		b = append(b, byte(len(c.Audience)))
		b = append(b, c.Audience...)
	}
	if c.Principal != nil {
		b = append(b, c.Principal[:]...)
	}
	if c.Request != nil {
		b = append(b, c.Request[:]...)
	}
	if c.Use != UseUnlimited {
		b = append(b, byte(len(c.Epoch)))
		b = append(b, c.Epoch...)
	}
	return append(b, c.State...), nil
}

// Decode sets c to the claims whose binary form is b, which it keeps: c's slices point into b. Anything that Append would not
// have written is [ErrMalformed]. Call it with authenticated bytes only.
func (c *Claims) Decode(b []byte) error {
	*c = Claims{}
	r := reader{b: b}
	flags := r.byte()
	if flags&^byte(flagsKnown) != 0 {
		return ErrMalformed
	}
	copy(c.ID[:], r.next(len(c.ID)))
	c.IssuedAt = r.uint(5)
	c.ExpiresAt = c.IssuedAt + r.uint(3)
	c.Deadline = c.ExpiresAt + r.uint(3)
	c.Round, c.Flow = 1, c.ID
	if flags&flagContinued != 0 {
		c.Round = int(r.byte())
		copy(c.Flow[:], r.next(len(c.Flow)))
		if c.Round < 2 {
			return ErrMalformed
		}
	}
	if flags&flagAudience != 0 {
		c.Audience = r.short()
	}
	if flags&flagPrincipal != 0 {
		copy(c.tags[0][:], r.next(len(Tag{})))
		c.Principal = &c.tags[0]
	}
	if flags&flagRequest != 0 {
		copy(c.tags[1][:], r.next(len(Tag{})))
		c.Request = &c.tags[1]
	}
	if c.Use = UseMode(flags >> useShift & 3); c.Use != UseUnlimited {
		c.Epoch = r.short()
	}
	c.State = r.b
	if r.failed || c.check() != nil {
		return ErrMalformed
	}
	return nil
}

var errClaims = errors.New("requeststate: claims that no sealer makes")

// check refuses impossible claims. The sealer calls it for every codec, so that a codec of another format cannot let through
// what the binary form cannot say.
func (c *Claims) check() error {
	ttl := c.ExpiresAt - c.IssuedAt
	ok := c.IssuedAt > 0 && c.IssuedAt < maxIssuedAt && ttl > 0 && ttl <= maxTTL &&
		c.Deadline >= c.ExpiresAt && c.Deadline-c.IssuedAt <= maxFlowTTL &&
		c.Round >= 1 && c.Round <= maxRounds && (c.Round == 1) == (c.Flow == c.ID) &&
		c.ID != (ID{}) && c.Flow != (ID{}) &&
		len(c.Audience) <= maxAudience && c.Use <= UseSingleRedemption &&
		(c.Use == UseUnlimited) == (len(c.Epoch) == 0) && len(c.Epoch) <= maxEpoch
	if !ok {
		return errClaims
	}
	return nil
}

func appendUint24(b []byte, v int64) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

// reader cuts fields off the front of b. After a short read failed is set and the results are empty.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) next(n int) []byte {
	if r.failed || len(r.b) < n {
		r.failed = true
		return nil
	}
	field := r.b[:n:n] // capacity cut: appending to one field cannot reach the next
	r.b = r.b[n:]
	return field
}

func (r *reader) byte() byte {
	if f := r.next(1); f != nil {
		return f[0]
	}
	return 0
}

func (r *reader) uint(n int) (v int64) {
	for _, b := range r.next(n) {
		v = v<<8 | int64(b)
	}
	return v
}

// short reads a length byte and that many bytes; no bytes is a failure, because an empty field is not written.
func (r *reader) short() []byte {
	n := int(r.byte())
	if n == 0 {
		r.failed = true
	}
	return r.next(n)
}
