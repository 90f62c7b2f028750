package gosdk_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/aead"
	"github.com/mcp-requeststate/requeststate-go/requeststate/gosdk"
	"github.com/mcp-requeststate/requeststate-go/requeststate/internal/mrtr/mrtrtest"
)

func TestConfigurationErrors(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	storeless, err := aead.New(w.Ring, requeststate.WithoutAudience())
	require.NoError(t, err)
	for name, test := range map[string]struct {
		sealer requeststate.Sealer
		opts   []gosdk.Option
		want   string
	}{
		"no sealer":         {nil, nil, "nil Sealer"},
		"no store":          {storeless, []gosdk.Option{gosdk.SingleUse("a")}, "needs WithReplayStore"},
		"no store either":   {storeless, []gosdk.Option{gosdk.SingleRedemption("a")}, "needs WithReplayStore"},
		"both modes":        {w.Sealer, []gosdk.Option{gosdk.SingleUse("a"), gosdk.SingleRedemption("a")}, "to be both"},
		"no names":          {w.Sealer, []gosdk.Option{gosdk.SingleUse()}, "of no names"},
		"TTL of no names":   {w.Sealer, []gosdk.Option{gosdk.TTL(time.Minute)}, "of no names"},
		"two TTLs":          {w.Sealer, []gosdk.Option{gosdk.TTL(time.Minute, "a"), gosdk.TTL(time.Second, "a")}, "two TTLs"},
		"TTL too long":      {w.Sealer, []gosdk.Option{gosdk.TTL(time.Hour, "a")}, "sealer's maximum"},
		"TTL zero":          {w.Sealer, []gosdk.Option{gosdk.TTL(0, "a")}, "whole seconds"},
		"TTL of a fraction": {w.Sealer, []gosdk.Option{gosdk.TTL(1500*time.Millisecond, "a")}, "whole seconds"},
		"nil principal":     {w.Sealer, []gosdk.Option{gosdk.WithPrincipal(nil)}, "WithPrincipal(nil)"},
		"nil option":        {w.Sealer, []gosdk.Option{nil}, "nil Option"},
		"bad template":      {w.Sealer, []gosdk.Option{gosdk.SingleUse("card://{")}, "URI template"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := gosdk.Middleware(test.sealer, test.opts...)
			require.ErrorContains(t, err, test.want)
			assert.Nil(t, m)
		})
	}
}

func TestStoreThatIsDownAtStart(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	w.Store.Down.Store(true)
	_, err := gosdk.Middleware(w.Sealer, gosdk.SingleUse("a"))
	require.NoError(t, err, "it may be up when it is needed")
}

// A misspelt name would leave a tool without single use, so nothing works until it is right.
func TestNamesMustExist(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	s := mcp.NewServer(implementation, &mcp.ServerOptions{PageSize: 1})
	for _, name := range []string{"plain", "redeem"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, tool(w))
	}
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, prompt(w))
	s.AddResource(&mcp.Resource{URI: "card://1", Name: "1"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "gift://{id}", Name: "gift"}, nil)
	protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleUse("plain", "greet", "card://1"),
		gosdk.SingleRedemption("redeem", "gift://{id}", "late"))
	require.NoError(t, err)
	s.AddReceivingMiddleware(protect)
	m := serveMemory(t, s)

	call := func() mrtrtest.Response {
		r, err := m.Do(t.Context(), "", "tools/call", map[string]any{"name": "plain", "arguments": map[string]any{}})
		require.NoError(t, err)
		return r
	}
	assert.JSONEq(t, internal, string(call().Error))
	assert.Contains(t, w.Log(), `options name [\"late\"]`)
	r, err := m.Do(t.Context(), "", "tools/list", nil)
	require.NoError(t, err)
	assert.NotNil(t, r.Result, "other methods are untouched")

	s.AddTool(&mcp.Tool{Name: "late", InputSchema: anyObject}, tool(w))
	assert.Nil(t, call().Error)
}

