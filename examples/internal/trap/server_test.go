package trap

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func testScene(t *testing.T, c Config) *scene {
	t.Helper()
	sc, err := newScene(c, newKey(t), start)
	require.NoError(t, err)
	return sc
}

func TestChecks(t *testing.T) {
	all := map[Switch]string{
		Integrity: "pass", Audience: "pass", Principal: "pass", Request: "pass", TTL: "pass", SingleUse: "pass",
	}
	with := func(changes map[Switch]string) map[Switch]string {
		m := maps.Clone(all)
		maps.Copy(m, changes)
		return m
	}
	for _, tt := range []struct {
		name    string
		without Set
		err     error
		want    map[Switch]string
	}{
		{"accepted", nil, nil, all},
		{"left out", Set{TTL: true, SingleUse: true}, nil, with(map[Switch]string{TTL: "off", SingleUse: "off"})},
		{"refused", Set{TTL: true}, requeststate.ErrPrincipal,
			with(map[Switch]string{Principal: "FAIL", Request: "-", TTL: "off", SingleUse: "-"})},
		{"used", nil, requeststate.ErrConsumed, with(map[Switch]string{SingleUse: "FAIL"})},
		{"undecided", nil, requeststate.ErrUnavailable, map[Switch]string{
			Integrity: "-", Audience: "-", Principal: "-", Request: "-", TTL: "-", SingleUse: "-"}},
		{"malformed without integrity", Set{Integrity: true}, requeststate.ErrMalformed, map[Switch]string{
			Integrity: "FAIL", Audience: "-", Principal: "-", Request: "-", TTL: "-", SingleUse: "-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := map[Switch]string{}
			for _, c := range (Config{Without: tt.without}).checks(tt.err) {
				got[c.Switch] = c.Verdict
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestAtOnceOneSuccess(t *testing.T) {
	sc := testScene(t, Default())
	token, err := sc.Mint(t.Context())
	require.NoError(t, err)
	accepted, refused := sc.AtOnce(t.Context(), 64, token)
	assert.Equal(t, 1, accepted)
	require.Len(t, refused, 63)
	for _, err := range refused {
		require.ErrorIs(t, err, requeststate.ErrConsumed)
	}
}

func TestForkAndFlows(t *testing.T) {
	successes := func(steps []Step) (n int) {
		for _, s := range steps {
			if s.Effect && s.Err == nil {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		without      Set
		forks, flows int
	}{{Set{}, 1, 5}, {Set{SingleUse: true}, 2, 5}} {
		c := Default()
		c.Without = tt.without
		steps, err := Fork(t.Context(), c, newKey(t), start)
		require.NoError(t, err)
		assert.Equal(t, tt.forks, successes(steps), "fork without %s", tt.without)
		steps, err = Flows(t.Context(), c, newKey(t), start, 5)
		require.NoError(t, err)
		assert.Equal(t, tt.flows, successes(steps), "flows without %s", tt.without)
	}
}

func TestInsideAndReadable(t *testing.T) {
	for _, format := range Formats() {
		for _, off := range []bool{false, true} {
			c := Default()
			c.Format, c.Without = format, Set{Integrity: off}
			sc := testScene(t, c)
			token, err := sc.Mint(t.Context())
			require.NoError(t, err)
			inside, err := sc.Inside(t.Context(), token)
			require.NoError(t, err)
			assert.Contains(t, inside, Field{"state", string(c.State)})
			assert.Contains(t, inside, Field{"use", "single use"})
			readable := sc.Readable(token)
			switch {
			case off, format == "hmac":
				assert.Equal(t, inside[1:], readable, "%s shows its claims", format)
			case format == "jwt":
				require.Len(t, readable, 1)
				assert.Contains(t, readable[0].Value, `"rs_text":"{\"confirmed\":true,\"amount\":25}"`)
			default:
				assert.Empty(t, readable, "%s hides its claims", format)
			}
			for _, f := range inside {
				assert.NotContains(t, f.Value, c.Principal, "the principal is never on the wire")
			}
		}
	}
}

func TestConfigCheck(t *testing.T) {
	require.NoError(t, Default().Check())
	for want, change := range map[string]func(*Config){
		"format":           func(c *Config) { c.Format = "rot13" },
		"principal":        func(c *Config) { c.Principal = "" },
		"name":             func(c *Config) { c.Name = string(make([]byte, maxText+1)) },
		"service":          func(c *Config) { c.Service = "" },
		"sampling":         func(c *Config) { c.Method = "sampling/createMessage" },
		"1 to 3600":        func(c *Config) { c.TTL = 2 * time.Hour },
		"whole seconds":    func(c *Config) { c.TTL = 1500 * time.Millisecond },
		"state":            func(c *Config) { c.State = make([]byte, maxState+1) },
		"not JSON":         func(c *Config) { c.Arguments = json.RawMessage(`{"a":`) },
		"JSON object":      func(c *Config) { c.Arguments = json.RawMessage(`[1]`) },
		"a JSON object":    func(c *Config) { c.Arguments = json.RawMessage(`null`) },
		"at most 8192":     func(c *Config) { c.Arguments = make(json.RawMessage, maxArguments+1) },
		"are not JSON: un": func(c *Config) { c.Arguments = nil },
	} {
		c := Default()
		change(&c)
		require.ErrorContains(t, c.Check(), want)
	}
}

func TestParseSet(t *testing.T) {
	set, err := ParseSet("ttl, integrity,single-use")
	require.NoError(t, err)
	assert.Equal(t, "integrity,ttl,single-use", set.String())
	_, err = ParseSet("clock")
	require.ErrorContains(t, err, `no binding is called "clock"`)
}
