package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser returns a real Chromium with a window of the given width, and the
// address of the book of this tree.
func browser(t *testing.T, width int64) (ctx context.Context, url string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no browser to show the book to (on Debian: apt-get install chromium): ", err)
	}
	server := httptest.NewServer(site(t, top))
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses root otherwise
	}
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx, server.URL + "/"
}

func must(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// evaluate returns what a script says.
func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Every page fits the window of a desk and of a phone, and its scripts run.
func TestPagesFitTheWindow(t *testing.T) {
	b, err := build(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1280, 360} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			ctx, url := browser(t, width)
			for _, p := range b.pages {
				must(t, ctx, chromedp.Navigate(url+p.path))
				if w := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
					t.Errorf("%s is %d pixels wide", p.source, w)
				}
				small := evaluate[[]string](t, ctx, `[...document.querySelectorAll("svg text")]
					.filter(e => e.getBoundingClientRect().height < 9).map(e => e.textContent)`)
				if len(small) > 0 {
					t.Errorf("%s: too small to read: %q", p.source, small)
				}
				cut := evaluate[[]string](t, ctx, `[...document.querySelectorAll("figure.drawing .scroll")]
					.filter(e => e.scrollWidth > e.clientWidth).map(e => e.firstChild.ariaLabel)`)
				if len(cut) > 0 {
					t.Errorf("%s: a figure does not fit, draw it narrower: %q", p.source, cut)
				}
				if !evaluate[bool](t, ctx, `bookIndex.length > 0 && typeof toggleTheme === "function"`) {
					t.Errorf("%s: its scripts have not run", p.source)
				}
			}
		})
	}
}

// press types a key and waits until the script says true. While the browser
// goes from one page to the next, scripts fail.
func press(t *testing.T, ctx context.Context, key, until string) {
	t.Helper()
	must(t, ctx, chromedp.KeyEvent(key))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](until))
		if is && err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after the key %q it is not so: %s (%v)", key, until, err)
		}
	}
}

// at says that the page is name, and that its scripts have run.
func at(name string) string {
	return fmt.Sprintf(`location.pathname.endsWith(%q) && document.readyState === "complete" && typeof toggleTheme === "function"`, path.Base(name))
}

func TestBookIsReadByTheKeyboard(t *testing.T) {
	ctx, url := browser(t, 1280)
	must(t, ctx, chromedp.Navigate(url+"01-listening-socket.html"))

	press(t, ctx, kb.ArrowRight, at("02-readiness.html"))
	press(t, ctx, kb.ArrowLeft, at("01-listening-socket.html"))

	dark := evaluate[bool](t, ctx, `matchMedia("(prefers-color-scheme: dark)").matches`)
	other := map[bool]string{true: "light", false: "dark"}[dark]
	paper := `getComputedStyle(document.body).backgroundColor`
	before := evaluate[string](t, ctx, paper)
	press(t, ctx, "t", fmt.Sprintf(`document.documentElement.dataset.theme === %q && %s !== %q`, other, paper, before))
	press(t, ctx, kb.ArrowRight, at("02-readiness.html"))
	if got := evaluate[string](t, ctx, `document.documentElement.dataset.theme`); got != other {
		t.Errorf("the next page forgot the theme: %q", got)
	}

	press(t, ctx, "o", `[...document.querySelectorAll("details")].every(d => d.open)`)
	press(t, ctx, "o", `[...document.querySelectorAll("details")].every(d => !d.open)`)

	find(t, ctx, "silent wakeup", `results.children.length > 0`)
	if first := evaluate[string](t, ctx, `document.querySelector("#search li a").textContent`); first == "" {
		t.Error("what was found has no name")
	}
	press(t, ctx, kb.Escape, `!dialog.open && document.activeElement !== input`)

	find(t, ctx, "xyzzy nothing", `results.children.length === 0 && hint.textContent === "0 sections"`)
}

// find opens the search and types what to look for.
func find(t *testing.T, ctx context.Context, words, until string) {
	t.Helper()
	// A key may be lost while the browser is busy; a person would press again.
	for tries := 0; !evaluate[bool](t, ctx, `dialog.open && document.activeElement === input`); tries++ {
		if tries == 60 {
			t.Fatal("the key / does not open the search")
		}
		must(t, ctx, chromedp.KeyEvent("/"))
		time.Sleep(500 * time.Millisecond)
	}
	// The browser is told of a key and of its character apart, and so types
	// the slash, which it does not when a person presses it.
	evaluate[string](t, ctx, `input.value = ""`)
	must(t, ctx, chromedp.KeyEvent(words))
	press(t, ctx, " ", until)
}

// On a phone the contents are behind a button.
func TestContentsOpenOnAPhone(t *testing.T) {
	ctx, url := browser(t, 360)
	must(t, ctx, chromedp.Navigate(url+"04-herd.html"))
	const shown = `getComputedStyle(document.querySelector("#contents")).display !== "none"`
	if evaluate[bool](t, ctx, shown) {
		t.Error("the contents are open from the start")
	}
	press(t, ctx, "c", shown+` && document.querySelector("#menu").getAttribute("aria-expanded") === "true"`)
	press(t, ctx, kb.Escape, `!(`+shown+`)`)
}
