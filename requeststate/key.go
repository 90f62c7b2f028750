package requeststate

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// MinSecretSize is the least length of a key's secret, in bytes: the output size of SHA-256, as RFC 7518 section 3.2 asks
// of HS256.
const MinSecretSize = 32

// maxSecretSize is far above any real secret; a longer "secret" is a file given by mistake.
const maxSecretSize = 4096

// Labels of the sub-keys made here. HKDF's info keeps every purpose's key independent of the others (RFC 5869 section
// 3.2); each codec adds a label of its own.
const (
	labelKeyID     = "mcp-requeststate v1 key id"
	labelPrincipal = "mcp-requeststate v1 principal tag"
	labelRequest   = "mcp-requeststate v1 request tag"
)

// A Key is a secret from which a codec derives what it needs. The zero Key is not usable. Keys are compared with ==, and
// nothing that prints or encodes a Key shows its secret.
type Key struct{ k *keyData }

// keyData holds the secret in a closure. Neither a value nor a pointer would do: fmt does not call methods on unexported
// fields of other structs, and prints what a pointer there points to if the verb does not suit pointers ("%s").
type keyData struct {
	id        KeyID
	subkey    func(label string, n int) ([]byte, error) // HKDF-SHA-256 of the secret
	principal macPool
	request   macPool
	derived   sync.Map // label → what Derive built
}

// NewKey makes a key of secret, which it copies: 32 to 4,096 bytes of a random source (a KMS, crypto/rand). Bytes that
// nobody drew at random are refused: all equal or counting, fewer than 16 different ones, or text (hex and base64url are for
// [ParseKey]).
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinSecretSize {
		return Key{}, fmt.Errorf("requeststate: key secret has %d bytes, want at least %d", len(secret), MinSecretSize)
	}
	if len(secret) > maxSecretSize {
		return Key{}, fmt.Errorf("requeststate: key secret has %d bytes, want at most %d", len(secret), maxSecretSize)
	}
	if why := weak(secret); why != "" {
		return Key{}, errors.New("requeststate: key secret is " + why)
	}
	secret = bytes.Clone(secret)
	d := &keyData{subkey: func(label string, n int) ([]byte, error) {
		return hkdf.Key(sha256.New, secret, nil, label, n) // RFC 5869, no salt: the secret is random already
	}}
	id, err := d.subkey(labelKeyID, len(d.id))
	if err != nil {
		return Key{}, err
	}
	d.id = KeyID(id)
	if d.id == (KeyID{}) {
		return Key{}, errors.New("requeststate: key has the id zero; make another") // one in 2^64
	}
	for pool, label := range map[*macPool]string{&d.principal: labelPrincipal, &d.request: labelRequest} {
		sub, err := d.subkey(label, sha256.Size)
		if err != nil {
			return Key{}, err
		}
		pool.init(sub)
	}
	return Key{d}, nil
}

// GenerateKey draws a key of 32 bytes from crypto/rand. It lives in this process alone: tokens do not survive a restart, and
// other replicas do not open them.
func GenerateKey() (Key, error) {
	secret := make([]byte, MinSecretSize)
	_, _ = rand.Read(secret) // never fails, ends the program instead
	return NewKey(secret)
}

// ParseKey reads a secret as hex or as base64url (RFC 4648 section 5; padding optional), white space around it trimmed: the
// contents of a key file made by
//
//	openssl rand -hex 32
//
// Text whose every character is a hex digit is hex. Standard base64 with '+' or '/' is refused with a message that says so.
// Errors never contain the text.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if secret, err := hex.DecodeString(text); err == nil {
		return NewKey(secret)
	}
	if len(text)%2 == 1 && strings.Trim(text, "0123456789abcdefABCDEF") == "" && text != "" {
		return Key{}, errors.New("requeststate: key is an odd number of hex digits")
	}
	if strings.ContainsAny(text, "+/") {
		return Key{}, errors.New("requeststate: key is standard base64; want hex or base64url (tr '+/' '-_')")
	}
	if strings.ContainsAny(text, "\r\n") {
		return Key{}, errors.New("requeststate: key text has more than one line")
	}
	if n := len(text); n%4 == 0 { // padding belongs to whole groups of four, and there are at most two
		text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, errors.New("requeststate: key is neither hex nor base64url")
	}
	return NewKey(secret)
}

// ID is the key's id, derived from its secret. It is public: every token carries it.
func (k Key) ID() KeyID {
	if k.k == nil {
		return KeyID{}
	}
	return k.k.id
}

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.k == nil }

// Equal reports whether two keys have the same secret. It compares ids, which are derived from the secrets.
func (k Key) Equal(other Key) bool { return k.ID() == other.ID() }

// String is "key" and the id.
func (k Key) String() string { return "key " + k.ID().String() }

// Format prints String for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue is the id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText is String. There is no way back: a key is not stored through it.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Derive returns what build makes of the 32-byte sub-key of k for label, and builds it once per key and label. It is how a
// codec keeps its ciphers: they live and go with the key. Each purpose has a label of its own; T is the same at every call
// for one label.
func Derive[T any](k Key, label string, build func(subkey []byte) (T, error)) (T, error) {
	var zero T
	if k.k == nil {
		return zero, errors.New("requeststate: zero Key")
	}
	if v, ok := k.k.derived.Load(label); ok {
		return v.(T), nil
	}
	if label == labelKeyID || label == labelPrincipal || label == labelRequest {
		return zero, fmt.Errorf("requeststate: label %q is taken", label)
	}
	sub, err := k.k.subkey(label, 32)
	if err != nil {
		return zero, err
	}
	v, err := build(sub)
	if err != nil {
		return zero, err
	}
	actual, _ := k.k.derived.LoadOrStore(label, v)
	return actual.(T), nil
}

// Subkey returns the 32-byte sub-key of k for label (docs/token-format.md lists the labels). It is a secret. It is for giving an
// implementation in another language what it needs and no more, as jose.SecretJWKS does; a codec uses [Derive].
func (k Key) Subkey(label string) ([]byte, error) {
	if k.k == nil {
		return nil, errors.New("requeststate: zero Key")
	}
	return k.k.subkey(label, 32)
}

// weak says what shows that nobody drew secret at random, or nothing. Each rule refuses a random secret of 32 bytes with a
// probability below 2^-40.
func weak(secret []byte) string {
	var seen [256]bool
	distinct, text, counting := 0, true, true
	for i, b := range secret {
		if !seen[b] {
			seen[b] = true
			distinct++
		}
		text = text && (b >= ' ' && b < 0x7f || b >= '\t' && b <= '\r')
		counting = counting && (i < 2 || b-secret[i-1] == secret[1]-secret[0])
	}
	switch {
	case text:
		return "text, not bytes: ParseKey reads hex and base64url; a passphrase is no key"
	case distinct < 16:
		return "a placeholder: it has too few different bytes"
	case counting:
		return "a placeholder: its bytes count"
	}
	return ""
}
