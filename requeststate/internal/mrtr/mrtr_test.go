package mrtr

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEnvelopeKeepsAnyState(t *testing.T) {
	for _, state := range []string{"", "plain", `{"a":"<&>"}`, "\x00\xff\xfe", "\u2028", "ein Wörtchen"} {
		var in, out envelope
		in.setState(state)
		text, err := json.Marshal(in)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &out))
		assert.Equal(t, state, out.state())
	}
}

type (
	node struct {
		Next *node
		Name string
	}
	tree       map[string]tree
	meaningOne struct{ N int }
	meaningTwo struct{ N int }
	base       struct{ ID int }
	embedded   struct{ *meaningOne }
)

func (meaningOne) StateVersion() string  { return "1" }
func (*meaningTwo) StateVersion() string { return "2" }

func TestSchema(t *testing.T) {
	schema := func(v any) string { return schemaOf(reflect.TypeOf(v)) }
	same := [][2]any{
		{struct{ A int }{}, &struct{ A int }{}},
		{struct{ A int }{}, struct {
			A int
			b string
		}{}},
		{struct{ A *string }{}, struct{ A string }{}},
		{node{}, &node{}},
		{nil, nil},
	}
	for _, pair := range same {
		assert.Equal(t, schema(pair[0]), schema(pair[1]), "%T %T", pair[0], pair[1])
	}
	different := []any{
		nil, 1, "", 1.5, true, []int{}, [2]int{}, map[string]int{}, map[string]string{},
		time.Time{}, json.RawMessage{}, node{},
		struct{ A int }{}, struct{ B int }{}, struct{ A string }{}, struct{ A, B int }{}, struct{ B, A int }{},
		struct {
			A int `json:"a"`
		}{},
		struct{ A struct{ B int } }{}, struct{ base }{}, struct{ N int }{}, meaningOne{}, meaningTwo{}, []node{}, tree{},
		embedded{}, struct{ *meaningTwo }{},
	}
	seen := make(map[string]any)
	for _, v := range different {
		s := schema(v)
		assert.Len(t, s, 16)
		if other, ok := seen[s]; ok {
			t.Errorf("%T and %T have one schema", v, other)
		}
		seen[s] = v
	}
}
