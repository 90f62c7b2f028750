package requeststate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-requeststate/requeststate-go/internal/reqdigest"
)

// A Binding ties a token to something. It is given to Seal and to Open alike: what Seal bound Open must be told, and the
// reverse, or the token is rejected. The zero Binding is an error.
//
// It is a small struct, and options of both calls are this one type, so that a call's options cost one allocation at most.
type Binding struct {
	kind   optionKind
	digest [32]byte // principal, request
	value  any      // of the other kinds; an error, of any kind, if the option was given something wrong
}

type (
	// SealOption is an option of [Sealer.Seal]: any [Binding], [TTL], [Continue].
	SealOption = Binding
	// OpenOption is an option of [Sealer.Open]: any [Binding] but TTL and Continue, which are errors there.
	OpenOption = Binding
)

type optionKind uint8

const (
	_ optionKind = iota
	kindPrincipal
	kindRequest
	kindSingleUse
	kindSingleRedemption
	kindTTL
	kindContinue
	kindDecode
	kindJSON
	kinds
)

var kindNames = [kinds]string{"zero Binding", "Principal", "Request", "SingleUse", "SingleRedemption", "TTL", "Continue", "OpenJSON", "SealJSON"}

// labelPrincipalDigest starts the digest of a principal, so that it is no other digest of this library.
const labelPrincipalDigest = "mcp-requeststate v1 principal\x00"

// Principal binds the authenticated caller, by the parts that name it for good: issuer and subject of its access token, say
// (RFC 7519 sections 4.1.1 and 4.1.2), never the access token itself, which a refresh replaces. The parts are compared as
// bytes and as a list: Principal("a", "b") is neither Principal("ab") nor Principal("b", "a"). No parts, or an empty one, is
// an error. The principal is not in the token, only a tag of it.
//
// Spec: Multi Round-Trip Requests, server requirements (2026-07-28): the state SHOULD include the authenticated principal.
func Principal(parts ...string) Binding {
	if len(parts) == 0 {
		return Binding{kind: kindPrincipal, value: errors.New("requeststate: Principal without parts; AllowAnonymous is the way to have none")}
	}
	for _, part := range parts {
		if part == "" {
			return Binding{kind: kindPrincipal, value: errors.New("requeststate: Principal with an empty part")}
		}
	}
	var stack [256]byte
	return Binding{kind: kindPrincipal, digest: sha256.Sum256(appendPrincipal(stack[:0], parts))}
}

// appendPrincipal appends what the digest of a principal is taken of: a length before each part, so that no two lists have the
// same bytes.
func appendPrincipal(b []byte, parts []string) []byte {
	b = append(b, labelPrincipalDigest...)
	for _, part := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// Request binds the originating request: its method and the salient members of params, the params object as it came on the
// wire. Of tools/call and prompts/get those are name, arguments and task; of resources/read, uri; of any other method, every
// member, so take out what differs between the rounds, requestState and inputResponses. Key order, white space, escapes and the spelling of numbers do not matter, values do, to the last digit.
// docs/request-digest.md has the exact form.
//
// Params that are not strict JSON (a member name twice, an unpaired surrogate, text behind the end) are an error of Seal
// and a rejection ([ErrRequest]) by Open.
//
// Spec: Multi Round-Trip Requests, server requirements (2026-07-28): the state SHOULD include an identifier of the originating
// request, its method and a digest of its salient parameters.
func Request(method string, params json.RawMessage) Binding {
	return request(reqdigest.Sum(method, params))
}

// ToolCall is [Request] for a tools/call whose parts are at hand. arguments are the wire's bytes; nil, null and {} are equal.
func ToolCall(name string, arguments json.RawMessage) Binding {
	return request(reqdigest.ToolCall(name, arguments))
}

// PromptGet is [Request] for a prompts/get whose parts are at hand.
func PromptGet(name string, arguments map[string]string) Binding {
	return request(reqdigest.PromptGet(name, arguments))
}

// ResourceRead is [Request] for a resources/read.
func ResourceRead(uri string) Binding {
	return request(reqdigest.ResourceRead(uri))
}

func request(digest [32]byte, err error) Binding {
	b := Binding{kind: kindRequest, digest: digest}
	if err != nil {
		b.value = fmt.Errorf("requeststate: request: %w", err)
	}
	return b
}

// SingleUse makes every token of the flow good for one Open: the Open that accepts it spends it. A reply that is lost after
// that ends the flow. It is the right mode for rounds that check a secret, such as a one-time password. It needs
// [WithReplayStore].
func SingleUse() Binding { return Binding{kind: kindSingleUse} }

// SingleRedemption makes the flow good for one [Opened.Redeem], in whichever round and from whichever copy of a token it
// comes. Tokens may be opened again until then, so the rounds before the redemption must have no effects. It needs
// [WithReplayStore].
func SingleRedemption() Binding { return Binding{kind: kindSingleRedemption} }

// TTL sets how long this token is valid: whole seconds, 1 s up to the sealer's maximum ([WithMaxTTL]). The flow's deadline
// ([WithFlowTTL]) may end it earlier.
func TTL(d time.Duration) SealOption { return Binding{kind: kindTTL, value: d} }

// Continue makes the token the next round of prev's flow: same bindings (naming another is an error), same mode, same
// deadline. It is an error if prev is nil, was redeemed, or belongs to another sealer; if the flow has had 16 rounds; and
// under SingleUse if prev was continued before. A flow whose deadline has passed is [ErrExpired].
func Continue(prev *Opened) SealOption {
	if prev == nil {
		return Binding{kind: kindContinue, value: errors.New("requeststate: Continue(nil): keep the Opened of the round before")}
	}
	return Binding{kind: kindContinue, value: prev}
}

// call is the options of one Seal or Open.
type call struct {
	set                [kinds]bool
	principal, request *[32]byte
	requestErr         error // params that have no digest
	use                UseMode
	ttl                time.Duration
	prev               *Opened
	decode             func([]byte) error
}

// resolve merges opts. An option that is zero, given twice or in conflict is a mistake of the programmer.
func resolve(opts []Binding) (c call, err error) {
	for i := range opts {
		o := &opts[i]
		if o.kind == 0 || o.kind >= kinds {
			return c, errors.New("requeststate: zero Binding among the options")
		}
		if c.set[o.kind] {
			return c, fmt.Errorf("requeststate: option %s given twice", kindNames[o.kind])
		}
		c.set[o.kind] = true
		wrong, _ := o.value.(error)
		if wrong != nil && o.kind != kindRequest {
			return c, wrong
		}
		switch o.kind {
		case kindPrincipal:
			c.principal = &o.digest
		case kindRequest:
			c.request, c.requestErr = &o.digest, wrong
		case kindSingleUse:
			c.use = UseSingle
		case kindSingleRedemption:
			c.use = UseSingleRedemption
		case kindTTL:
			c.ttl = o.value.(time.Duration)
		case kindContinue:
			c.prev = o.value.(*Opened)
		case kindDecode:
			c.decode = o.value.(func([]byte) error)
		}
	}
	if c.set[kindSingleUse] && c.set[kindSingleRedemption] {
		return c, errors.New("requeststate: SingleUse and SingleRedemption exclude each other")
	}
	return c, nil
}
