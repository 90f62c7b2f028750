// Package polyglot has other languages read and write this library's tokens. The programs in node and python were
// written from docs/token-format.md, docs/token-format-jwt.md and docs/request-digest.md, and share no code with it
// or each other.
package polyglot

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
	"github.com/mcp-requeststate/requeststate-go/requeststate/jose"
)

var (
	ctx    = context.Background()
	issued = time.Unix(1_800_000_000, 0)
)

// need skips a test whose outside program is missing, unless REQUIRE_SERVICES says that none may be.
func need(t *testing.T, have bool, install string) {
	t.Helper()
	switch {
	case have:
	case os.Getenv("REQUIRE_SERVICES") == "1":
		t.Fatal(install)
	default:
		t.Skip(install)
	}
}

// A program is an implementation in another language.
type program struct {
	name    string
	command func(t *testing.T) *exec.Cmd
	opens   []string
	seals   []string
}

var programs = []program{
	{"node", nodeCommand, []string{"jws", "jwe", "rs1h", "rs1x", "rs1c"}, []string{"jws", "jwe"}},
	{"python", pythonCommand, []string{"jws", "jwe"}, []string{"jws", "jwe"}},
}

// npm installs the two packages that package-lock.json pins, once.
var npm = sync.OnceValue(func() error {
	if _, err := os.Stat(filepath.Join("node", "node_modules", "jose")); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = "node"
	return cmd.Run()
})

func nodeCommand(t *testing.T) *exec.Cmd {
	_, err := exec.LookPath("node")
	need(t, err == nil, "node is missing: install Node.js 20.19 or newer")
	need(t, npm() == nil, "npm packages are missing: run npm ci in integration/polyglot/node")
	return exec.Command("node", "node/main.mjs")
}

// python is an interpreter that has the packages.
var python = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import jwt, cryptography.hazmat.primitives.keywrap").Run() == nil {
			return name
		}
	}
	return ""
})

func pythonCommand(t *testing.T) *exec.Cmd {
	need(t, python() != "", "Python packages are missing: apt-get install python3-jwt python3-cryptography")
	cmd := exec.Command(python(), "python/main.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// A call is one thing that a program is asked to do.
type call struct {
	Op        string   `json:"op"` // open, seal, digest, jwk
	Format    string   `json:"format,omitempty"`
	Token     string   `json:"token"`
	Now       int64    `json:"now,omitempty"`
	Audience  string   `json:"audience,omitempty"`
	Principal []string `json:"principal,omitempty"`
	Method    string   `json:"method,omitempty"`
	Params    string   `json:"params,omitempty"` // for digest: base64
	Use       string   `json:"use,omitempty"`
	Kind      string   `json:"kind,omitempty"` // of the claim that a seal puts the state in
	State     []byte   `json:"state"`
}

type answer struct {
	Token     string `json:"token"`
	State     []byte `json:"state"`
	Round     int    `json:"round"`
	Flow      string `json:"flow"`
	Canonical string `json:"canonical"`
	Error     string `json:"error"`
	JWK       json.RawMessage
}

// run starts the program once for all calls.
func (p program) run(t *testing.T, ring *requeststate.Keyring, epoch string, calls ...call) []answer {
	t.Helper()
	files, err := filepath.Glob(p.name + "/*.*")
	require.NoError(t, err)
	for _, file := range files { // so that go test does not answer from its cache after a change of them
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
	cmd := p.command(t)
	jwks, err := jose.SecretJWKS(ring)
	require.NoError(t, err)
	input, err := json.Marshal(map[string]any{"jwks": json.RawMessage(jwks), "epoch": epoch, "calls": calls})
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s: %s", p.name, &stderr)
	var answers []answer
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &answers))
	require.Len(t, answers, len(calls))
	return answers
}

func newRing(t *testing.T) *requeststate.Keyring {
	first, err := requeststate.GenerateKey()
	require.NoError(t, err)
	second, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(first, second)
	require.NoError(t, err)
	return ring
}

type constructor func(*requeststate.Keyring, ...requeststate.Option) (requeststate.Sealer, error)

var formats = map[string]constructor{
	"jws": jose.NewJWS, "jwe": jose.NewJWE, "rs1h": hmac.New, "rs1x": aead.New, "rs1c": aead.NewXChaCha20Poly1305,
}

func sealer(t *testing.T, format string, ring *requeststate.Keyring, opts ...requeststate.Option) requeststate.Sealer {
	s, err := formats[format](ring, append(opts, requeststate.AllowAnonymous(), requeststate.AllowAnyRequest(),
		requeststate.WithClock(func() time.Time { return issued }))...)
	require.NoError(t, err)
	return s
}
