package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/conformance"
	gosdkserver "github.com/mcp-requeststate/requeststate-go/integration/gosdk/everything"
	mcpgoserver "github.com/mcp-requeststate/requeststate-go/integration/mcpgo/everything"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/mcpgo"
)

func TestScenariosAreAll(t *testing.T) {
	listed := conformance.Install(t).Listed(t, "input-required-result-")
	slices.Sort(listed)
	assert.Equal(t, conformance.Scenarios, slices.Compact(listed))
}

// unasked is the one check that answers a question which nobody has asked, and wants the answer taken. The middleware
// drops it, unless the server says AllowUnaskedAnswers, and the suite warns. It is the check of
// input-required-result-ignore-extra-params.
const unasked = "sep-2322-ignore-unexpected-params"

func TestGoSDK(t *testing.T) {
	for name, opts := range map[string][]gosdk.Option{
		"default":             nil,
		"AllowUnaskedAnswers": {gosdk.AllowUnaskedAnswers()},
	} {
		t.Run(name, func(t *testing.T) {
			protect, err := gosdk.Middleware(sealer(t), opts...)
			require.NoError(t, err)
			all(t, gosdkserver.Handler(protect), opts == nil)
		})
	}
}

func TestMCPGo(t *testing.T) {
	anonymous := func(context.Context, mcpgo.Request) (string, error) { return "", nil }
	for name, opts := range map[string][]mcpgo.Option{
		"default":             nil,
		"AllowUnaskedAnswers": {mcpgo.AllowUnaskedAnswers()},
	} {
		t.Run(name, func(t *testing.T) {
			protect, err := mcpgo.Protect(sealer(t), anonymous, opts...)
			require.NoError(t, err)
			all(t, mcpgoserver.Handler(protect), opts == nil)
		})
	}
}

// all runs every scenario against the server.
func all(t *testing.T, h http.Handler, dropsUnasked bool) {
	suite := conformance.Install(t)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	for _, scenario := range conformance.Scenarios {
		t.Run(scenario, func(t *testing.T) {
			for _, check := range suite.Run(t, server.URL, scenario) {
				want := "SUCCESS"
				if check.ID == unasked && dropsUnasked {
					want = "WARNING"
				}
				assert.Equal(t, want, check.Status, "%s: %s", check.ID, check.ErrorMessage)
			}
		})
	}
}

// The suite must be able to fail: without the middleware the tampered state passes as it is.
func TestWithoutTheMiddleware(t *testing.T) {
	suite := conformance.Install(t)
	for name, h := range map[string]http.Handler{"gosdk": gosdkserver.Handler(), "mcpgo": mcpgoserver.Handler()} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(h)
			defer server.Close()
			checks := suite.Run(t, server.URL, "input-required-result-tampered-state")
			failed := slices.ContainsFunc(checks, func(c conformance.Check) bool { return c.Status == "FAILURE" })
			assert.True(t, failed, "%v", checks)
		})
	}
}

func sealer(t *testing.T) requeststate.Sealer {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	s, err := aead.New(ring, requeststate.WithAudience("everything"), requeststate.AllowAnonymous())
	require.NoError(t, err)
	return s
}
