package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDriftNamesWhatChanged(t *testing.T) {
	newFixture(t).expect(1, `src/core/lamp.c ngx_lamp_cycle
  moved from 21 to 23 (lamp.go:19)
    +     lamp->log = orders;
  changed from 24 to 25 (lamp.go:22)
    -     if (lamp->broken) {
    +     if (lamp->broken || lamp->missing) {
  vanished from 43 (omitted: nobody counts)
    -             lamp->waits++;
  appeared at 63
    +             lamp->cold = 1;
  appeared at 73
    +     if (lamp->dim) {

nginx 1.0.0 to 2.0.0: 29 the same, 1 changed, 1 moved, 1 vanished, 2 appeared
`, "", "drift", "-to", "testdata/nginx-2")
}

func TestDriftOfNothing(t *testing.T) {
	newFixture(t).expect(0, "nginx 1.0.0 to 1.0.0: 32 the same\n", "", "drift", "-to", "testdata/nginx-1")
}

func TestDriftOfAFunctionThatIsGone(t *testing.T) {
	f := newFixture(t)
	other := filepath.Join(t.TempDir(), "src/core")
	f.mkdir(other)
	f.write(filepath.Join(other, "nginx.h"), read(t, "testdata/nginx-2/src/core/nginx.h"))
	f.write(filepath.Join(other, "lamp.c"), "#define ngx_lamp_toggle(lamp) (lamp)->on = !(lamp)->on; (lamp)->turns++\n")
	f.expect(1, "src/core/lamp.c ngx_lamp_cycle\n  not in 2.0.0\n\nnginx 1.0.0 to 2.0.0: 2 the same\n", "",
		"drift", "-to", filepath.Dir(filepath.Dir(other)))
}

func TestTable(t *testing.T) {
	newFixture(t).expect(0, "| nginx | statements as in 1.0.0 | what differs |\n|---|---|---|\n"+
		"| 1.0.0 | 32 of 32 | nothing |\n"+
		"| 2.0.0 | 29 of 32 | `ngx_lamp_cycle`: 1 changed, 1 moved, 1 vanished, 2 appeared |\n"+
		"| 2.0.0 | 29 of 32 | as in 2.0.0 |\n", "",
		"table", "testdata/nginx-1", "testdata/nginx-2", "testdata/nginx-2")
}

// Repin moves the numbers, tells what a person has to look at, and back again
// nothing is lost but what the other release does not have.
func TestRepin(t *testing.T) {
	f := newFixture(t)
	f.expect(1, "the numbers are now those of nginx 2.0.0\n", `lamp.go:22: C line 24 of nginx 1.0.0 reads differently in 2.0.0, line 25
lamp.go:16: C line 63 of nginx 2.0.0: new in ngx_lamp_cycle
lamp.go:16: C line 73 of nginx 2.0.0: new in ngx_lamp_cycle
`, "repin", "-src", "testdata/nginx-2")
	want := map[string]string{
		"lamp.Log = orders":       "23",
		"lamp.Timer = lamp.Delay": "22",
		"if lamp.Broken {":        "25",
		"case Off, Dark:":         "60",
		"lamp.Bright = bright":    "74",
		"return OK":               "77",
	}
	text := read(t, f.goFile)
	for stmt, number := range want {
		if !regexp.MustCompile(regexp.QuoteMeta(stmt) + ` +// ` + number + `\n`).MatchString(text) {
			t.Errorf("%q has not the number %s", stmt, number)
		}
	}
	if !strings.Contains(text, "//nginx:omit was 43 nobody counts\n") {
		t.Error("the omit of a statement that vanished is not marked")
	}

	f.run("repin", "-src", "testdata/nginx-1")
	wantText := strings.Replace(read(t, "testdata/go/lamp.go"), "//nginx:omit 43", "//nginx:omit was 43", 1)
	if diff := cmp.Diff(wantText, read(t, f.goFile)); diff != "" {
		t.Errorf("back in the first release: -want +got\n%s", diff)
	}
}

func TestRepinToTheSameReleaseChangesNothing(t *testing.T) {
	f := newFixture(t)
	f.expect(0, "the numbers are now those of nginx 1.0.0\n", "", "repin")
	if diff := cmp.Diff(read(t, "testdata/go/lamp.go"), read(t, f.goFile)); diff != "" {
		t.Errorf("the Go file: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(read(t, "testdata/map.txt"), read(t, f.mapFile)); diff != "" {
		t.Errorf("the map: -want +got\n%s", diff)
	}
}

func TestShow(t *testing.T) {
	f := newFixture(t)
	f.expect(0, `     src/core/lamp.c ngx_lamp_toggle                                                   lamp.go
   5 #define ngx_lamp_toggle(lamp)                                                        7 func (lamp *Lamp) Toggle() {
   6     (lamp)->on = !(lamp)->on;                                                        8     lamp.On = !lamp.On
   7     (lamp)->turns++                                                                  9     lamp.Turns++
                                                                                         10 }

`, "", "show", "Toggle")

	_, out, _ := f.run("show", "ngx_lamp_cycle")
	for _, want := range []string{
		"  21     lamp->log = orders;                                                             19     lamp.Log = orders\n",
		"                                                                                       -- omitted: nobody counts\n" +
			"  43             lamp->waits++;\n",
		"                                                                                       -- DIVERGES: the lamp here has a record of its brightness.\n" +
			"                                                                                         54     lamp.Record = append(lamp.Record, bright)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no\n%s\nin\n%s", want, out)
		}
	}
}

