// Package reqdigest computes the digest of a request's salient parameters, by which a token is bound to the request
// that it was made for. It is lossless: two requests have one digest if and only if their method and their salient
// parameters are the same JSON values, where numbers are exact decimals and the order of members does not matter.
//
// The canonical form is described in docs/request-digest.md, exactly enough to write it again in another language.
package reqdigest

import (
	"cmp"
	"crypto/sha256"
	"unicode/utf8"
)

// label starts what is hashed, so that this digest is no other digest of the library.
const label = "mcp-requeststate v1 request"

const (
	methodToolCall     = "tools/call"
	methodPromptGet    = "prompts/get"
	methodResourceRead = "resources/read"
)

// Sum digests a request from its method and the params object of the wire. Nil or empty params are an empty object.
//
// Of tools/call and prompts/get it takes name, arguments (absent, null and {} are the same) and, if present, task; of
// resources/read it takes uri; of any other method every member. The other members are checked and left out. Errors are
// of type [*Error].
func Sum(method string, params []byte) ([sha256.Size]byte, error) {
	if len(params) == 0 {
		params = []byte("{}")
	}
	s := get(len(params))
	defer s.put()
	if err := s.sum(method, params); err != nil {
		return [sha256.Size]byte{}, err
	}
	return s.hash(), nil
}

// ToolCall digests a tools/call of the tool name with the given arguments, raw JSON as on the wire. Nil, empty, null
// and {} are the same. The result equals that of [Sum] for params with these two members. Errors are of type [*Error],
// their offsets count from the start of arguments.
func ToolCall(name string, arguments []byte) ([sha256.Size]byte, error) {
	s := get(len(arguments))
	defer s.put()
	if err := s.toolCall(name, arguments); err != nil {
		return [sha256.Size]byte{}, err
	}
	return s.hash(), nil
}

// PromptGet digests a prompts/get of the prompt name with the given arguments. A nil map and an empty one are the
// same. The result equals that of [Sum] for params with these two members. Errors are of type [*Error], with offset
// -1.
func PromptGet(name string, arguments map[string]string) ([sha256.Size]byte, error) {
	s := get(0)
	defer s.put()
	if err := s.promptGet(name, arguments); err != nil {
		return [sha256.Size]byte{}, err
	}
	return s.hash(), nil
}

// ResourceRead digests a resources/read of uri. The result equals that of [Sum] for params with this member. Errors
// are of type [*Error], with offset -1.
func ResourceRead(uri string) ([sha256.Size]byte, error) {
	s := get(0)
	defer s.put()
	if err := s.resourceRead(uri); err != nil {
		return [sha256.Size]byte{}, err
	}
	return s.hash(), nil
}

// sum leaves the canonical bytes of the request in s.
func (s *scratch) sum(method string, params []byte) error {
	if err := s.header(method); err != nil {
		return err
	}
	if len(params) > maxInput {
		return &Error{-1, tooLarge}
	}
	i := skip(params, 0)
	if i == len(params) || params[i] != '{' {
		s.failHere(params, i, "params are not an object")
		return s.error()
	}
	buf, slot := s.open(s.buf)
	buf, i, sorted := s.members(params, buf, i+1, 1)
	if i < 0 {
		return s.error()
	}
	if i = skip(params, i); i < len(params) {
		return &Error{i, "data after the params object"}
	}
	if !s.sort(buf, 0) {
		return s.error()
	}
	kept, err := s.salient(method, buf)
	if err != nil {
		return err
	}
	s.buf = s.close(buf, slot, 0, sorted && kept)
	return nil
}

