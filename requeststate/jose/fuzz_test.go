package jose_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

// peerClaims are the claims for go-jose's own jwt package, which knows nothing of this one's parser.
type peerClaims struct {
	jwt.Claims
	Deadline  *int64          `json:"rs_deadline,omitempty"`
	Round     *int            `json:"rs_round,omitempty"`
	Flow      string          `json:"rs_flow,omitempty"`
	Principal string          `json:"rs_principal,omitempty"`
	Request   string          `json:"rs_request,omitempty"`
	Use       string          `json:"rs_use,omitempty"`
	Epoch     string          `json:"rs_epoch,omitempty"`
	JSON      json.RawMessage `json:"rs_json,omitempty"`
	Text      *string         `json:"rs_text,omitempty"`
	Bytes     *string         `json:"rs_bytes,omitempty"`
}

// state is the state of whichever claim has it.
func (p *peerClaims) state(t testing.TB) []byte {
	switch {
	case p.Text != nil:
		return []byte(*p.Text)
	case p.Bytes != nil:
		raw, err := b64.DecodeString(*p.Bytes)
		require.NoError(t, err)
		return raw
	}
	return p.JSON
}

// same fails unless go-jose's reading and ours agree.
func same(t testing.TB, p *peerClaims, c *requeststate.Claims) {
	t.Helper()
	text := func(raw []byte) string { return b64.EncodeToString(raw) }
	require.Equal(t, p.ID, c.ID.String())
	require.Equal(t, p.IssuedAt.Time().Unix(), c.IssuedAt)
	require.Equal(t, p.Expiry.Time().Unix(), c.ExpiresAt)
	require.Equal(t, *p.Deadline, c.Deadline)
	require.Equal(t, p.Epoch, text(c.Epoch))
	require.Equal(t, strings.Join(p.Audience, "\x00"), string(c.Audience))
	require.Equal(t, p.Use != "", c.Use != requeststate.UseUnlimited)
	require.True(t, bytes.Equal(p.state(t), c.State), "state %q and %q", p.state(t), c.State)
	if p.Round == nil {
		require.Equal(t, 1, c.Round)
		require.Equal(t, c.ID, c.Flow)
	} else {
		require.Equal(t, *p.Round, c.Round)
		require.Equal(t, p.Flow, c.Flow.String())
	}
	for _, tag := range []struct {
		peer string
		ours *requeststate.Tag
	}{{p.Principal, c.Principal}, {p.Request, c.Request}} {
		if tag.ours == nil {
			require.Empty(t, tag.peer)
		} else {
			require.Equal(t, tag.peer, text(tag.ours[:]))
		}
	}
}

// FuzzPayload fuzzes below the signature: whatever we accept, go-jose accepts with the same claims.
func FuzzPayload(f *testing.F) {
	f.Add(validPayload)
	for _, members := range refusedMembers {
		for _, m := range members {
			f.Add(payload(memberID, memberTimes, memberDeadline, memberText, m))
			f.Add(payload(memberID, memberTimes, memberDeadline, m))
		}
	}
	f.Add(payload(memberID, memberTimes, memberDeadline, `"rs_text":"\u0073\/\"\\\b\f\n\r\t\ud83d\ude00\u0000"`, `"aud":"a\u0000"`, `"rs_principal":"AAAAAAAAAAAAAAAAAAAAAA"`))
	f.Add(payload(memberID, memberTimes, memberDeadline, `"rs_json": {"a":[1,-2.5e+3,true,false,null,{},[]]}`, `"rs_use":"redemption"`, `"rs_epoch":"ZQ"`))
	f.Add(payload(memberID, memberTimes, memberDeadline, memberText, `"rs_round":2,"rs_flow":"AAAAAAAAAAAAAAAAAAAAAg"`))
	ring := newRing(f)
	key, kid := subkey(f, ring, "jws")
	codec, err := formats()[0].codec(ring)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, payload string) {
		token := hs256(key, header("JWS", kid), payload)
		var c requeststate.Claims
		if _, err := codec.Open(ctx, token, &c); err != nil {
			require.ErrorIs(t, err, requeststate.ErrMalformed)
			return
		}
		var p peerClaims
		require.NoError(t, peerOpen("JWS", token, key, &p))
		same(t, &p, &c)
	})
}

