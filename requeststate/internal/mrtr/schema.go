package mrtr

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"sync"
)

// A Versioned state type adds a version of its own to its shape, for a change of meaning that does not show in the
// fields.
type Versioned interface{ StateVersion() string }

var (
	schemas     sync.Map // reflect.Type to string
	marshaler   = reflect.TypeFor[json.Marshaler]()
	text        = reflect.TypeFor[encoding.TextMarshaler]()
	versioned   = reflect.TypeFor[Versioned]()
	schemaBytes = 8 // enough to tell apart the few shapes that one server ever has
)

// schemaOf names the shape of t as JSON: the names and types of its fields. Two types with the same shape have the
// same name, so moving or renaming a type costs nothing.
func schemaOf(t reflect.Type) string {
	if name, ok := schemas.Load(t); ok {
		return name.(string)
	}
	h := sha256.New()
	describe(h, t, make(map[reflect.Type]bool))
	name := string(h.Sum(nil)[:schemaBytes])
	schemas.Store(t, name)
	return name
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	switch {
	case t == nil:
		fmt.Fprint(w, "nil;")
		return
	case t.Kind() == reflect.Pointer: // null or the value: the same shape
		describe(w, t.Elem(), seen)
		return
	}
	p := reflect.PointerTo(t)
	if p.Implements(versioned) {
		fmt.Fprintf(w, "version %q;", version(t))
	}
	if seen[t] || p.Implements(marshaler) || p.Implements(text) { // its own JSON, or recursion: the name has to do
		fmt.Fprintf(w, "%q.%q;", t.PkgPath(), t.Name())
		return
	}
	if t.Name() != "" { // only a type with a name can have itself inside, a map and a slice too
		seen[t] = true
		defer delete(seen, t)
	}
	fmt.Fprintf(w, "%v", t.Kind())
	switch t.Kind() {
	case reflect.Struct:
		describeFields(w, t, seen)
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Slice, reflect.Array:
		describe(w, t.Elem(), seen)
	}
	fmt.Fprint(w, ";")
}

// version is the version that a zero t says it has. It is empty where the method comes from an embedded pointer, which
// is nil; the field has it then.
func version(t reflect.Type) (v string) {
	defer func() { _ = recover() }()
	return reflect.New(t).Interface().(Versioned).StateVersion()
}

func describeFields(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" || (!f.IsExported() && !f.Anonymous) {
			continue
		}
		fmt.Fprintf(w, "%q %q ", f.Name, tag)
		describe(w, f.Type, seen)
	}
}
