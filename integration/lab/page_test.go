package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// page is the lab in a browser's tab.
type page struct {
	t   *testing.T
	ctx context.Context
	url string

	mu         sync.Mutex
	complaints []string // what the browser's console had to say
}

// openPage starts a browser and opens the lab in it, width pixels wide.
func openPage(t *testing.T, url string, width int64, scheme string) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, // the tests run as root in containers, and open nothing but the lab
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	p := &page{t: t, url: url}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser is gone, whose files are in t.TempDir
		cancel()
		stop()
	})
	p.do(chromedp.EmulateViewport(width, 900))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	require.NoError(t, err)
	p.load()
	return p
}

func (p *page) listen(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown, *log.EventEntryAdded:
		complaint = fmt.Sprint(toJSON(e))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			complaint = toJSON(e)
		}
	}
	if complaint != "" {
		p.mu.Lock()
		p.complaints = append(p.complaints, complaint)
		p.mu.Unlock()
	}
}

// toJSON is v as JSON, which is JavaScript as well.
func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// load opens the page anew, which is a new session.
func (p *page) load() {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url))
	p.wait(`document.documentElement.dataset.ready !== undefined`)
}

// do gives each step a minute: the machine may be slow, but not endlessly so.
func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// eval returns what a JavaScript expression gives.
func eval[T any](p *page, script string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, script)
	return v
}

// wait polls until a JavaScript condition holds. It does so from here: chromedp's own polling needs eval inside the
// page, which the Content-Security-Policy forbids.
func (p *page) wait(condition string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		v, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](condition))
		return err == nil && v
	}, time.Minute, 5*time.Millisecond, condition)
}

// click clicks like a user and waits for the answer.
func (p *page) click(selector string) {
	p.t.Helper()
	p.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
	p.idle()
}

// idle waits until no question to the server is open, nor about to be asked.
func (p *page) idle() {
	p.t.Helper()
	p.wait(`!document.body.hasAttribute("aria-busy")`)
}

func (p *page) text(selector string) string {
	p.t.Helper()
	return strings.TrimSpace(eval[string](p, `document.querySelector(`+toJSON(selector)+`).innerText`))
}

// quiet fails if the browser complained about anything, such as the Content-Security-Policy.
func (p *page) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.complaints, "the browser's console")
}
