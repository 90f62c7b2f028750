package main

import (
	"context"
	"net/http"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
)

// view is the page after a change: a token minted now and what follows from the configuration.
type view struct {
	Token    string       `json:"token"`
	Inside   []field      `json:"inside"`
	Readable []field      `json:"readable"` // without the key; empty if the format hides it
	Table    []row        `json:"table"`
	Formats  []comparison `json:"formats"`
	Snippet  string       `json:"snippet"`
}

type field [2]string // name, value

type row struct {
	ID        string `json:"id"`
	Attack    string `json:"attack"`
	Result    string `json:"result"`
	StoppedBy string `json:"stoppedBy"`
	Passed    bool   `json:"passed"`
}

// comparison is another format's table, computed in the same moment and compared row by row.
type comparison struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Different int    `json:"different"` // rows that are not the chosen format's
}

func (l *lab) view(ctx context.Context, ses *session, c trap.Config) (*view, error) {
	s, err := l.server(ses, c, nil)
	if err != nil {
		return nil, err
	}
	token, err := s.Mint(ctx)
	if err != nil { // arguments that are JSON but have no digest, such as a member name twice
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	inside, err := s.Inside(ctx, token)
	if err != nil {
		return nil, err
	}
	v := &view{Token: token, Inside: fields(inside), Readable: fields(s.Readable(token)), Formats: []comparison{}}
	if v.Snippet, err = snippet(c); err != nil {
		return nil, err
	}
	if v.Table, err = l.table(ctx, ses, c); err != nil {
		return nil, err
	}
	for _, id := range trap.Formats() {
		other := c
		other.Format = id
		table, err := l.table(ctx, ses, other)
		if err != nil {
			return nil, err
		}
		v.Formats = append(v.Formats, comparison{id, trap.FormatName(id), different(table, v.Table)})
	}
	return v, nil
}

func fields(list []trap.Field) []field {
	out := []field{}
	for _, f := range list {
		out = append(out, field{f.Name, f.Value})
	}
	return out
}

func (l *lab) table(ctx context.Context, ses *session, c trap.Config) ([]row, error) {
	rows, err := trap.Table(ctx, c, ses.ring.First(), l.now())
	if err != nil {
		return nil, err
	}
	var out []row
	for _, r := range rows {
		out = append(out, row{r.ID, r.Attack, r.Result(), r.StoppedBy(), r.Passed()})
	}
	return out, nil
}

func different(a, b []row) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
