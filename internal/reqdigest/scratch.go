package reqdigest

import (
	"crypto/sha256"
	"sync"
)

// maxKept is how much memory a scratch may take back into the pool, in bytes: one huge request must not stay for ever.
const maxKept = 4 << 20

// maxInput is the longest input, in bytes. Canonical bytes are at most twice as long, so 32-bit positions reach.
const maxInput = 1 << 30

// A scratch is the work space of one digest.
//
// The input is read once. Every value's canonical bytes go to buf in the order of the input, and so do an object's
// members. An object whose members were out of order is noted in objects, with the right order of its members in
// pieces; at the end one walk copies buf to out in that order. So each byte is written at most twice, however deep it
// lies.
type scratch struct {
	buf     []byte
	out     []byte
	tmp     []byte   // a string without its escapes
	stack   []member // of the objects being read, the innermost last
	keys    []key    // of an object's members, sorted
	spare   []key
	objects []object // in the order of their starts
	pieces  []piece
	err     Error
}

// A member of an object being read. Positions are in buf.
type member struct {
	prefix uint64 // eight bytes of the name, filled up with zeros: most orders in one comparison
	start  uint32 // of the name
	end    uint32 // of the value
	object uint32 // the first of objects that starts at start or later
	length uint32 // of the name's text
	src    uint32 // where the name is in the input
}

// An object that is being read, or is out of order, or contains one that is.
type object struct {
	start, end uint32 // in buf; end is set if it is out of order
	piece, n   uint32 // its members in pieces, if it is out of order
	next       uint32 // the first of objects behind it; zero if it is in order
}

// A piece of buf: a member of an object out of order.
type piece struct{ start, end, object uint32 }

var pool = sync.Pool{New: func() any { return new(scratch) }}

// get takes a scratch for an input of the given size, in bytes.
func get(size int) *scratch {
	s := pool.Get().(*scratch)
	// Most canonical bytes are shorter than their input; the few that are not make append grow.
	if want := size + 256; cap(s.buf) < want && size <= maxInput {
		s.buf = make([]byte, 0, want)
	}
	return s
}

// put gives s back.
func (s *scratch) put() {
	if s.size() > maxKept {
		return
	}
	s.buf, s.stack, s.objects, s.pieces = s.buf[:0], s.stack[:0], s.objects[:0], s.pieces[:0]
	pool.Put(s)
}

// size is the memory that s holds, in bytes.
func (s *scratch) size() int {
	const member, key, object, piece = 32, 16, 20, 12
	return cap(s.buf) + cap(s.out) + cap(s.tmp) + member*cap(s.stack) + key*(cap(s.keys)+cap(s.spare)) +
		object*cap(s.objects) + piece*cap(s.pieces)
}

// hash is the digest of the canonical bytes.
func (s *scratch) hash() [sha256.Size]byte { return sha256.Sum256(s.canonical()) }

// canonical is buf in the right order. It is valid until put.
func (s *scratch) canonical() []byte {
	if len(s.objects) == 0 {
		return s.buf
	}
	if cap(s.out) < len(s.buf) {
		s.out = make([]byte, 0, cap(s.buf))
	}
	s.out, _ = s.walk(s.out[:0], 0, uint32(len(s.buf)), 0)
	return s.out
}

// walk appends buf[from:to] to out, the objects in it that are out of order set right. The first object at from or
// later is objects[k]; the result is the first at to or later.
func (s *scratch) walk(out []byte, from, to, k uint32) ([]byte, uint32) {
	for int(k) < len(s.objects) && s.objects[k].start < to {
		o := &s.objects[k]
		if o.next == 0 {
			k++
			continue
		}
		out = append(out, s.buf[from:o.start+1]...)
		for i := range o.n {
			p := &s.pieces[o.piece+i]
			if int(p.object) == len(s.objects) || s.objects[p.object].start >= p.end { // the usual one, without a call
				out = append(out, s.buf[p.start:p.end]...)
				continue
			}
			out, _ = s.walk(out, p.start, p.end, p.object)
		}
		from, k = o.end-1, o.next
	}
	return append(out, s.buf[from:to]...), k
}

// extend makes s longer by one element, whose fields the caller sets one by one. (A whole element is copied in wide
// words right after its fields were written; processors stall on that.)
func extend[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var zero T
	return append(s, zero)
}

// open starts an object at the end of buf and notes it in a slot of objects.
func (s *scratch) open(buf []byte) (_ []byte, slot int) {
	slot = len(s.objects)
	s.objects = extend(s.objects)
	o := &s.objects[slot]
	o.start, o.next = uint32(len(buf)), 0
	return append(buf, tagObject), slot
}

// close ends the object noted in slot and takes its members off the stack, where they are from base on. If they are
// not in order, those that keys names belong to the object, in the order of keys.
func (s *scratch) close(buf []byte, slot, base int, inOrder bool) []byte {
	buf = append(buf, endObject)
	if !inOrder {
		o := &s.objects[slot]
		o.end, o.next = uint32(len(buf)), uint32(len(s.objects))
		o.piece, o.n = uint32(len(s.pieces)), uint32(len(s.keys))
		for i := range s.keys {
			m := &s.stack[base+int(s.keys[i].member)]
			s.pieces = append(s.pieces, piece{m.start, m.end, m.object})
		}
	} else if slot+1 == len(s.objects) { // all in it is in order, too: nothing to remember
		s.objects = s.objects[:slot]
	}
	s.stack = s.stack[:base]
	return buf
}

// push puts a member on the stack whose name, at src in the input, will be at the end of buf.
func (s *scratch) push(buf []byte, src int) (top int) {
	top = len(s.stack)
	s.stack = extend(s.stack)
	m := &s.stack[top]
	m.start, m.object, m.src = uint32(len(buf)), uint32(len(s.objects)), uint32(src)
	return top
}

// value is where the value starts.
func (m *member) value() uint32 { return m.start + 1 + lengthSize(m.length) + m.length }

// name is the name's text.
func (m *member) name(buf []byte) []byte { return buf[m.value()-m.length : m.value()] }