// namesServer has a tool that only root is shown.
func namesServer(t *testing.T, w *mrtrtest.World, protect mcp.Middleware) *memoryServer {
	s := mcp.NewServer(implementation, nil)
	for _, name := range []string{"plain", "once"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: anyObject}, tool(w))
	}
	s.AddReceivingMiddleware(protect, func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListToolsResult)
			if user, _ := req.GetParams().GetMeta()[userKey].(string); ok && user != "root" {
				list.Tools = list.Tools[1:] // "once" is the first
			}
			return res, err
		}
	})
	return serveMemory(t, s)
}

// A list may depend on the caller. Then a name is missing until somebody sees it, unless an option says so.
func TestNamesThatNotEverybodySees(t *testing.T) {
	for _, unlisted := range []bool{false, true} {
		w := mrtrtest.NewWorld(t)
		opts := []gosdk.Option{gosdk.WithLogger(w.Logger), gosdk.SingleUse("once"), gosdk.WithPrincipal(metaUser)}
		if unlisted {
			opts = append(opts, gosdk.Unlisted("once"))
		}
		protect, err := gosdk.Middleware(w.Sealer, opts...)
		require.NoError(t, err)
		m := namesServer(t, w, protect)
		call := func(user string) mrtrtest.Response {
			r, err := m.Do(t.Context(), user, "tools/call", map[string]any{"name": "plain", "arguments": map[string]any{}})
			require.NoError(t, err)
			return r
		}
		assert.Equal(t, unlisted, call("alice").Error == nil)
		assert.Equal(t, !unlisted, strings.Contains(w.Log(), "does not list it to this caller"))
		assert.Nil(t, call("root").Error, "the caller's metadata is in the list request")
		assert.Nil(t, call("alice").Error)
	}
}

// One middleware protects several servers, each with tools of its own.
func TestOneMiddlewareForSeveralServers(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger), gosdk.SingleUse("once"))
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		s := mcp.NewServer(implementation, nil)
		s.AddTool(&mcp.Tool{Name: "plain", InputSchema: anyObject}, tool(w))
		s.AddReceivingMiddleware(protect)
		m := serveMemory(t, s)
		all.Go(func() {
			plain := map[string]any{"name": "plain", "arguments": map[string]any{}}
			r, err := m.Do(t.Context(), "", "tools/call", plain)
			assert.NoError(t, err)
			assert.Equal(t, internal, string(r.Error), "it has no such tool")
			s.AddTool(&mcp.Tool{Name: "once", InputSchema: anyObject}, tool(w))
			r, err = m.Do(t.Context(), "", "tools/call", plain)
			assert.NoError(t, err)
			assert.Nil(t, r.Error)
		})
	}
	all.Wait()
}

// A list that hangs holds up nobody but who waits for it.
func TestAListThatHangs(t *testing.T) {
	w := mrtrtest.NewWorld(t)
	first, release := make(chan struct{}), make(chan struct{})
	var lists atomic.Int32
	handle := protected(t, w, func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/list" {
			return direct(w)(ctx, method, req)
		}
		if lists.Add(1) == 1 {
			close(first)
			<-release
		}
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "once"}}}, nil
	}, gosdk.SingleUse("once"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := handle(t.Context(), "tools/call", request(nil, "", nil))
		assert.NoError(t, err)
	}()
	<-first
	_, err := handle(t.Context(), "tools/call", request(nil, "", nil))
	require.NoError(t, err)
	close(release)
	<-done
}

// request is a tool call with token info, as the HTTP transport makes it.
func request(info *auth.TokenInfo, token string, answers mcp.InputResponseMap) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: "plain", Arguments: anyObject, RequestState: token, InputResponses: answers},
		Extra:  &mcp.RequestExtra{TokenInfo: info},
	}
}

