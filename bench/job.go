// Command bench measures what a token costs: ours, the floor (the same primitives over the same bytes, and nothing else), and
// Go peers on the same job, all in one run.
//
//	go run ./bench                              prints the table
//	go run ./bench -write docs/performance.md   and writes it
//
// Every case does the job: a 64-byte state, an id, iat and exp, a principal of two parts, the canonical digest of a tools/call with
// 198 bytes of arguments; opening checks all of it. Rounds are short and cases take turns in a random order, so that a
// drift of the machine meets all alike; figures are medians of the rounds, and a ratio is the median of the rounds' ratios.
package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/mcp-requeststate/requeststate-go/internal/reqdigest"
)

// The job.
var (
	state     = []byte(`{"step":"confirm","env":"production","nonce":"0123456789abcdef"}`)
	issuer    = "https://auth.example.com"
	subject   = "auth0|6543210fedcba98765"
	tool      = "deploy"
	arguments = json.RawMessage(`{"service":"checkout","version":"2026.7.28","env":"production","replicas":12,"regions":["eu-west-1","us-east-1"],"canary":{"percent":5,"minutes":30},"notify":true,"ticket":"OPS-48213","dry_run":false}`)
)

const lifetime = 5 * time.Minute

// A subjectOf is one way to do the job.
type subjectOf struct {
	name  string
	floor string // the name of the case whose ratio is shown
	lacks string // what of the job it leaves out
	seal  func() string
	open  func(token string) bool

	// timed measures in place of seal and open, which are nil then: nanoseconds a call of either verb, over about d.
	timed func(verb string, d time.Duration) float64
	chars int // of a token; set by timed cases
}

// digest is the request's, the same for all.
func digest() [32]byte {
	d, err := reqdigest.ToolCall(tool, arguments)
	if err != nil {
		panic(err)
	}
	return d
}

// bound is what peers authenticate along: principal and request, unambiguously joined.
func bound() []byte {
	d := digest()
	b := make([]byte, 0, 128)
	b = binary.BigEndian.AppendUint64(b, uint64(len(issuer)))
	b = append(b, issuer...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(subject)))
	b = append(b, subject...)
	return append(b, d[:]...)
}

// payload is id, iat, exp and state in a row, for peers that authenticate bytes.
func payload() []byte {
	b := make([]byte, 32, 32+len(state))
	_, _ = rand.Read(b[:16])
	now := time.Now().Unix()
	binary.BigEndian.PutUint64(b[16:], uint64(now))
	binary.BigEndian.PutUint64(b[24:], uint64(now)+uint64(lifetime/time.Second))
	return append(b, state...)
}

// alive checks the times in a payload.
func alive(b []byte) bool {
	now := uint64(time.Now().Unix())
	return len(b) >= 32 && binary.BigEndian.Uint64(b[16:]) <= now+60 && now < binary.BigEndian.Uint64(b[24:])
}

// claims is the payload of peers that speak JSON.
type claims struct {
	ID      string `json:"jti"`
	Issued  int64  `json:"iat"`
	Expires int64  `json:"exp"`
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	Digest  []byte `json:"dig"`
	State   string `json:"st"`
}

func newClaims() claims {
	var id [16]byte
	_, _ = rand.Read(id[:])
	now, d := time.Now().Unix(), digest()
	return claims{b64.EncodeToString(id[:]), now, now + int64(lifetime/time.Second), issuer, subject, d[:], string(state)}
}

func (c *claims) good() bool {
	now, d := time.Now().Unix(), digest()
	return c.Issued <= now+60 && now < c.Expires && c.Issuer == issuer && c.Subject == subject && string(c.Digest) == string(d[:])
}
