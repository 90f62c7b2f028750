package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
)

//go:embed static
var static embed.FS

// lab is the server behind the page.
type lab struct {
	sessions *sessions
	now      func() time.Time
}

func newLab(now func() time.Time) *lab {
	return &lab{sessions: newSessions(now), now: now}
}

// handler serves the page under the given names of the host.
func (l *lab) handler(hosts []string) http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // unreachable: the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("POST /api/session", l.start)
	mux.HandleFunc("POST /api/end", l.end)
	for name, f := range map[string]action{
		"mint": l.mint, "replay": l.replay, "race": l.race, "fork": l.fork, "rotate": l.rotate, "present": l.present,
	} {
		mux.HandleFunc("POST /api/"+name, l.act(f))
	}
	return guard(hosts, mux)
}

// input is what the page sends. Every action reads the same form; what it does not need is ignored.
type input struct {
	Session string `json:"session"`
	Config  config `json:"config"`
	Token   string `json:"token"`
	As      *who   `json:"as"`
}

// config is trap.Config as the page has it: Without by name, Arguments and State as typed, TTL in seconds.
type config struct {
	Format  string        `json:"format"`
	Without []trap.Switch `json:"without"`
	TTL     int           `json:"ttl"`
	State   string        `json:"state"`
	who
}

// who is a caller and a request.
type who struct {
	Principal string `json:"principal"`
	Method    string `json:"method"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (w who) in(c trap.Config) trap.Config {
	c.Principal, c.Method, c.Name, c.Arguments = w.Principal, w.Method, w.Name, json.RawMessage(w.Arguments)
	return c
}

// trap returns c as the computation wants it, and says what is wrong with it.
func (c config) trap() (trap.Config, error) {
	t := c.in(trap.Default())
	t.Format, t.State, t.Without = c.Format, []byte(c.State), trap.Set{}
	if c.TTL < 1 || c.TTL > 3600 { // before it is multiplied
		return t, errors.New("the TTL must be 1 to 3600 seconds")
	}
	t.TTL = time.Duration(c.TTL) * time.Second
	for _, name := range c.Without {
		if name == trap.Audience {
			return t, errors.New("the lab has no switch for the audience")
		}
		if !slices.Contains(trap.Switches, name) {
			return t, fmt.Errorf("no binding is called %q; there are %v", name, trap.Switches)
		}
		t.Without[name] = true
	}
	return t, t.Check()
}

// problem is an error that the user of the page can do something about.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

// An action computes one answer for a session.
type action func(r *http.Request, ses *session, c trap.Config, in *input) (any, error)

// act wraps an action in reading the input and writing the answer.
func (l *lab) act(f action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in input
		if err := read(r.Body, &in); err != nil {
			failWith(w, err)
			return
		}
		ses := l.sessions.get(in.Session)
		if ses == nil {
			fail(w, http.StatusNotFound, "this session is over and its key is gone; reload the page for a new one")
			return
		}
		c, err := in.Config.trap()
		if err != nil {
			failWith(w, problem{http.StatusBadRequest, err.Error()})
			return
		}
		answer, err := f(r, ses, c, &in)
		if err != nil {
			failWith(w, err)
			return
		}
		write(w, http.StatusOK, answer)
	}
}

// read decodes one JSON value and nothing behind it.
func read(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		if err == nil {
			err = errors.New("text behind the JSON")
		}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return problem{http.StatusRequestEntityTooLarge, "the request is too large"}
	}
	return problem{http.StatusBadRequest, "the request is not the JSON that the page sends: " + err.Error()}
}

func write(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // the page never puts any of it into HTML
	if err := e.Encode(v); err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":"the answer has no JSON form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone
}

func fail(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func failWith(w http.ResponseWriter, err error) {
	var p problem
	if errors.As(err, &p) {
		fail(w, p.status, p.text)
		return
	}
	fail(w, http.StatusInternalServerError, "the lab made a mistake: "+err.Error())
}
