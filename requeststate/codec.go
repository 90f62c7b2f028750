package requeststate

import (
	"context"
	"errors"
	"fmt"
)

// A Codec authenticates claims, and perhaps encrypts them. Packages hmac, aead and jose have the built-in ones; codectest
// is the suite that every codec must pass. A codec is safe for concurrent use.
type Codec interface {
	// Seal picks the key that seals now, takes the claims tagged under that very key from draft.Claims(key), and returns
	// them as a token: ASCII text that needs no escaping in JSON. It keeps neither draft nor the claims after it returns.
	// Any error is [ErrUnavailable] for the caller, with its text in the log alone.
	Seal(ctx context.Context, draft *Draft) (token string, err error)

	// Open authenticates token, sets c to what it says and returns the key it was sealed under, which is the key that
	// Seal passed to the draft. Nothing of the token is parsed before it is authenticated, beyond finding the key; and of
	// all spellings of a token exactly one opens. c's slices are c's alone.
	//
	// The error is [ErrMalformed], [ErrUnknownKey] or [ErrForged]. Any other, a panic too, is undecided: the sealer
	// answers [ErrUnavailable] and nothing opens.
	Open(ctx context.Context, token string, c *Claims) (Key, error)
}

// A Draft is what a token will say, but for the tags, which need the key. It is valid during one call of [Codec.Seal].
type Draft struct {
	claims             Claims
	principal, request *[32]byte // digests; nil: not bound
	key                Key
}

// Claims returns the claims with their tags made under sub-keys of key. It is the only way to them: a codec cannot have
// claims without saying whose they are.
func (d *Draft) Claims(key Key) (*Claims, error) {
	if key.IsZero() {
		return nil, errors.New("requeststate: the codec seals under the zero Key")
	}
	d.key = key
	c := &d.claims
	c.Principal, c.Request = nil, nil
	if d.principal != nil {
		c.tags[0] = key.k.principal.tag(c.ID, d.principal)
		c.Principal = &c.tags[0]
	}
	if d.request != nil {
		c.tags[1] = key.k.request.tag(c.ID, d.request)
		c.Request = &c.tags[1]
	}
	return c, nil
}

// codecSeal calls the codec. A panic is an error like any other: the sealer's caller must not crash over a key service.
func codecSeal(ctx context.Context, codec Codec, d *Draft) (token string, err error) {
	defer func() {
		if p := recover(); p != nil {
			token, err = "", Unavailable(fmt.Errorf("codec panicked: %v", p))
		}
	}()
	token, err = codec.Seal(ctx, d)
	if err == nil && (token == "" || d.key.IsZero()) {
		err = errors.New("the codec sealed nothing, or claims that are not the draft's")
	}
	if err != nil {
		return "", asUnavailable(err) // its text is a key service's, perhaps, and handlers return errors to clients
	}
	return token, nil
}

// codecOpen calls the codec. Only the three reasons of its contract are rejections; whatever else comes back is undecided.
func codecOpen(ctx context.Context, codec Codec, token string, c *Claims) (key Key, err error) {
	defer func() {
		if p := recover(); p != nil {
			key, err = Key{}, Unavailable(fmt.Errorf("codec panicked: %v", p))
		}
	}()
	key, err = codec.Open(ctx, token, c)
	if err != nil {
		*c = Claims{} // nothing is known of what was not authenticated
	}
	switch {
	case err == nil && key.IsZero():
		return Key{}, Unavailable(errors.New("the codec opened a token under the zero Key"))
	case err == nil && c.check() != nil:
		return key, ErrMalformed
	case err == nil:
		return key, nil
	case errors.Is(err, ErrUnavailable):
		return Key{}, asUnavailable(err)
	}
	for _, reason := range []error{ErrMalformed, ErrUnknownKey, ErrForged} {
		if errors.Is(err, reason) {
			return key, reason
		}
	}
	return Key{}, Unavailable(err)
}

// asUnavailable gives an undecided error of a codec or store the fixed text, if it has another.
func asUnavailable(err error) error {
	if u, ok := err.(*unavailable); ok {
		return u
	}
	return Unavailable(err)
}
