package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
)

func (l *lab) server(ses *session, c trap.Config, log *slog.Logger) (*trap.Server, error) {
	return trap.NewServer(c, ses.ring, ses.store, l.now, log)
}

func (l *lab) start(w http.ResponseWriter, r *http.Request) {
	if err := read(r.Body, &struct{}{}); err != nil {
		failWith(w, err)
		return
	}
	name, ses, err := l.sessions.start()
	if err != nil {
		failWith(w, err)
		return
	}
	c := trap.Default()
	v, err := l.view(r.Context(), ses, c)
	if err != nil {
		failWith(w, err)
		return
	}
	write(w, http.StatusOK, map[string]any{
		"session": name,
		"lease":   int(lease.Minutes()),
		"view":    v,
		"config": config{
			Format: c.Format, Without: []trap.Switch{}, TTL: int(c.TTL / time.Second), State: string(c.State),
			who: who{c.Principal, c.Method, c.Name, string(c.Arguments)},
		},
	})
}

func (l *lab) end(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Session string `json:"session"`
	}
	if err := read(r.Body, &in); err != nil {
		failWith(w, err)
		return
	}
	l.sessions.end(in.Session)
	write(w, http.StatusOK, struct{}{})
}

func (l *lab) mint(r *http.Request, ses *session, c trap.Config, _ *input) (any, error) {
	return l.view(r.Context(), ses, c)
}

// verdict is one presentation of a token.
type verdict struct {
	Time   string       `json:"time"`
	Checks []trap.Check `json:"checks"`
	Passed bool         `json:"passed"`
	Reason string       `json:"reason"`
	Left   int          `json:"left"` // seconds
}

func newVerdict(p trap.Presentation) verdict {
	return verdict{
		Time: p.At.Format("15:04:05.000"), Checks: p.Checks, Passed: p.Passed(), Reason: reason(p.Err),
		Left: int(p.Left / time.Second),
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	if _, why := trap.StoppedBy(err); why != "" {
		return why
	}
	return err.Error() // undecided: the session's store is full
}

func (l *lab) replay(r *http.Request, ses *session, c trap.Config, in *input) (any, error) {
	s, err := l.server(ses, c, nil)
	if err != nil {
		return nil, err
	}
	verdicts := []verdict{}
	for range 5 {
		verdicts = append(verdicts, newVerdict(s.Present(r.Context(), c, in.Token)))
	}
	return verdicts, nil
}

func (l *lab) race(r *http.Request, ses *session, c trap.Config, in *input) (any, error) {
	s, err := l.server(ses, c, nil)
	if err != nil {
		return nil, err
	}
	const n = 50
	accepted, refused := s.AtOnce(r.Context(), n, in.Token)
	reasons := map[string]bool{}
	for _, err := range refused {
		reasons[reason(err)] = true
	}
	return map[string]any{
		"accepted": accepted, "refused": len(refused), "reasons": strings.Join(slices.Sorted(maps.Keys(reasons)), ", "),
	}, nil
}

type step struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
	Effect bool   `json:"effect"`
}

func (l *lab) fork(r *http.Request, ses *session, c trap.Config, _ *input) (any, error) {
	type play func(context.Context, trap.Config, requeststate.Key, time.Time) ([]trap.Step, error)
	answer := map[string][]step{}
	for _, p := range []struct {
		name    string
		without bool // single use
		play    play
	}{{"without", true, trap.Fork}, {"with", false, trap.Fork}, {"flows", false, fiveFlows}} {
		c.Without = maps.Clone(c.Without)
		c.Without[trap.SingleUse] = p.without
		steps, err := p.play(r.Context(), c, ses.ring.First(), l.now())
		if err != nil {
			return nil, problem{http.StatusBadRequest, err.Error()}
		}
		for _, s := range steps {
			answer[p.name] = append(answer[p.name], step{s.What, s.Err == nil, reason(s.Err), s.Effect})
		}
	}
	return answer, nil
}

func fiveFlows(ctx context.Context, c trap.Config, key requeststate.Key, now time.Time) ([]trap.Step, error) {
	return trap.Flows(ctx, c, key, now, 5)
}

// rotate replaces the session's key and presents the last token once more.
func (l *lab) rotate(r *http.Request, ses *session, c trap.Config, in *input) (any, error) {
	key, err := requeststate.GenerateKey()
	if err != nil {
		return nil, err
	}
	if err := ses.ring.Rotate(key); err != nil {
		return nil, err
	}
	s, err := l.server(ses, c, nil)
	if err != nil {
		return nil, err
	}
	last := newVerdict(s.Present(r.Context(), c, in.Token))
	v, err := l.view(r.Context(), ses, c)
	return map[string]any{"last": last, "view": v}, err
}

// present gives the server whatever the user made of the token, and shows both sides of the answer.
func (l *lab) present(r *http.Request, ses *session, c trap.Config, in *input) (any, error) {
	if in.As == nil {
		return nil, problem{http.StatusBadRequest, "who presents the token?"}
	}
	as := in.As.in(c)
	if err := as.Check(); err != nil {
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	var log bytes.Buffer
	s, err := l.server(ses, c, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		return nil, err
	}
	p := s.Present(r.Context(), as, in.Token)
	return map[string]any{"verdict": newVerdict(p), "log": strings.TrimSpace(log.String()), "answer": answer(p.Err)}, nil
}

// rpcAnswer is the JSON-RPC object that the client gets.
type rpcAnswer struct {
	JSONRPC string    `json:"jsonrpc"`
	ID      int       `json:"id"`
	Error   *rpcError `json:"error,omitempty"`
	Result  any       `json:"result,omitempty"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func answer(err error) rpcAnswer {
	a := rpcAnswer{JSONRPC: "2.0", ID: 2}
	if err == nil {
		a.Result = map[string]any{"resultType": "complete", "content": []any{}}
		return a
	}
	code, message, data := requeststate.RPCError(err)
	a.Error = &rpcError{code, message, data}
	return a
}
