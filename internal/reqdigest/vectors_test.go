package reqdigest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var vectorFile = filepath.Join("..", "..", "testdata", "request-digest.json")

type vectors struct {
	Equal []struct {
		Name, Method, Canonical, SHA256 string
		Params                          []string
	}
	Different []struct {
		Name, Method string
		Params       []string
	}
	Refused []struct {
		Name, Method, Params, Hex, Reason string
		Offset                            int
	}
}

func readVectors(t testing.TB) (v vectors) {
	b, err := os.ReadFile(vectorFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &v))
	require.GreaterOrEqual(t, len(v.Equal)+len(v.Different)+len(v.Refused), 90, "vectors are missing")
	return v
}

// canonical is the canonical bytes of a request, for tests.
func canonical(method string, params []byte) ([]byte, error) {
	s := get(len(params))
	defer s.put()
	if err := s.sum(method, params); err != nil {
		return nil, err
	}
	return append([]byte{}, s.canonical()...), nil
}

func TestVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Equal {
		t.Run("equal/"+c.Name, func(t *testing.T) {
			for _, p := range c.Params {
				got, err := canonical(c.Method, []byte(p))
				require.NoError(t, err, "%.200s", p)
				assert.Equal(t, c.Canonical, hex.EncodeToString(got), "%.200s", p)
				sum, err := Sum(c.Method, []byte(p))
				require.NoError(t, err)
				assert.Equal(t, c.SHA256, hex.EncodeToString(sum[:]))
			}
		})
	}
	for _, c := range v.Different {
		t.Run("different/"+c.Name, func(t *testing.T) {
			seen := map[[sha256.Size]byte]string{}
			for _, p := range c.Params {
				sum, err := Sum(c.Method, []byte(p))
				require.NoError(t, err, p)
				assert.NotContains(t, seen, sum, "%s and %s", p, seen[sum])
				seen[sum] = p
			}
		})
	}
	for _, c := range v.Refused {
		t.Run("refused/"+c.Name, func(t *testing.T) {
			params := []byte(c.Params)
			if c.Hex != "" {
				params, _ = hex.DecodeString(c.Hex)
			}
			sum, err := Sum(c.Method, params)
			var e *Error
			require.True(t, errors.As(err, &e), "%v", err)
			assert.Equal(t, Error{c.Offset, c.Reason}, *e)
			assert.Zero(t, sum)
		})
	}
}

// TestSecondImplementation checks the vectors with a program in another language, written from the document alone.
func TestSecondImplementation(t *testing.T) {
	python := need(t, "python3", "the second implementation")
	out, err := exec.Command(python, filepath.Join("testdata", "second.py"), vectorFile).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// need is the path of a program, or skips the test where it is missing.
func need(t *testing.T, program, what string) string {
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
		return path
	case os.Getenv("REQUIRE_SERVICES") == "1":
		t.Fatalf("install %s for %s", program, what)
	default:
		t.Skipf("install %s for %s", program, what)
	}
	return ""
}

// TestDocument checks the examples of the document.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "request-digest.md"))
	require.NoError(t, err)
	form := regexp.MustCompile("(?s)```\nmethod +(\\S+)\nparams +([^\n]+)\ncanonical +(.+?)\nsha256 +(\\S+)\n```")
	examples := form.FindAllStringSubmatch(string(b), -1)
	require.GreaterOrEqual(t, len(examples), 6)
	require.Equal(t, len(examples), strings.Count(string(b), "\nsha256 "), "an example of another form")
	for _, e := range examples {
		got, err := canonical(e[1], []byte(e[2]))
		require.NoError(t, err)
		assert.Equal(t, strings.Join(strings.Fields(e[3]), ""), hex.EncodeToString(got), e[2])
		sum := sha256.Sum256(got)
		assert.Equal(t, e[4], hex.EncodeToString(sum[:]), e[2])
	}
}
