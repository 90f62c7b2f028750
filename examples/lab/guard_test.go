package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesAndHeaders(t *testing.T) {
	c, _ := newClient(t)
	for path, kind := range map[string]string{
		"/": "text/html", "/lab.css": "text/css", "/lab.js": "text/javascript", "/show.js": "text/javascript",
		"/server.js": "text/javascript", "/icon.svg": "image/svg+xml",
	} {
		response, err := http.DefaultClient.Do(c.request(http.MethodGet, path, ""))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, http.StatusOK, response.StatusCode, path)
		assert.Contains(t, response.Header.Get("Content-Type"), kind)
		assert.Equal(t, policy, response.Header.Get("Content-Security-Policy"))
		assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		assert.NotRegexp(t, `(?i)<script>|javascript:|\son\w+=|style=|innerHTML|eval\(`, string(body), path)
		for _, tag := range regexp.MustCompile(`(?s)<(?:script|link|img|iframe)[^>]*>`).FindAllString(string(body), -1) {
			assert.NotContains(t, tag, "//", "%s fetches from elsewhere", path)
		}
	}
	assert.NotContains(t, policy, "unsafe")
}

func TestGuard(t *testing.T) {
	c, _ := newClient(t)
	const body = `{}`
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	localhost := func(r *http.Request) { r.Host = strings.Replace(r.Host, "127.0.0.1", "localhost", 1) }
	for name, tt := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
	}{
		"the page":            {"POST", "/api/session", func(*http.Request) {}, 200},
		"rebound name":        {"POST", "/api/session", func(r *http.Request) { r.Host = "evil.example" }, 421},
		"rebound, reading":    {"GET", "/", func(r *http.Request) { r.Host = "evil.example:8642" }, 421},
		"no origin":           {"POST", "/api/session", func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"foreign origin":      {"POST", "/api/session", header("Origin", "https://evil.example"), 403},
		"null origin":         {"POST", "/api/session", header("Origin", "null"), 403},
		"foreign end":         {"POST", "/api/end", header("Origin", "http://evil.example"), 403},
		"a form's type":       {"POST", "/api/session", header("Content-Type", "text/plain"), 415},
		"no type":             {"POST", "/api/session", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		"GET of an action":    {"GET", "/api/session", func(*http.Request) {}, 404},
		"PUT":                 {"PUT", "/api/session", func(*http.Request) {}, 405},
		"unknown action":      {"POST", "/api/nothing", func(*http.Request) {}, 405},
		"no such file":        {"GET", "/../main.go", func(*http.Request) {}, 404},
		"localhost as a name": {"GET", "/", localhost, 200},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request(tt.method, tt.path, body)
			r.Host = strings.TrimPrefix(c.url, "http://")
			tt.change(r)
			status, text := c.do(r)
			assert.Equal(t, tt.status, status, text)
		})
	}
}

func TestBadInput(t *testing.T) {
	c, _ := newClient(t)
	good := func(change string) string {
		text := `{"session":"SESSION","token":"x","config":{"format":"hmac","without":[],"ttl":300,"state":"s",` +
			`"principal":"alice","method":"tools/call","name":"n","arguments":"{}"}}`
		from, to, _ := strings.Cut(change, " => ")
		return strings.Replace(strings.Replace(text, from, to, 1), "SESSION", c.session, 1)
	}
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		good(""):                            {200, "token"},
		``:                                  {400, "not the JSON that the page sends"},
		`{"session":`:                       {400, "not the JSON that the page sends"},
		`[]`:                                {400, "not the JSON that the page sends"},
		`{"sesion":"x"}`:                    {400, "unknown field"},
		good("") + `{}`:                     {400, "not the JSON that the page sends"},
		`{}`:                                {404, "session is over"},
		good(`SESSION => x`):                {404, "session is over"},
		good(`"hmac" => "rot13"`):           {400, "no format"},
		good(`[] => ["clock"]`):             {400, "no binding"},
		good(`[] => ["ttl,principal"]`):     {400, "no binding"},
		good(`[] => [""]`):                  {400, "no binding"},
		good(`[] => ["audience"]`):          {400, "no switch"},
		good(`300 => 0`):                    {400, "1 to 3600"},
		good(`300 => 99999999999`):          {400, "1 to 3600"},
		good(`"alice" => ""`):               {400, "principal"},
		good(`"{}" => "{"`):                 {400, "not JSON"},
		good(`"{}" => "{\"a\":1,\"a\":2}"`): {400, "request"},
		good(`"s" => "` + strings.Repeat("s", 9000) + `"`):    {400, "state"},
		good(`"x" => "` + strings.Repeat("x", maxBody) + `"`): {413, "too large"},
	} {
		status, text := c.do(c.request(http.MethodPost, "/api/mint", body))
		assert.Equal(t, want.status, status, "%.100s: %s", body, text)
		assert.Contains(t, text, want.text, "%.100s", body)
	}
	status, text := c.do(c.request(http.MethodPost, "/api/present", good("")))
	assert.Equal(t, 400, status)
	assert.Contains(t, text, "who presents")
}

