package mrtr

import (
	"encoding/binary"
)

// A Kind is what a question asks for, by the method that would ask it outside a multi round-trip request.
type Kind string

// The kinds that the specification has.
const (
	Elicitation Kind = "elicitation/create"
	Sampling    Kind = "sampling/createMessage"
	Roots       Kind = "roots/list"
)

// kinds are numbered in envelopes by their place here. The first stands for a kind that no answer can be of.
var kinds = [...]Kind{"unknown", Elicitation, Sampling, Roots}

// envelopeVersion changes when the envelope changes its meaning. An envelope of another version is opened, and its
// state and answers are left out, so that the handler asks again.
const envelopeVersion = 2

// envelope is what a token of the middleware carries: the handler's state, and what the answers must fit. It is
// binary because it is on every round's path, where decoding JSON took more than opening the token.
type envelope struct {
	schema   string // of typed state
	question string
	asked    map[string]Kind
	state    string
}

// encode returns the version, schema and question, the number of questions with the kind and key of each, and the
// state. Strings but the last have their length before them.
func (e *envelope) encode() []byte {
	size := 1 + 3*binary.MaxVarintLen64 + len(e.schema) + len(e.question) + len(e.state)
	for key := range e.asked {
		size += 1 + binary.MaxVarintLen64 + len(key)
	}
	b := append(make([]byte, 0, size), envelopeVersion)
	b = appendString(b, e.schema)
	b = appendString(b, e.question)
	b = binary.AppendUvarint(b, uint64(len(e.asked)))
	for key, kind := range e.asked {
		b = appendString(append(b, number(kind)), key)
	}
	return append(b, e.state...)
}

func number(kind Kind) byte {
	for i, k := range kinds {
		if k == kind {
			return byte(i)
		}
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decode returns the zero envelope for what encode has not written.
func decode(state []byte) envelope {
	if len(state) == 0 || state[0] != envelopeVersion {
		return envelope{}
	}
	r := reader{rest: string(state[1:])}
	e := envelope{schema: r.text(), question: r.text()}
	if n := r.uvarint(); n > 0 && n <= uint64(len(r.rest)) {
		e.asked = make(map[string]Kind, n)
		for range n {
			kind := r.kind()
			e.asked[r.text()] = kind
		}
	} else if n > 0 {
		r.bad = true
	}
	if e.state = r.rest; r.bad {
		return envelope{}
	}
	return e
}

// reader takes an envelope apart. Its strings share one allocation.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) take(n uint64) (s string) {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return ""
	}
	s, r.rest = r.rest[:n], r.rest[n:]
	return s
}

func (r *reader) text() string { return r.take(r.uvarint()) }

func (r *reader) uvarint() (v uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.take(1)
		if b == "" {
			return 0
		}
		if v |= uint64(b[0]&0x7f) << shift; b[0] < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *reader) kind() Kind {
	if b := r.take(1); b != "" && int(b[0]) < len(kinds) {
		return kinds[b[0]]
	}
	return kinds[0]
}
