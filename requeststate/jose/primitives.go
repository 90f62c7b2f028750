package jose

import (
	jose "github.com/go-jose/go-jose/v4"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// A box is the ciphers of one format under one sub-key. Its methods are safe for concurrent use.
type box interface {
	// header is the first segment of every token.
	header() string
	// seal keeps nothing of payload.
	seal(payload []byte) (token string, err error)
	// open returns the payload in a slice of its own. The token has the header and the segments of the format. An error
	// is a reason for rejection.
	open(token string) (payload []byte, err error)
}

// signer is HMAC-SHA-256 (RFC 7518 section 3.2).
type signer struct {
	segment string
	signer  jose.Signer
	key     []byte
}

func newSigner(subkey []byte, kid, header string) (box, error) {
	opts := (&jose.SignerOptions{}).WithType(Type).WithHeader("kid", kid)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: subkey}, opts)
	if err != nil {
		return nil, err
	}
	return &signer{header, s, subkey}, nil
}

func (s *signer) header() string { return s.segment }

func (s *signer) seal(payload []byte) (string, error) {
	obj, err := s.signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return obj.CompactSerialize()
}

func (s *signer) open(token string) ([]byte, error) {
	obj, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return nil, requeststate.ErrMalformed
	}
	payload, err := obj.Verify(s.key) // constant time
	if err != nil {
		return nil, requeststate.ErrForged
	}
	return payload, nil
}

// encrypter is AES-256 key wrap (RFC 7518 section 4.4, RFC 3394) of a content key for AES-256-GCM (section 5.3) that
// go-jose draws anew for each token. Key wrap is deterministic and needs no nonce; the content key is used once, so
// GCM's nonce cannot repeat under it.
type encrypter struct {
	segment   string
	encrypter jose.Encrypter
	key       []byte
}

func newEncrypter(subkey []byte, kid, header string) (box, error) {
	opts := (&jose.EncrypterOptions{}).WithType(Type) // no compression: it leaks, and bombs
	e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.A256KW, Key: subkey, KeyID: kid}, opts)
	if err != nil {
		return nil, err
	}
	return &encrypter{header, e, subkey}, nil
}

func (e *encrypter) header() string { return e.segment }

func (e *encrypter) seal(payload []byte) (string, error) {
	obj, err := e.encrypter.Encrypt(payload)
	if err != nil {
		return "", err
	}
	return obj.CompactSerialize()
}

func (e *encrypter) open(token string) ([]byte, error) {
	obj, err := jose.ParseEncryptedCompact(token,
		[]jose.KeyAlgorithm{jose.A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return nil, requeststate.ErrMalformed
	}
	payload, err := obj.Decrypt(e.key)
	if err != nil {
		return nil, requeststate.ErrForged
	}
	return payload, nil
}
