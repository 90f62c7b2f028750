package codectest

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/hmac"
)

// faulty wraps the HMAC codec and spoils one thing. The suite must catch each.
type faulty struct {
	requeststate.Codec
	key        requeststate.Key
	sealAfter  func(string) string
	openBefore func(string) string
	openAfter  func(*requeststate.Claims, requeststate.Key, error) (requeststate.Key, error)
}

func (f *faulty) Seal(ctx context.Context, d *requeststate.Draft) (string, error) {
	token, err := f.Codec.Seal(ctx, d)
	if err == nil && f.sealAfter != nil {
		token = f.sealAfter(token)
	}
	return token, err
}

func (f *faulty) Open(ctx context.Context, token string, c *requeststate.Claims) (requeststate.Key, error) {
	if f.openBefore != nil {
		token = f.openBefore(token)
	}
	key, err := f.Codec.Open(ctx, token, c)
	if f.openAfter != nil {
		return f.openAfter(c, key, err)
	}
	return key, err
}

var faults = map[string]func(*faulty){
	"accepts CR and LF": func(f *faulty) {
		f.openBefore = func(token string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(token) }
	},
	"accepts padding": func(f *faulty) {
		f.openBefore = func(token string) string { return strings.TrimRight(token, "=") }
	},
	"accepts standard base64": func(f *faulty) {
		f.openBefore = func(token string) string { return strings.NewReplacer("+", "-", "/", "_").Replace(token) }
	},
	"accepts trailing bits": func(f *faulty) {
		f.openBefore = func(token string) string {
			body, ok := strings.CutPrefix(token, hmac.Prefix)
			raw, err := base64.RawURLEncoding.DecodeString(body)
			if !ok || err != nil {
				return token
			}
			return hmac.Prefix + base64.RawURLEncoding.EncodeToString(raw)
		}
		f.sealAfter = func(token string) string { return token }
	},
	"ignores case of the prefix": func(f *faulty) {
		f.openBefore = func(token string) string {
			if len(token) > 5 {
				return strings.ToLower(token[:5]) + token[5:]
			}
			return token
		}
	},
	"opens what is forged": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			if errors.Is(err, requeststate.ErrForged) {
				*c = requeststate.Claims{ID: requeststate.ID{1}, Flow: requeststate.ID{1}, Round: 1, IssuedAt: now.Unix(), ExpiresAt: now.Unix() + 1, Deadline: now.Unix() + 1}
				return key, nil
			}
			return key, err
		}
	},
	"says expired of what is forged": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			if err != nil {
				return key, requeststate.ErrExpired
			}
			return key, nil
		}
	},
	"loses the audience": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			c.Audience = nil
			return key, err
		}
	},
	"loses the request": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			c.Request = nil
			return key, err
		}
	},
	"restarts the flow": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			c.Flow, c.Round = c.ID, 1
			return key, err
		}
	},
	"slides the expiry": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			if err == nil {
				c.ExpiresAt += 60
				c.Deadline = max(c.Deadline, c.ExpiresAt)
			}
			return key, err
		}
	},
	"another key": func(f *faulty) {
		f.openAfter = func(_ *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			if err == nil {
				return f.key, nil
			}
			return key, err
		}
	},
	"mangles the state": func(f *faulty) {
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			c.State = []byte(strings.ToValidUTF8(string(c.State), "\ufffd"))
			return key, err
		}
	},
	"needs escaping": func(f *faulty) {
		f.sealAfter = func(token string) string { return token + "<" }
		f.openBefore = func(token string) string { return strings.TrimSuffix(token, "<") }
	},
	"shares state": func(f *faulty) {
		var last []byte
		f.openAfter = func(c *requeststate.Claims, key requeststate.Key, err error) (requeststate.Key, error) {
			if last != nil && err == nil {
				c.State = last
			}
			last = c.State
			return key, err
		}
	},
}

func goodCodec(t *testing.T) requeststate.Codec {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	codec, err := hmac.NewCodec(ring)
	require.NoError(t, err)
	return codec
}

// TestFaulty runs the suite on one faulty codec, in a process of its own: a suite that fails fails its test.
func TestFaulty(t *testing.T) {
	fault, ok := faults[os.Getenv("CODECTEST_FAULT")]
	if !ok {
		return
	}
	Run(t, func(t *testing.T) requeststate.Codec {
		key, err := requeststate.GenerateKey()
		require.NoError(t, err)
		f := &faulty{Codec: goodCodec(t), key: key}
		fault(f)
		return f
	})
}

func TestSuiteCatchesFaults(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(self, "-test.run=^TestFaulty$")
			cmd.Env = append(os.Environ(), "CODECTEST_FAULT="+name, "GOCOVERDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			assert.Error(t, err, "the suite let it pass")
			assert.Contains(t, string(out), "--- FAIL: TestFaulty")
		})
	}
}

func TestSuitePassesAGoodCodec(t *testing.T) { Run(t, goodCodec) }
