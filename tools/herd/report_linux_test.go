package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// carried returns the data in a report.
func carried(t *testing.T, path string) *report.Results {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), `<script type="application/json" id="data">`)
	text, _, _ = strings.Cut(text, "</script>")
	res := &report.Results{}
	if err := json.Unmarshal([]byte(text), res); err != nil {
		t.Fatal(err)
	}
	return res
}

// The report has more than the table: the fix over the number of workers and
// over the rate, and what each worker did when, or why not.
func TestReportHasWhatItsPlotsShow(t *testing.T) {
	dir := t.TempDir()
	cmd, _, stderr := tool("-fix", "none", "-workers", "3", "-report", "r.html")
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	path := filepath.Join(dir, "r.html")
	if !strings.Contains(stderr.String(), "The report is in file://"+path+"\n") {
		t.Errorf("it does not say where the report is:\n%s", stderr)
	}
	res := carried(t, path)
	if len(res.Runs) != 3 || len(res.Scaling) != len(scalingWorkers) || len(res.Rates) != len(rateLoads) {
		t.Errorf("%d runs, %d over the workers, %d over the rate", len(res.Runs), len(res.Scaling), len(res.Rates))
	}
	if measure.WitnessMissing() != nil {
		if res.TimelineMissing == "" || res.Timeline != nil {
			t.Errorf("no timeline can be had, but it says %q", res.TimelineMissing)
		}
	} else if len(res.Timeline) != 1 || len(res.Timeline[0].Lanes) != 3 {
		t.Errorf("%d timelines", len(res.Timeline))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("it leaves %q", left)
	}
}

// Which runs write a report.
func TestWhereTheReportGoes(t *testing.T) {
	for args, want := range map[string]string{
		"":                             defaultReport,
		"-workers 4 -delay 50ms":       defaultReport,
		"-json":                        "",
		"-fix none":                    "",
		"-rate 5":                      "",
		"-conns 5":                     "",
		"-report x.html -json":         "x.html",
		"-report x.html -rate 5":       "x.html",
		"-report x.html -fix blocking": "x.html",
	} {
		opt, err := parse(strings.Fields(args))
		if err != nil || opt.report != want {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	if opt, err := parse([]string{"-report", ""}); err != nil || opt.report != "" {
		t.Errorf("with an empty name: %v", err)
	}
}

// A report that cannot be written is said before anything is measured; one
// that nobody asked for is left out.
func TestReportThatCannotBeWritten(t *testing.T) {
	for _, path := range []string{"/nonesuch/r.html", "/dev/null", t.TempDir()} {
		cmd, stdout, stderr := tool("-report", path, "-rate", "100", "-conns", "5", "-fix", "none")
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || stdout.Len() > 0 ||
			!strings.HasPrefix(stderr.String(), "herd: -report "+path+": ") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	}
	opt := &options{report: "/nonesuch/r.html"}
	if err := opt.prepare(); err != nil || opt.report != "" {
		t.Errorf("not asked for: %v, %q", err, opt.report)
	}
}

// A table that standard output did not take is an error.
func TestTableThatCannotBePrinted(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd, _, stderr := tool("-report", "", "-rate", "100", "-conns", "1", "-fix", "none", "-workers", "1")
	cmd.Stdout = full
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "no space left on device") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestProseIsBroken(t *testing.T) {
	got := wrap("- "+strings.Repeat("word ", 20), "  ")
	want := "- " + strings.TrimSpace(strings.Repeat("word ", 15)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 5))
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
