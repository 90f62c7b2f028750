// Package wire is the text around binary tokens: a format's prefix, then base64url. Every token has exactly one spelling.
package wire

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
)

// b64 is RFC 4648 section 5 without padding. Strict refuses trailing bits that are not zero.
var b64 = base64.RawURLEncoding.Strict()

// Encode returns the token whose prefix and bytes are in buf, one behind the other, with one allocation. It uses the rest of buf.
func Encode(prefix string, buf *Buffer) string {
	n := len(buf.B)
	buf.B = append(buf.B, prefix...)
	buf.B = b64.AppendEncode(buf.B, buf.B[len(prefix):n])
	return string(buf.B[n:])
}

// Decode returns prefix and the bytes of token behind it, as Encode had them, in a slice of their own. It reports false for
// another prefix, fewer than least bytes, and any spelling but Encode's.
func Decode(prefix, token string, least int) ([]byte, bool) {
	return AppendDecode(nil, prefix, token, least)
}

// AppendDecode is Decode with the bytes appended to dst.
func AppendDecode(dst []byte, prefix, token string, least int) ([]byte, bool) {
	text, ok := strings.CutPrefix(token, prefix)
	size := b64.DecodedLen(len(text))
	if !ok || size < least {
		return nil, false
	}
	// The decoder skips CR and LF even when strict, which would give one token many spellings.
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\n') >= 0 {
		return nil, false
	}
	dst = append(slices.Grow(dst, len(prefix)+size), prefix...)
	raw, err := b64.AppendDecode(dst, []byte(text))
	if err != nil || len(raw)-len(dst) < least {
		return nil, false
	}
	return raw, true
}

// A Buffer is scratch space from a pool.
type Buffer struct{ B []byte }

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// keep is the largest buffer that goes back to the pool: the default maximum of a token, and some.
const keep = 96 << 10

// Get returns an empty buffer with room for n bytes.
func Get(n int) *Buffer {
	b := buffers.Get().(*Buffer)
	if cap(b.B) < n {
		b.B = make([]byte, 0, n)
	}
	b.B = b.B[:0]
	return b
}

// Put returns the buffer, wiped: it may have held state in the clear.
func (b *Buffer) Put() {
	if cap(b.B) > keep {
		return
	}
	clear(b.B)
	buffers.Put(b)
}
