package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is the browser of all tests: each has a tab of its own. The error
// says why there is none.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("%w (on Debian: apt-get install chromium)", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses root otherwise
	}
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	closeBrowser = cancel
	return ctx, nil
})

var closeBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// browser returns a context whose page is r's in a real Chromium, in a window
// of the given width, and a function that returns what stood on its console.
func browser(t *testing.T, r *Results, width int64) (context.Context, func() []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("shows the report to a browser")
	}
	parent, err := chromium()
	if err != nil {
		t.Skip("no browser to show the report to: ", err)
	}
	if err := chromedp.Do(parent); err != nil { // the first starts it
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(written(t, r)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	messages := chromedp.Console(ctx)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return ctx, func() (list []string) {
		const last = "that is all"
		if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](`console.log("`+last+`")`)); err != nil {
			t.Fatal(err)
		}
		for m, err := range messages {
			if err != nil {
				t.Fatal(err)
			}
			if m.Text == last {
				break
			}
			list = append(list, m.String())
		}
		return list
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

// middle returns where the middle of an element is, once it is in view.
func middle(t *testing.T, ctx context.Context, selector string) (x, y float64) {
	t.Helper()
	p, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(`(async () => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center", behavior: "instant"});
		const frame = () => new Promise(requestAnimationFrame);
		await frame(); // the scrolling is told before the next but one
		await frame();
		const b = e.getBoundingClientRect();
		return [b.x + b.width / 2, b.y + b.height / 2];
	})()`, selector), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", selector, err)
	}
	return p[0], p[1]
}

func hover(t *testing.T, ctx context.Context, x, y float64) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.MouseEvent("mouseMoved", x, y)); err != nil {
		t.Fatal(err)
	}
}

const tipText = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`

// The page is drawn, at the width of a desk and of a phone: nothing sticks out
// of the window or has no size, and the console is silent.
func TestPageIsDrawn(t *testing.T) {
	for kind, r := range map[string]*Results{"default": sample(), "sweep": sampleSweep()} {
		for _, width := range []int64{1280, 360} {
			t.Run(fmt.Sprintf("%s/%d", kind, width), func(t *testing.T) {
				ctx, console := browser(t, r, width)
				if w := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); w > width {
					t.Errorf("the page is %d pixels wide in a window of %d", w, width)
				}
				flat := evaluate[[]string](t, ctx, `[...document.querySelectorAll("figure svg, .view svg, table")]
					.filter(e => !e.closest("details") && (e.getBoundingClientRect().width < 100 || e.getBoundingClientRect().height < 20))
					.map(e => e.getAttribute("aria-label") || e.textContent)`)
				if len(flat) > 0 {
					t.Errorf("these have no size: %q", flat)
				}
				small := evaluate[[]string](t, ctx, `[...document.querySelectorAll("svg text")]
					.filter(e => e.getBoundingClientRect().height < 8).map(e => e.textContent)`)
				if len(small) > 0 {
					t.Errorf("too small to read: %q", small)
				}
				if said := console(); said != nil {
					t.Errorf("on the console: %q", said)
				}
			})
		}
	}
}

func TestHoverNamesTheFigureAndItsRow(t *testing.T) {
	r := sample()
	row := rowOf(r, "none", 100)
	ctx, console := browser(t, r, 1280)
	x, y := middle(t, ctx, fmt.Sprintf(`#rates .panels [data-row="%s"]`, row))
	hover(t, ctx, x, y)
	if got, want := evaluate[string](t, ctx, tipText), "none, 8 workers, 100/s: 800.0 wakeups per second "+row; got != want {
		t.Errorf("the tip says %q, want %q", got, want)
	}
	hover(t, ctx, 2, 2)
	if got := evaluate[string](t, ctx, tipText); got != "" {
		t.Errorf("the tip stays: %q", got)
	}
	if said := console(); said != nil {
		t.Errorf("on the console: %q", said)
	}
}