func TestPrincipalOfTheTokenInfo(t *testing.T) {
	info := func(user string, extra map[string]any) *auth.TokenInfo {
		return &auth.TokenInfo{UserID: user, Extra: extra}
	}
	claims := func(iss, sub any) map[string]any { return map[string]any{"iss": iss, "sub": sub} }
	for name, test := range map[string]struct {
		first, retry *auth.TokenInfo
		want         string // the retry's error
	}{
		"same user":              {info("u", nil), info("u", nil), ""},
		"same claims, refreshed": {info("u", claims("i", "s")), info("v", claims("i", "s")), ""},
		"other issuer":           {info("u", claims("i", "s")), info("u", claims("j", "s")), frozen},
		"parts moved":            {info("", claims("ab", "c")), info("", claims("a", "bc")), frozen},
		"claims lost":            {info("u", claims("i", "s")), info("u", nil), frozen},
		"no token info":          {info("u", nil), nil, frozen},
		"anonymous both times":   {nil, nil, ""},
		"names nobody":           {info("u", nil), info("", nil), internal},
		"subject alone":          {info("u", nil), info("", claims("", "s")), internal},
		"claims of other types":  {info("u", claims(1, 2)), info("u", nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			protect, err := gosdk.Middleware(w.Sealer, gosdk.WithLogger(w.Logger))
			require.NoError(t, err)
			handle := protect(direct(w))
			res, err := handle(t.Context(), "tools/call", request(test.first, "", nil))
			require.NoError(t, err)
			token := res.(*mcp.CallToolResult).RequestState
			answers := mcp.InputResponseMap{"confirm": &mcp.ElicitResult{Action: "accept"}}
			res, err = handle(t.Context(), "tools/call", request(test.retry, token, answers))
			if test.want == "" {
				require.NoError(t, err)
				assert.Nil(t, res.(*mcp.CallToolResult).InputRequests)
				return
			}
			assert.JSONEq(t, test.want, wireError(t, err))
			assert.Zero(t, w.Effects.Load())
		})
	}
}

func TestNoPrincipal(t *testing.T) {
	for name, test := range map[string]struct {
		opts []gosdk.Option
		log  string
	}{
		"none":              {nil, "AllowAnonymous"},
		"an empty one":      {[]gosdk.Option{gosdk.WithPrincipal(says("", nil))}, "AllowAnonymous"},
		"an error":          {[]gosdk.Option{gosdk.WithPrincipal(says("u", errors.New("revoked")))}, "revoked"},
		"a library error":   {[]gosdk.Option{gosdk.WithPrincipal(says("u", requeststate.ErrExpired))}, "principal:"},
		"another library's": {[]gosdk.Option{gosdk.WithPrincipal(says("u", requeststate.ErrUnavailable))}, "principal:"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mrtrtest.NewWorld(t)
			strict := w.NewSealer(t, requeststate.WithAudience("mrtrtest"))
			protect, err := gosdk.Middleware(strict, append(test.opts, gosdk.WithLogger(w.Logger))...)
			require.NoError(t, err)
			handle := protect(direct(w))
			_, err = handle(t.Context(), "tools/call", request(nil, "", nil))
			assert.JSONEq(t, internal, wireError(t, err))
			assert.Contains(t, w.Log(), test.log)
		})
	}
	t.Run("with a token", func(t *testing.T) { // nobody's token is good here, so nobody learns anything about one
		w := mrtrtest.NewWorld(t)
		strict := w.NewSealer(t, requeststate.WithAudience("mrtrtest"))
		protect, err := gosdk.Middleware(strict, gosdk.WithLogger(w.Logger))
		require.NoError(t, err)
		handle := protect(direct(w))
		_, err = handle(t.Context(), "tools/call", request(nil, "anything", nil))
		assert.JSONEq(t, frozen, wireError(t, err))
	})
}

func says(who string, err error) func(context.Context, mcp.Request) (string, error) {
	return func(context.Context, mcp.Request) (string, error) { return who, err }
}
