package mrtr

import (
	"unicode/utf8"
)

// A Kind is what a question asks for, by the method that would ask it outside a multi round-trip request.
type Kind string

// The kinds that the specification has.
const (
	Elicitation Kind = "elicitation/create"
	Sampling    Kind = "sampling/createMessage"
	Roots       Kind = "roots/list"
)

// envelopeVersion changes when the envelope changes its meaning. An envelope of another version is opened, and its
// state and answers are left out, so that the handler asks again.
const envelopeVersion = 1

// envelope is what a token of the middleware carries: the handler's state, and what the answers must fit. It is JSON
// so that it can be decoded before a single-use token is spent, and so that a JWT debugger shows it.
type envelope struct {
	Version  int             `json:"v"`
	State    string          `json:"state,omitempty"`
	Binary   []byte          `json:"binary,omitempty"` // in place of State if that is not UTF-8, which JSON would change
	Schema   string          `json:"schema,omitempty"` // of typed state
	Question string          `json:"question,omitempty"`
	Asked    map[string]Kind `json:"asked,omitempty"`
}

func (e *envelope) setState(s string) {
	e.State, e.Binary = s, nil
	if !utf8.ValidString(s) {
		e.State, e.Binary = "", []byte(s)
	}
}

func (e *envelope) state() string {
	if e.Binary != nil {
		return string(e.Binary)
	}
	return e.State
}