// Every statement of both functions is on the sheet, once, and C's in order.
func TestShowLeavesNothingOut(t *testing.T) {
	_, out, _ := newFixture(t).run("show", "ngx_lamp_cycle")
	last := 0
	for _, m := range regexp.MustCompile(`(?m)^ {0,3}(\d+) `).FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n <= last {
			t.Errorf("C line %s comes after line %d", m[1], last)
		}
		last = n
	}
	if last != 75 {
		t.Errorf("the last C line is %d, want 75", last)
	}
	for n, line := range strings.Split(read(t, "testdata/go/lamp.go"), "\n") {
		if n+1 < 16 || !regexp.MustCompile(`// \d`).MatchString(line) {
			continue
		}
		if shown := fmt.Sprintf("  %4d  ", n+1); strings.Count(out, shown) != 1 {
			t.Errorf("Go line %d is shown %d times", n+1, strings.Count(out, shown))
		}
	}
}

func TestServe(t *testing.T) {
	f := newFixture(t)
	var errs bytes.Buffer
	o := &options{src: "testdata/nginx-1", goDir: filepath.Dir(f.goFile), mapFile: f.mapFile, stderr: &errs}
	server := httptest.NewServer(http.HandlerFunc(o.handle))
	defer server.Close()

	get := func(name string) (int, string) {
		t.Helper()
		resp, err := http.Get(server.URL + "/?f=" + url.QueryEscape(name))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, body.String()
	}

	status, list := get("")
	if want := `<a href="/?f=src%2fcore%2flamp.c%20ngx_lamp_cycle">`; status != 200 || !strings.Contains(list, want) {
		t.Errorf("the list: status %d, no %s", status, want)
	}
	status, sheet := get("src/core/lamp.c ngx_lamp_cycle")
	for _, want := range []string{
		`<div class="note">omitted: nobody counts</div>`,
		`data-links="1" tabindex="0" role="button"><div><i>21</i><span>    lamp-&gt;log = orders;</span>`,
		`data-links="1" tabindex="0" role="button"><div><i>19</i><span>    lamp.Log = orders</span>`,
	} {
		if status != 200 || !strings.Contains(sheet, want) {
			t.Errorf("the sheet: status %d, no %s", status, want)
		}
	}
	if status, _ := get("ngx_nothing"); status != 404 {
		t.Errorf("a function that is not mirrored: status %d, want 404", status)
	}
	for _, text := range []string{list, sheet} {
		if strings.Contains(text, "http:") || strings.Contains(text, "https:") || strings.Contains(text, "src=") {
			t.Error("a page asks for something from elsewhere")
		}
	}
	if errs.Len() > 0 {
		t.Error(errs.String())
	}
}

func TestExitStatusAndMessages(t *testing.T) {
	for _, test := range []struct {
		name, args string
		status     int
		want       string
	}{
		{"help", "-h", 0, "usage: srcmap COMMAND"},
		{"help of a command", "drift -h", 0, "usage: srcmap drift -src DIR -to DIR2"},
		{"no command", "", 2, "usage: srcmap COMMAND"},
		{"an unknown command", "prove", 2, `srcmap: no command "prove"; srcmap -h lists them`},
		{"an unknown flag", "check -x", 2, "flag provided but not defined: -x"},
		{"a flag of another command", "check -to x", 2, "flag provided but not defined: -to"},
		{"no source", "check -src=", 2, "srcmap: which nginx source tree? give -src DIR or set NGINX_SRC"},
		{"not a source tree", "check -src testdata", 2, "srcmap: testdata is no nginx source tree (unpack nginx-1.22.1.tar.gz and give its directory)"},
		{"no Go code", "check -src testdata/nginx-1 -go testdata/none", 2, "no such file"},
		{"a broken map", "check -src testdata/nginx-1 -map commands_test.go", 2, "srcmap: commands_test.go:"},
		{"drift to nowhere", "drift -src testdata/nginx-1 -go testdata/go", 2, "srcmap: drift from -src DIR to which tree? give -to DIR"},
		{"show nothing", "show -src testdata/nginx-1 -go testdata/go", 2, "srcmap: which function?"},
		{"show what is not there", "show -src testdata/nginx-1 -go testdata/go nothing", 2, "srcmap: no mirrored function is called nothing; check lists them"},
		{"an address in use", "serve -src testdata/nginx-1 -go testdata/go -addr 127.0.0.1:99999", 2, "(choose another address with -addr)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if status := run(strings.Fields(test.args), &out, &out); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("no %q in\n%s", test.want, out.String())
			}
		})
	}
}