func TestPathOpensTheRow(t *testing.T) {
	r := sample()
	row := rowOf(r, "accept-mutex", 1)
	ctx, _ := browser(t, r, 1280)
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(fmt.Sprintf(`#runs [data-path="%s"]`, row))), chromedp.WaitVisible(chromedp.CSS("#row"))); err != nil {
		t.Fatal(err)
	}
	got := evaluate[string](t, ctx, `document.querySelector("#row").innerText`)
	if !strings.Contains(got, row) || !strings.Contains(got, `"fix": "accept-mutex"`) {
		t.Errorf("the row says\n%s", got)
	}
}

// A timeline zooms by button, wheel and key, about what is in its middle or
// under the pointer, moves, and says what a worker does.
func TestTimelineZooms(t *testing.T) {
	ctx, console := browser(t, sample(), 1280)
	const box = `document.querySelector(".view svg").getAttribute("viewBox")`
	expect := func(step, want string) {
		t.Helper()
		if got := evaluate[string](t, ctx, box); got != want {
			t.Errorf("%s: the view is %s, want %s", step, got, want)
		}
	}
	do := func(a chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first", "0 0 40000 36")
	do(chromedp.Click(chromedp.CSS(`[data-zoom="2"]`)))
	expect("button", "10000 0 20000 36")
	do(chromedp.Focus(chromedp.CSS(".view")))
	do(chromedp.KeyEvent("+"))
	expect("key +", "15000 0 10000 36")
	do(chromedp.KeyEvent(kb.ArrowRight))
	expect("arrow", "17000 0 10000 36")
	do(chromedp.Click(chromedp.CSS(`[data-zoom="0"]`)))
	expect("all", "0 0 40000 36")

	x, y := middle(t, ctx, ".view svg")
	wheel := func() {
		t.Helper()
		do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(".view").dispatchEvent(
		new WheelEvent("wheel", {deltaY: -100, clientX: %g, clientY: %g, cancelable: true}))`, x, y)))
	}
	wheel()
	expect("wheel, scrolling by", "0 0 40000 36")
	do(chromedp.Focus(chromedp.CSS(".view")))
	wheel()
	if width := evaluate[float64](t, ctx, `document.querySelector(".view svg").viewBox.baseVal.width`); width >= 40000 {
		t.Errorf("the wheel does not zoom: %g us", width)
	}
	do(chromedp.Click(chromedp.CSS(`[data-zoom="0"]`)))

	// 20.01 ms of 40: the middle, in the lower of two lanes.
	x, y = middle(t, ctx, ".view svg")
	hover(t, ctx, x, y+9)
	want := "worker 1: woken by its timeout, 20 µs from 20.000 ms timeline[0].lanes[1].spans[0]"
	if got := evaluate[string](t, ctx, tipText); got != want {
		t.Errorf("the tip says %q, want %q", got, want)
	}
	hover(t, ctx, x, y-9)
	if got := evaluate[string](t, ctx, tipText); !strings.HasPrefix(got, "worker 0: asleep at 20.") {
		t.Errorf("the tip says %q", got)
	}
	if said := console(); said != nil {
		t.Errorf("on the console: %q", said)
	}
}

// The page follows the reader's choice of light or dark, and prints its
// tables.
func TestDarkAndPrint(t *testing.T) {
	ctx, _ := browser(t, sample(), 1280)
	const back = `getComputedStyle(document.body).backgroundColor`
	if got := evaluate[string](t, ctx, back); got != "rgb(255, 255, 255)" {
		t.Errorf("light: %s", got)
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := evaluate[string](t, ctx, back); got != "rgb(21, 23, 27)" {
		t.Errorf("dark: %s", got)
	}
	open := func(event string) int64 {
		return evaluate[int64](t, ctx, `dispatchEvent(new Event("`+event+`")), document.querySelectorAll("details[open]").length`)
	}
	if before, after := open("beforeprint"), open("afterprint"); before != 6 || after != 0 {
		t.Errorf("%d tables are open for printing and %d after it, want 6 and 0", before, after)
	}
}
