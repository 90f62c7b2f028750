package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client is the page's side, without a browser.
type client struct {
	t   *testing.T
	lab *lab
	url string

	session string
	config  map[string]any
	token   string
}

// testClock is a clock that the test moves.
type testClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *testClock) wait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newClient(t *testing.T) (*client, *testClock) {
	t.Helper()
	clock := &testClock{t: time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC)}
	l := newLab(clock.now)
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = l.handler(hosts(server.Listener.Addr()))
	server.Start()
	t.Cleanup(server.Close)
	c := &client{t: t, lab: l, url: server.URL}
	c.start()
	return c, clock
}

// start begins a session, as opening the page does.
func (c *client) start() {
	c.t.Helper()
	var answer struct {
		Session string
		Config  map[string]any
		View    struct{ Token string }
	}
	c.decode(c.post("session", struct{}{}), &answer)
	c.session, c.config, c.token = answer.Session, answer.Config, answer.View.Token
}

func (c *client) request(method, path, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if method == http.MethodPost {
		r.Header.Set("Origin", c.url)
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do returns the status and the body.
func (c *client) do(r *http.Request) (int, string) {
	c.t.Helper()
	response, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return response.StatusCode, string(body)
}

// post asks the server and expects an answer.
func (c *client) post(path string, v any) string {
	c.t.Helper()
	var body bytes.Buffer
	require.NoError(c.t, json.NewEncoder(&body).Encode(v))
	status, answer := c.do(c.request(http.MethodPost, "/api/"+path, body.String()))
	require.Equal(c.t, http.StatusOK, status, answer)
	return answer
}

// call is post with the session, the configuration and the token.
func (c *client) call(path string, more map[string]any) string {
	c.t.Helper()
	return c.post(path, c.input(more))
}

func (c *client) input(more map[string]any) map[string]any {
	in := map[string]any{"session": c.session, "config": c.config, "token": c.token}
	for name, v := range more {
		in[name] = v
	}
	return in
}

// mint gets a new token under the configuration.
func (c *client) mint() *view {
	c.t.Helper()
	var v view
	c.decode(c.call("mint", nil), &v)
	c.token = v.Token
	return &v
}

func (c *client) without(names ...string) {
	c.config["without"] = append([]string{}, names...)
}

func (c *client) decode(text string, v any) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(text), v), text)
}
