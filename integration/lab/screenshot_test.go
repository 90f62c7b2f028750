package lab

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var screenshots = flag.String("screenshots", "", "`folder` to put screenshots into")

// TestScreenshots takes pictures for people to look at. It checks one thing itself: nothing sticks out sideways.
func TestScreenshots(t *testing.T) {
	url := startLab(t)
	for _, width := range []int64{360, 768, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				p := openPage(t, url, width, scheme)
				p.click(`[name=single-use]`)
				p.picture(fmt.Sprintf("top-%d-%s.png", width, scheme), false)
				p.click("#replay")
				p.click("#race")
				p.click("#fork")
				p.click("#flip")
				p.click("#attack [type=submit]")
				p.picture(fmt.Sprintf("all-%d-%s.png", width, scheme), true)
				require.Empty(t, p.outside(), "the page is too wide")
				p.quiet()
			})
		}
	}
}

// outside lists what sticks out of the window sideways and is not inside something that scrolls.
func (p *page) outside() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.body.querySelectorAll("*:not(.skip, .unseen)")].filter((e) => {
		for (let a = e.parentElement; a; a = a.parentElement) if (getComputedStyle(a).overflowX === "auto") return false;
		return e.checkVisibility() && e.getBoundingClientRect().right > innerWidth;
	}).map((e) => e.outerHTML.slice(0, 120))`)
}

// TestFrontPicture takes the README's.
func TestFrontPicture(t *testing.T) {
	p := openPage(t, startLab(t), 1440, "light")
	p.do(chromedp.EmulateViewport(1440, 1410))
	p.press("single-use")
	p.click("#replay")
	p.picture("lab.png", false)
	p.quiet()
}

func (p *page) picture(name string, whole bool) {
	p.t.Helper()
	if *screenshots == "" {
		return
	}
	eval[bool](p, `scrollTo(0, 0), true`)
	shot := chromedp.CaptureScreenshot()
	if whole {
		shot = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(p.ctx, shot)
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(*screenshots, name), png, 0o644))
}