// salient removes from keys, which are those of the root's members, what is not of the digest. It reports whether it
// kept all.
func (s *scratch) salient(method string, buf []byte) (all bool, err error) {
	required := "name"
	switch method {
	case methodToolCall, methodPromptGet:
	case methodResourceRead:
		required = "uri"
	default:
		return true, nil
	}
	n, found := 0, false
	for _, k := range s.keys {
		m := &s.stack[k.member]
		value := buf[m.value():m.end]
		switch name := m.name(buf); {
		case string(name) == required:
			if value[0] != tagString {
				return false, &Error{int(m.src), "member " + required + " is not a string"}
			}
			found = true
		case required == "uri":
			continue
		case string(name) == "arguments":
			if noArguments(value) {
				continue
			}
		case string(name) != "task":
			continue
		}
		s.keys[n] = k
		n++
	}
	if !found {
		return false, &Error{-1, "member " + required + " is missing"}
	}
	all = n == len(s.keys)
	s.keys = s.keys[:n]
	return all, nil
}

// noArguments tells null and {} by their canonical bytes: both mean the same as absent arguments.
func noArguments(value []byte) bool { return string(value) == "n" || string(value) == "{}" }

func (s *scratch) toolCall(name string, arguments []byte) error {
	if err := s.header(methodToolCall); err != nil {
		return err
	}
	if len(arguments) > maxInput {
		return &Error{-1, tooLarge}
	}
	buf := append(s.buf, tagObject)
	if len(arguments) > 0 {
		start := len(buf)
		buf = appendString(buf, "arguments")
		value := len(buf)
		var i int
		// The depth is that of a value inside the params object, so that Sum agrees on what is too deep.
		if buf, i = s.value(arguments, buf, skip(arguments, 0), 1); i < 0 {
			return s.error()
		}
		if i = skip(arguments, i); i < len(arguments) {
			return &Error{i, "data after the arguments"}
		}
		if noArguments(buf[value:]) {
			buf = buf[:start]
		}
	}
	s.buf = buf
	return s.lastMember("name", name)
}

func (s *scratch) promptGet(name string, arguments map[string]string) error {
	if err := s.header(methodPromptGet); err != nil {
		return err
	}
	s.buf = append(s.buf, tagObject)
	if len(arguments) > 0 {
		s.buf = appendString(s.buf, "arguments")
		if err := s.stringMap(arguments); err != nil {
			return err
		}
	}
	return s.lastMember("name", name)
}

func (s *scratch) resourceRead(uri string) error {
	if err := s.header(methodResourceRead); err != nil {
		return err
	}
	s.buf = append(s.buf, tagObject)
	return s.lastMember("uri", uri)
}

// stringMap appends m as an object.
func (s *scratch) stringMap(m map[string]string) error {
	buf, slot := s.open(s.buf)
	for name, value := range m {
		if err := cmp.Or(checkText("arguments", name), checkText("arguments", value)); err != nil {
			return err
		}
		e := &s.stack[s.push(buf, 0)]
		buf = appendString(appendString(buf, name), value)
		e.length, e.end = uint32(len(name)), uint32(len(buf))
		if len(buf) > maxInput {
			return &Error{-1, tooLarge}
		}
	}
	s.sort(buf, 0) // the names of a map differ
	s.buf = s.close(buf, slot, 0, false)
	return nil
}

// header starts the canonical bytes.
func (s *scratch) header(method string) error {
	if method == "" {
		return &Error{-1, "no method"}
	}
	if err := checkText("method", method); err != nil {
		return err
	}
	s.buf = appendText(s.buf[:0], label)
	s.buf = appendText(s.buf, method)
	return nil
}

// lastMember appends a member with a string value, and the end of the object.
func (s *scratch) lastMember(name, value string) error {
	if err := checkText(name, value); err != nil {
		return err
	}
	s.buf = appendString(s.buf, name)
	s.buf = appendString(s.buf, value)
	s.buf = append(s.buf, endObject)
	return nil
}

// checkText says what is wrong with a string that does not come from JSON.
func checkText(what, s string) error {
	if len(s) > maxInput {
		return &Error{-1, tooLarge}
	}
	if !utf8.ValidString(s) {
		return &Error{-1, "invalid UTF-8 in the " + what}
	}
	return nil
}
