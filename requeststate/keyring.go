package requeststate

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
)

// A Keyring holds the keys of a service: the first seals, all open. It is safe for concurrent use, and Rotate swaps the keys
// while tokens are sealed and opened. The zero Keyring has no key.
type Keyring struct{ keys atomic.Pointer[keySet] }

// keySet is never changed once it is in a ring, so that a reader sees all of one rotation or nothing of it.
type keySet struct {
	first Key
	all   []Key
	byID  map[KeyID]Key
}

// NewKeyring makes a ring. A zero key or the same key twice is an error.
func NewKeyring(first Key, rest ...Key) (*Keyring, error) {
	r := &Keyring{}
	if err := r.Rotate(first, rest...); err != nil {
		return nil, err
	}
	return r, nil
}

// Rotate replaces all keys of the ring at once. On an error the ring is as before. To retire a key without stranding users:
// first add the new key behind the old one on every replica, then put it first, and drop the old one when the longest
// TTL has passed.
func (r *Keyring) Rotate(first Key, rest ...Key) error {
	all := append([]Key{first}, rest...)
	set := &keySet{first: first, all: all, byID: make(map[KeyID]Key, len(all))}
	for i, k := range all {
		if k.IsZero() {
			return fmt.Errorf("requeststate: key %d of the ring is the zero Key", i+1)
		}
		if _, ok := set.byID[k.ID()]; ok {
			return fmt.Errorf("requeststate: key %d of the ring, id %s, is there twice", i+1, k.ID())
		}
		set.byID[k.ID()] = k
	}
	r.keys.Store(set)
	return nil
}

// First returns the key that seals. It is the zero Key only for the zero Keyring.
func (r *Keyring) First() Key {
	if set := r.keys.Load(); set != nil {
		return set.first
	}
	return Key{}
}

// Lookup returns the key of that id.
func (r *Keyring) Lookup(id KeyID) (Key, bool) {
	set := r.keys.Load()
	if set == nil {
		return Key{}, false
	}
	k, ok := set.byID[id]
	return k, ok
}

// Keys returns a copy of the keys, the one that seals first.
func (r *Keyring) Keys() []Key {
	if set := r.keys.Load(); set != nil {
		return slices.Clone(set.all)
	}
	return nil
}

// Check returns an error for a nil or empty ring. Constructors call it, so that a missing key shows at start.
func (r *Keyring) Check() error {
	if r == nil || r.keys.Load() == nil {
		return errors.New("requeststate: no keys: make the ring with NewKeyring")
	}
	return nil
}

// String lists the key ids, the one that seals first.
func (r *Keyring) String() string {
	var ids []string
	if r != nil {
		for _, k := range r.Keys() {
			ids = append(ids, k.ID().String())
		}
	}
	return fmt.Sprintf("keyring %v", ids)
}

// Format prints String for every verb.
func (r *Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue is String.
func (r *Keyring) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText is String.
func (r *Keyring) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
