package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func site(t *testing.T, root string) files {
	t.Helper()
	b, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.files()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPageShowsWhatItPulls(t *testing.T) {
	page := string(site(t, fixture(t))["01-lamp.html"])
	for _, want := range []string{
		`<blockquote class="question"><p>Is it on?</p>`,
		`<blockquote class="claim"><p><strong>Claim.</strong>`,
		// The twin: where it is, and C's lines before Go's.
		`<a href="https://github.com/nginx/nginx/blob/release-1.0/src/core/lamp.c#L12-L16">src/core/lamp.c</a>, <code>ngx_lamp_switch</code>, lines 12-16 of nginx 1.0`,
		`<a href="source/nginxref/lamp/lamp.go.html#L12">nginxref/lamp/lamp.go</a>, <code>Lamp.Switch</code>`,
		`src/core/lamp.c#L12-L14">src/core/lamp.c</a>, <code>ngx_lamp_switch</code>, lines 12-14 of nginx 1.0`,
		`<span class="n">12</span>`,
		`<span class="n"></span>`,
		`aria-label="A wire and a lamp."`,
		// The topology, without the sentence above it.
		"<code>t0\n |\nl0</code>",
		`<span class="w">&#39;^TestLampIsSwitched$&#39;</span>`,
		"<code>the lamp is on</code>",
		`<th>wakeups per connection</th>`,
		"<th>20/s, 8\u00a0workers</th><td>8.01</td><td>3 1 6</td>",
		`<a href="runs/lamp.json.html" class="number" title="go run ./tools/lamp -json">8.01</a>`,
		`<a href="labs/lab01-lamp.html"><code>lab01-lamp</code></a>`,
		`<summary>Is <code>Lamp</code> on?</summary>`,
		`<code>lab02-more</code>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, "// 12") {
		t.Error("the gutter is still at the end of the lines")
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestPagesAreInOrder(t *testing.T) {
	all := site(t, fixture(t))
	for page, want := range map[string][]string{
		"index.html":           {`rel="next" href="01-lamp.html"`},
		"01-lamp.html":         {`rel="prev" href="index.html"`, `rel="next" href="labs/lab01-lamp.html"`, `<a href="01-lamp.html" aria-current="page">1. The lamp</a>`},
		"labs/lab01-lamp.html": {`rel="prev" href="../01-lamp.html"`, `href="../style.css"`},
	} {
		for _, text := range want {
			if !strings.Contains(string(all[page]), text) {
				t.Errorf("%s: no %s", page, text)
			}
		}
	}
}

func TestSearchKnowsEverySection(t *testing.T) {
	text := strings.TrimPrefix(string(site(t, fixture(t))["search-index.js"]), "const bookIndex = ")
	var all []entry
	if err := json.Unmarshal([]byte(strings.TrimSuffix(text, ";\n")), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range all {
		found[e.Path] = e.Text
	}
	for path, want := range map[string]string{
		"01-lamp.html":                "Is it on?",
		"01-lamp.html#the-switch":     "ngx_lamp_switch",
		"01-lamp.html#check-yourself": "Is `Lamp` on?",
		"labs/lab01-lamp.html":        "go test ./nginxref/lamp",
	} {
		if !strings.Contains(found[path], want) {
			t.Errorf("%s: %q has no %q", path, found[path], want)
		}
	}
}

func TestSiteIsWrittenOnlyWithoutProblems(t *testing.T) {
	root, dir := fixture(t), t.TempDir()
	if err := do(root, dir, "", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "labs/lab01-lamp.html", "runs/lamp.txt.html", "source/nginxref/lamp/lamp.go.html", "style.css"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	change(t, root, lamp, "> Is it on?", "")
	dir = filepath.Join(dir, "new")
	if err := do(root, dir, "", nil); err == nil || err.Error() != "the book has 1 problems" {
		t.Errorf("a book with a problem: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was written all the same")
	}
}

func TestServeIsForThisMachineOnly(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:8080": true, "[::1]:0": true, "127.9.9.9:1": true,
		"0.0.0.0:0": false, ":8080": false, "192.0.2.1:80": false, "example.org:80": false, "8080": false, "[::]:0": false,
	} {
		if err := loopback(addr); (err == nil) != ok {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// What would only show in the browser is said at once.
func TestServeSaysWhatIsInTheWay(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct{ root, want string }{
		{t.TempDir(), "run this at the top of the tree"},
		{fixture(t), "port 0 takes a free one"},
	} {
		if err := serveSite(c.root, ln.Addr().String()); !strings.Contains(err.Error(), c.want) {
			t.Errorf("serve: %v, want %q in it", err, c.want)
		}
	}
}

// A page that is asked for shows the tree as it is then, and its problems.
func TestServedPageIsBuiltAnew(t *testing.T) {
	root := fixture(t)
	h := &live{root: root}
	get := func(path string) (int, string, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Header().Get("Content-Type"), w.Body.String()
	}
	for path, kind := range map[string]string{"/": "text/html", "/style.css": "text/css", "/search-index.js": "text/javascript"} {
		if code, got, _ := get(path); code != http.StatusOK || !strings.HasPrefix(got, kind) {
			t.Errorf("%s: %d %s", path, code, got)
		}
	}
	if code, _, _ := get("/../lamp.go"); code != http.StatusNotFound {
		t.Errorf("what is not in the site: %d", code)
	}
	change(t, root, lamp, "> Is it on?", "> Is it off.")
	if _, _, body := get("/01-lamp.html"); !strings.Contains(body, "Is it off.") || !strings.Contains(body, "the chapter has no question") {
		t.Error("the page is the old one, or hides its problem")
	}
}

func TestWrongUsageIsToldApart(t *testing.T) {
	for _, c := range []struct {
		out, serve string
		args       []string
	}{
		{"", "", nil}, {"x", "127.0.0.1:0", nil}, {"x", "", []string{"check"}}, {"", "", []string{"chek"}},
		{"", "", []string{"check", "more"}}, {"", "", []string{"record", "a", "b", "c"}},
	} {
		if err := do(".", c.out, c.serve, c.args); err != errUsage {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
