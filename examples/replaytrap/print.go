package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-requeststate/requeststate-go/examples/internal/trap"
	"github.com/mcp-requeststate/requeststate-go/requeststate"
	"github.com/mcp-requeststate/requeststate-go/requeststate/replay"
)

// width is how wide a token is printed, in characters.
const width = 84

// printer writes the parts of the output. The first error of the writer stays in err.
type printer struct {
	out   io.Writer
	c     trap.Config
	key   requeststate.Key
	start time.Time
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// columns prints rows under one another, each column as wide as its widest cell.
func (p *printer) columns(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "  %-*s", widths[i], cell)
		}
		p.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}

// server is a server of its own memory, whose clock the caller moves.
func (p *printer) server(c trap.Config, now *time.Time) (*trap.Server, error) {
	ring, err := requeststate.NewKeyring(p.key)
	if err != nil {
		return nil, err
	}
	clock := func() time.Time { return *now }
	store, err := replay.NewMemory(replay.WithCapacity(128), replay.WithClock(clock))
	if err != nil {
		return nil, err
	}
	return trap.NewServer(c, ring, store, clock, nil)
}

func (p *printer) token(ctx context.Context) error {
	now := p.start
	s, err := p.server(p.c, &now)
	if err != nil {
		return err
	}
	token, err := s.Mint(ctx)
	if err != nil {
		return err
	}
	inside, err := s.Inside(ctx, token)
	if err != nil {
		return err
	}
	name := trap.FormatName(p.c.Format)
	if p.c.Without[trap.Integrity] {
		name = "unprotected, for anybody to rewrite"
	}
	p.printf("A REQUESTSTATE, minted now: %s\n", name)
	p.printf("For %s: %s %s %s\n\n", p.c.Principal, p.c.Method, p.c.Name, p.c.Arguments)
	for line := range slices.Chunk([]byte(token), width) {
		p.printf("  %s\n", line)
	}
	p.printf("\nInside, as the server sees it. A client MUST NOT look.\n\n")
	var rows [][]string
	for _, f := range inside {
		rows = append(rows, []string{f.Name, f.Value})
	}
	p.columns(rows)
	p.printf("\n%s\n\n", p.hidden(s.Readable(token)))
	return nil
}

func (p *printer) hidden(readable []trap.Field) string {
	switch {
	case p.c.Without[trap.Integrity]:
		return "Nothing protects this token: everybody can read it and write another."
	case len(readable) > 0:
		return "A signature hides nothing: whoever holds this token reads the same."
	}
	return "This format is encrypted: without the key none of it can be read."
}

func (p *printer) table(ctx context.Context) error {
	rows, err := trap.Table(ctx, p.c, p.key, p.start)
	if err != nil {
		return err
	}
	p.printf("THE RESIDUAL TABLE, bindings: %s\n", p.bindings())
	p.printf("Each attack was just carried out, with its best move. PASS: the server accepts it.\n\n")
	cells := [][]string{{"Attack", "Result", "Stopped by"}, {"------", "------", "----------"}}
	passed := 0
	for _, r := range rows {
		cells = append(cells, []string{r.Attack, r.Result(), r.StoppedBy()})
		if r.Passed() {
			passed++
		}
	}
	p.columns(cells)
	p.printf("\n%d of %d pass.\n", passed, len(rows))
	if p.c.Without[trap.Integrity] {
		p.printf("Without integrity no other binding means anything: what does not pass verbatim is rewritten.\n")
	}
	if p.c.Without[trap.TTL] {
		p.printf("Without ttl means %.0f hours: the library seals nothing for ever.\n", trap.LongestTTL.Hours())
	}
	p.printf("\n")
	return nil
}

func (p *printer) bindings() string {
	var on []trap.Switch
	for _, s := range trap.Switches {
		if !p.c.Without[s] {
			on = append(on, s)
		}
	}
	list := names(on)
	if list == "" {
		list = "none"
	}
	if off := p.c.Without.String(); off != "" {
		list += "; without: " + strings.ReplaceAll(off, ",", ", ")
	}
	return list
}

// trap replays one untouched token, first on a server that leaves single use out.
func (p *printer) trap(ctx context.Context) error {
	p.printf("THE TRAP: the untouched token, five times\n")
	p.printf("Same principal, same method, same params, before it expires.\n\n%s\n\n", quote)
	if err := p.replay(ctx, true); err != nil {
		return err
	}
	p.printf("\nTHE SAME WITH SINGLE USE\n")
	p.printf("One option more, and a store that remembers what was spent.\n\n")
	if err := p.replay(ctx, false); err != nil {
		return err
	}
	return p.race(ctx)
}

// quote is the specification's warning, in two lines.
var quote = `  "` + strings.Replace(trap.Warning, "reuse, but", "reuse,\n  but", 1) + "\"\n  " + trap.WarningSource

// with is the configuration with single use left out, or not.
func (p *printer) with(withoutSingleUse bool) trap.Config {
	c := p.c
	c.Without = maps.Clone(c.Without)
	c.Without[trap.SingleUse] = withoutSingleUse
	return c
}

func (p *printer) replay(ctx context.Context, withoutSingleUse bool) error {
	now := p.start
	s, err := p.server(p.with(withoutSingleUse), &now)
	if err != nil {
		return err
	}
	token, err := s.Mint(ctx)
	if err != nil {
		return err
	}
	head := []string{"#", "time"}
	for _, name := range trap.Switches {
		head = append(head, string(name))
	}
	cells := [][]string{append(head, "verdict")}
	for i := range 5 {
		now = now.Add(10 * time.Second)
		r := s.Present(ctx, s.Config, token)
		cells = append(cells, presentation(i+1, r))
	}
	p.columns(cells)
	return nil
}

func presentation(n int, r trap.Presentation) []string {
	row := []string{fmt.Sprint(n), r.At.Format(time.TimeOnly)}
	for _, check := range r.Checks {
		row = append(row, check.Verdict)
	}
	if r.Passed() {
		return append(row, fmt.Sprintf("PASS, %v left", r.Left))
	}
	_, reason := trap.StoppedBy(r.Err)
	return append(row, "refused: "+reason)
}

func (p *printer) race(ctx context.Context) error {
	now := p.start
	s, err := p.server(p.with(false), &now)
	if err != nil {
		return err
	}
	token, err := s.Mint(ctx)
	if err != nil {
		return err
	}
	const n = 64
	accepted, refused := s.AtOnce(ctx, n, token)
	reasons := map[string]bool{}
	for _, err := range refused {
		_, reason := trap.StoppedBy(err)
		reasons[reason] = true
	}
	p.printf("\n%d AT ONCE, one token: %d success, %d refused: %s\n",
		n, accepted, len(refused), strings.Join(slices.Sorted(maps.Keys(reasons)), ", "))
	return nil
}