func TestSessionsAreBounded(t *testing.T) {
	c, clock := newClient(t)
	first := c.session
	for range maxSessions + 20 {
		clock.wait(time.Second)
		_, _, err := c.lab.sessions.start()
		require.NoError(t, err)
	}
	c.start()
	assert.Len(t, c.lab.sessions.all, maxSessions)
	assert.Nil(t, c.lab.sessions.get(first), "the one idle longest made room")
	assert.NotNil(t, c.lab.sessions.get(c.session))
}

func TestSessionEnds(t *testing.T) {
	c, clock := newClient(t)
	clock.wait(lease - time.Second)
	c.mint() // renews the lease
	clock.wait(lease - time.Second)
	c.mint()
	clock.wait(lease)
	status, _ := c.do(c.request(http.MethodPost, "/api/mint", `{"session":"`+c.session+`"}`))
	assert.Equal(t, http.StatusNotFound, status, "the lease is over")
	assert.Empty(t, c.lab.sessions.all, "the key is gone")

	c.start()
	c.post("end", map[string]string{"session": c.session})
	assert.Empty(t, c.lab.sessions.all, "the page was closed")
	c.post("end", map[string]string{"session": "unknown"})
}

// An idle page's key goes without a request.
func TestSweepUntil(t *testing.T) {
	c, clock := newClient(t)
	clock.wait(lease)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.lab.sessions.sweepUntil(ctx, time.Millisecond)
	}()
	require.Eventually(t, func() bool {
		c.lab.sessions.mu.Lock()
		defer c.lab.sessions.mu.Unlock()
		return len(c.lab.sessions.all) == 0
	}, time.Minute, time.Millisecond)
	cancel()
	<-done
}

// TestMemoryStaysFlat sends ten thousand requests, sessions among them, and looks at the heap.
func TestMemoryStaysFlat(t *testing.T) {
	c, _ := newClient(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	requests := 10_000
	if testing.Short() {
		requests = 500
	}
	load := func(n int) {
		for i := range n {
			switch i % 4 {
			case 0:
				c.lab.sessions.start()
			case 1:
				c.call("present", map[string]any{"as": map[string]string{
					"principal": "m" + strconv.Itoa(i), "method": "tools/call", "name": "n", "arguments": "{}"}})
			case 2:
				c.call("replay", nil)
			default:
				status, _ := c.do(c.request(http.MethodPost, "/api/mint", `{"session":"unknown"}`))
				require.Equal(t, http.StatusNotFound, status)
			}
			if c.lab.sessions.get(c.session) == nil {
				c.start()
			}
		}
	}
	load(requests / 5) // until the table of sessions is full
	before := heap()
	load(requests)
	after := heap()
	assert.Less(t, after, before+before/2+4<<20, "heap: %d bytes before, %d after %d requests", before, after, requests)
	t.Logf("heap: %d KiB before, %d KiB after %d requests", before>>10, after>>10, requests)
}

func TestServeListensOnLoopbackOnly(t *testing.T) {
	var out bytes.Buffer
	brief, done := context.WithTimeout(t.Context(), 10*time.Second) // should it listen after all
	defer done()
	err := serve(brief, &out, "0.0.0.0:0")
	require.ErrorContains(t, err, "not a loopback address")
	require.Error(t, serve(t.Context(), &out, "127.0.0.1:http-but-wrong"))

	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, writer, "127.0.0.1:0") }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(line[:n]))
	response, err := http.Get(address)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
	cancel()
	require.NoError(t, <-served)
}
