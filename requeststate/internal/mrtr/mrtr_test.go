package mrtr

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEnvelopeIsKept(t *testing.T) {
	long := strings.Repeat("ö", 300)
	for _, in := range []envelope{
		{},
		{state: "plain"},
		{state: "\x00\xff\xfe\u2028"},
		{schema: "12345678", question: "price=10", state: `{"a":"<&>"}`},
		{asked: map[string]Kind{"": Elicitation}},
		{asked: map[string]Kind{"a": Elicitation, "b": Sampling, "c": Roots, long: Roots}, question: long, state: long},
	} {
		assert.Equal(t, in, decode(in.encode()))
	}
	busy := envelope{asked: map[string]Kind{}, state: "s"}
	assert.Equal(t, envelope{state: "s"}, decode(busy.encode()))
}

// A kind that the specification does not have fits no answer, neither one of a known kind nor one of none.
func TestUnknownKinds(t *testing.T) {
	in := envelope{asked: map[string]Kind{"a": "tasks/list", "b": ""}}
	for _, kind := range decode(in.encode()).asked {
		assert.NotContains(t, []Kind{"", Elicitation, Sampling, Roots}, kind)
	}
}

// FuzzEnvelope decodes what another program may have sealed under the same keys.
func FuzzEnvelope(f *testing.F) {
	good := envelope{schema: "12345678", question: "v1", state: "s", asked: map[string]Kind{"confirm": Elicitation}}
	f.Add(good.encode())
	for _, text := range []string{"", "{}", "\x02", "\x02\x00\x00\x00", "\x02\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"\x02\x00\x00\x02\x01\x01a", "\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "\x02\x00\x00\x01\x09\x01a"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := decode(data)
		again := decode(e.encode())
		assert.Equal(t, e, again)
	})
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
		assert.Len(t, s, 8)
		if other, ok := seen[s]; ok {
			t.Errorf("%T and %T have one schema", v, other)
		}
		seen[s] = v
	}
}
