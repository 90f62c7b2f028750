package conformance_test

import (
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/integration/conformance"
	"github.com/mcp-requeststate/requeststate-go/integration/gosdk/everything"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
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
	suite := conformance.Install(t)
	for name, opts := range map[string][]gosdk.Option{
		"default":             nil,
		"AllowUnaskedAnswers": {gosdk.AllowUnaskedAnswers()},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, opts...)
			for _, scenario := range conformance.Scenarios {
				t.Run(scenario, func(t *testing.T) {
					for _, check := range suite.Run(t, url, scenario) {
						want := "SUCCESS"
						if check.ID == unasked && opts == nil {
							want = "WARNING"
						}
						assert.Equal(t, want, check.Status, "%s: %s", check.ID, check.ErrorMessage)
					}
				})
			}
		})
	}
}

// The suite must be able to fail: without the middleware the tampered state passes as it is.
func TestGoSDKWithoutTheMiddleware(t *testing.T) {
	suite := conformance.Install(t)
	server := httptest.NewServer(everything.Handler())
	defer server.Close()
	checks := suite.Run(t, server.URL, "input-required-result-tampered-state")
	failed := slices.ContainsFunc(checks, func(c conformance.Check) bool { return c.Status == "FAILURE" })
	assert.True(t, failed, "%v", checks)
}

func serve(t *testing.T, opts ...gosdk.Option) string {
	key, err := requeststate.GenerateKey()
	require.NoError(t, err)
	ring, err := requeststate.NewKeyring(key)
	require.NoError(t, err)
	sealer, err := aead.New(ring, requeststate.WithAudience("everything"), requeststate.AllowAnonymous())
	require.NoError(t, err)
	protect, err := gosdk.Middleware(sealer, opts...)
	require.NoError(t, err)
	server := httptest.NewServer(everything.Handler(protect))
	t.Cleanup(server.Close)
	return server.URL
}
