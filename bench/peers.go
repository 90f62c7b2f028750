package main

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"aidanwoods.dev/go-paseto"
	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/securecookie"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	tinkaead "github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
)

const (
	noForm   = "audience, single use, one spelling"
	noTokens = "a token format, audience, single use"
)

// keyID is in the header of the peers that ours are measured against, because it is in ours.
const keyID = "kf3gTz-VtL8"

func key32() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return key
}

func tinkMAC() subjectOf {
	handle, err := keyset.NewHandle(mac.HMACSHA256Tag256KeyTemplate())
	must(err)
	m, err := mac.New(handle)
	must(err)
	return subjectOf{
		name: "tink-go HMAC-SHA-256", floor: "floor HMAC", lacks: noTokens,
		seal: func() string {
			p := payload()
			tag, err := m.ComputeMAC(append(bound(), p...))
			must(err)
			return b64.EncodeToString(append(p, tag...))
		},
		open: func(token string) bool {
			raw, err := b64.DecodeString(token)
			if err != nil {
				return false
			}
			p := raw[:32+len(state)]
			return m.VerifyMAC(raw[len(p):], append(bound(), p...)) == nil && alive(p)
		},
	}
}

func tinkAEAD() subjectOf {
	handle, err := keyset.NewHandle(tinkaead.AES256GCMKeyTemplate())
	must(err)
	a, err := tinkaead.New(handle)
	must(err)
	return subjectOf{
		name: "tink-go AES-256-GCM", floor: "floor XAES-256-GCM", lacks: noTokens + "; 2^32 messages a key",
		seal: func() string {
			sealed, err := a.Encrypt(payload(), bound())
			must(err)
			return b64.EncodeToString(sealed)
		},
		open: func(token string) bool {
			raw, err := b64.DecodeString(token)
			if err != nil {
				return false
			}
			p, err := a.Decrypt(raw, bound())
			return err == nil && alive(p)
		},
	}
}

// jwtClaims are claims in the terms of golang-jwt.
type jwtClaims struct {
	jwt.RegisteredClaims
	Digest []byte `json:"dig"`
	State  string `json:"st"`
}

func golangJWT() subjectOf {
	key := key32()
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithIssuer(issuer), jwt.WithSubject(subject))
	return subjectOf{
		name: "golang-jwt HS256", floor: "floor HMAC", lacks: noForm,
		seal: func() string {
			c, now := newClaims(), time.Now()
			token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwtClaims{jwt.RegisteredClaims{ID: c.ID, Issuer: issuer, Subject: subject,
				IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime))}, c.Digest, c.State}).SignedString(key)
			must(err)
			return token
		},
		open: func(token string) bool {
			var c jwtClaims
			_, err := parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return key, nil })
			d := digest()
			return err == nil && string(c.Digest) == string(d[:])
		},
	}
}

func joseJWS() subjectOf {
	key := key32()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, (&jose.SignerOptions{}).WithType("mcp-rs+jwt"))
	must(err)
	return subjectOf{
		name: "go-jose JWS HS256", floor: "floor HMAC", lacks: noForm,
		seal: func() string {
			text, err := json.Marshal(newClaims())
			must(err)
			signed, err := signer.Sign(text)
			must(err)
			token, err := signed.CompactSerialize()
			must(err)
			return token
		},
		open: func(token string) bool {
			signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.HS256})
			if err != nil {
				return false
			}
			text, err := signed.Verify(key)
			return err == nil && parsed(text)
		},
	}
}

func joseJWE() subjectOf {
	key := key32()
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.A256KW, Key: key, KeyID: keyID}, (&jose.EncrypterOptions{}).WithType("mcp-rs+jwt"))
	must(err)
	return subjectOf{
		name: "go-jose JWE A256KW", floor: "floor XAES-256-GCM", lacks: noForm,
		seal: func() string {
			text, err := json.Marshal(newClaims())
			must(err)
			sealed, err := encrypter.Encrypt(text)
			must(err)
			token, err := sealed.CompactSerialize()
			must(err)
			return token
		},
		open: func(token string) bool {
			sealed, err := jose.ParseEncrypted(token, []jose.KeyAlgorithm{jose.A256KW}, []jose.ContentEncryption{jose.A256GCM})
			if err != nil {
				return false
			}
			text, err := sealed.Decrypt(key)
			return err == nil && parsed(text)
		},
	}
}

func jwxJWS() subjectOf {
	key := key32()
	return subjectOf{
		name: "jwx JWS HS256", floor: "floor HMAC", lacks: noForm,
		seal: func() string {
			text, err := json.Marshal(newClaims())
			must(err)
			token, err := jws.Sign(text, jws.WithKey(jwa.HS256(), key))
			must(err)
			return string(token)
		},
		open: func(token string) bool {
			text, err := jws.Verify([]byte(token), jws.WithKey(jwa.HS256(), key))
			return err == nil && parsed(text)
		},
	}
}

func parsed(text []byte) bool {
	var c claims
	return json.Unmarshal(text, &c) == nil && c.good()
}

func cookie(name string, encrypted bool) subjectOf {
	var block []byte
	floor := "floor HMAC"
	if encrypted {
		block, floor = key32(), "floor XAES-256-GCM"
	}
	s := securecookie.New(key32(), block).MaxAge(int(lifetime / time.Second)).SetSerializer(securecookie.NopEncoder{})
	return subjectOf{
		name: name, floor: floor, lacks: noForm + ", jti checked by nobody",
		seal: func() string {
			token, err := s.Encode("state", append(bound(), payload()...))
			must(err)
			return token
		},
		open: func(token string) bool {
			var raw []byte
			if s.Decode("state", token, &raw) != nil {
				return false
			}
			b := bound()
			return len(raw) > len(b) && string(raw[:len(b)]) == string(b) && alive(raw[len(b):])
		},
	}
}

func pasetoLocal() subjectOf {
	key := paseto.NewV4SymmetricKey()
	return subjectOf{
		name: "go-paseto v4.local", floor: "floor XAES-256-GCM", lacks: noForm,
		seal: func() string {
			c, now := newClaims(), time.Now()
			t := paseto.NewToken()
			t.SetJti(c.ID)
			t.SetIssuedAt(now)
			t.SetExpiration(now.Add(lifetime))
			t.SetString("st", c.State)
			return t.V4Encrypt(key, bound())
		},
		open: func(token string) bool {
			parser := paseto.NewParser()
			t, err := parser.ParseV4Local(key, token, bound())
			if err != nil {
				return false
			}
			_, err = t.GetString("st")
			return err == nil
		},
	}
}