// FuzzPeerMints has go-jose mint valid claims in our header form: we accept them and read the same.
func FuzzPeerMints(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), "https://example.com", "state", uint32(1), uint8(0), true)
	f.Add([]byte("0123456789abcdef"), "a\"\\\u2028<&>", "\xff\x00", uint32(1<<31), uint8(7), false)
	f.Add([]byte("\x000123456789abcdef"), "", `{"a":[1]}`, uint32(1800000000), uint8(250), true)
	ring := newRing(f)
	codecs := map[string]requeststate.Codec{}
	for _, c := range formats() {
		codec, err := c.codec(ring)
		require.NoError(f, err)
		codecs[c.name] = codec
	}
	f.Fuzz(func(t *testing.T, id []byte, audience, state string, iat uint32, bits uint8, asText bool) {
		p := peerOf(id, audience, state, iat, bits, asText)
		if p == nil {
			t.Skip("not a sealer's claims")
		}
		for name, codec := range codecs {
			key, kid := subkey(t, ring, name)
			token, err := peer(t, name, key, kid).Claims(p).Serialize()
			require.NoError(t, err)
			var c requeststate.Claims
			_, err = codec.Open(ctx, token, &c)
			require.NoError(t, err, "%s %+v", name, p)
			same(t, p, &c)
		}
	})
}

// peerOf makes claims of a fuzzer's input, nil where there are none.
func peerOf(id []byte, audience, state string, iat uint32, bits uint8, asText bool) *peerClaims {
	if len(id) < 16 || iat == 0 || !utf8.ValidString(audience) || len(audience) > 255 {
		return nil
	}
	deadline := int64(iat) + 3600
	p := &peerClaims{Claims: jwt.Claims{
		ID:       b64.EncodeToString(id[:16]),
		IssuedAt: jwt.NewNumericDate(issued), Expiry: jwt.NewNumericDate(issued),
	}, Deadline: &deadline}
	*p.IssuedAt, *p.Expiry = jwt.NumericDate(iat), jwt.NumericDate(int64(iat)+60)
	if audience != "" {
		p.Audience = jwt.Audience{audience}
	}
	if bits&1 != 0 {
		p.Principal = b64.EncodeToString(id[:16])
	}
	if bits&2 != 0 {
		p.Request = b64.EncodeToString(id[:16])
	}
	if bits&4 != 0 {
		p.Use, p.Epoch = []string{"single", "redemption"}[bits>>3&1], b64.EncodeToString(id)
	}
	if bits&16 != 0 {
		round := 2 + int(bits>>5)
		p.Round, p.Flow = &round, b64.EncodeToString(bytes.ToUpper(id[:16])[:16])
	}
	raw := b64.EncodeToString([]byte(state))
	switch {
	case asText && utf8.ValidString(state):
		p.Text = &state
	default:
		p.Bytes = &raw
	}
	return p
}

// FuzzToken: no text opens but the one that was sealed, and nothing panics.
func FuzzToken(f *testing.F) {
	ring := newRing(f)
	codecs := map[string]requeststate.Codec{}
	valid := map[string]bool{}
	for _, c := range formats() {
		codec, err := c.codec(ring)
		require.NoError(f, err)
		codecs[c.name] = codec
		token := mint(f, c.name, ring, validPayload)
		valid[token] = true
		f.Add(token)
		f.Add(strings.Replace(token, ".", "..", 1))
		f.Add(token[:len(token)-1])
	}
	f.Add("...")
	f.Fuzz(func(t *testing.T, token string) {
		for name, codec := range codecs {
			var c requeststate.Claims
			if _, err := codec.Open(ctx, token, &c); err == nil && !valid[token] {
				t.Fatalf("%s opened %q", name, token)
			} else if err != nil {
				require.ErrorIs(t, err, requeststate.ErrInvalid)
			}
		}
	})
}

// TestSealIsRead has go-jose read what we seal, whatever the state.
func TestSealIsRead(t *testing.T) {
	for _, f := range formats() {
		ring := newRing(t)
		codec, err := f.codec(ring)
		require.NoError(t, err)
		s := opener(t, f, ring)
		key, _ := subkey(t, ring, f.name)
		for _, state := range []string{"", "a", "\"\\/\b\f\n\r\t", "\x00\x7f", "\u2028<&>😀", "\xff", "{", strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
			for _, seal := range []func() (string, error){
				func() (string, error) { return s.Seal(ctx, []byte(state)) },
				func() (string, error) { return requeststate.SealJSON(ctx, s, map[string]string{"s": state}) },
				func() (string, error) { return requeststate.SealJSON(ctx, s, json.RawMessage(`"\ud800"`)) },
			} {
				token, err := seal()
				require.NoError(t, err)
				var c requeststate.Claims
				_, err = codec.Open(ctx, token, &c)
				require.NoError(t, err)
				var p peerClaims
				require.NoError(t, peerOpen(f.name, token, key, &p))
				same(t, &p, &c)
			}
		}
	}
}
