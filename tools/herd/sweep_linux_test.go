package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

func TestNumbersOfWorkers(t *testing.T) {
	for list, want := range map[string][]int{
		"4":              {4},
		"1..4":           {1, 2, 3, 4},
		"1..64x2":        {1, 2, 4, 8, 16, 32, 64},
		"3..20x3":        {3, 9},
		" 8, 1..2,2..3 ": {1, 2, 3, 8},
	} {
		if got, err := parseWorkers(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", "0", "a", "4..1", "1..", "1..8x1", "1..8x", "4x2", "513", "1,,2"} {
		if got, err := parseWorkers(list); err == nil || !strings.HasPrefix(err.Error(), "-workers ") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

func TestRates(t *testing.T) {
	got, err := parseRates("100,burst, 0.5,100")
	if want := []float64{0.5, 100, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, list := range []string{"", "-1", "NaN", "1e9", "fast"} {
		if got, err := parseRates(list); err == nil || !strings.HasPrefix(err.Error(), "-rates ") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

// sweepIn runs a sweep in dir and returns what it printed and how many runs it
// made.
func sweepIn(t *testing.T, dir string, args ...string) (stdout string, runs int) {
	t.Helper()
	cmd, out, errs := tool(append([]string{"sweep", "-fix", "none,reuseport", "-rates", "burst"}, args...)...)
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	return out.String(), strings.Count(errs.String(), " connections")
}

// A sweep keeps its runs; the next one measures what is missing.
func TestSweepGoesOn(t *testing.T) {
	dir := t.TempDir()
	out, runs := sweepIn(t, dir, "-workers", "1,2", "-repeats", "1")
	if runs != 4 || !strings.Contains(out, "Wakes least") {
		t.Errorf("%d runs, want 4:\n%s", runs, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "sweep.html"))
	if err != nil || !bytes.Contains(page, []byte("Which fix is best, and where")) {
		t.Errorf("the report: %v", err)
	}

	if _, runs = sweepIn(t, dir, "-workers", "1,2,4", "-repeats", "2", "-report", ""); runs != 8 {
		t.Errorf("of 12 runs 4 are done, but it made %d", runs)
	}

	// As if it had been killed while it wrote.
	path := filepath.Join(dir, "sweep.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-100], 0o644); err != nil {
		t.Fatal(err)
	}
	out, runs = sweepIn(t, dir, "-workers", "1,2,4", "-repeats", "2", "-json", "-report", "")
	if runs != 1 {
		t.Errorf("one run is missing, but it made %d", runs)
	}
	var res report.Results
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatal(err)
	}
	if len(res.Runs) != 12 || len(res.Points) != 6 || res.Points[0].Repeats != 2 || len(res.Regimes) != 9 {
		t.Errorf("%d runs, %d points of %d repeats, %d regimes; want 12, 6, 2, 9",
			len(res.Runs), len(res.Points), res.Points[0].Repeats, len(res.Regimes))
	}

	out, runs = sweepIn(t, dir, "-workers", "4", "-repeats", "1", "-csv", "-report", "")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || runs != 0 {
		t.Errorf("%v; it made %d runs, though all are done", err, runs)
	}
	if len(lines) != 3 || lines[0][7] != "wakeups_per_conn" || lines[1][1] != "none" || lines[2][1] != "reuseport" {
		t.Errorf("the CSV: %q", lines)
	}
}

func TestInterruptedSweepKeepsItsRuns(t *testing.T) {
	dir := t.TempDir()
	cmd, _, errs := tool("sweep", "-fix", "none", "-workers", "1,2", "-rates", "burst", "-repeats", "100")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sweep.jsonl")
	for text := ""; strings.Count(text, "\n") < 2; time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(path)
		text = string(b)
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(errs.String(), "are kept in sweep.jsonl") {
		t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, errs)
	}
	f, err := openRunFile(path, 500)
	if err != nil || len(f.done) < 2 {
		t.Errorf("%d runs are kept: %v", len(f.done), err)
	}
	nothingLeft(t)
}

func TestRunFileOfAnotherKind(t *testing.T) {
	for text, want := range map[string]string{
		"hello\n":               "not a run of a sweep",
		`{"machine":{}}` + "\n": "was measured on",
	} {
		path := filepath.Join(t.TempDir(), "runs")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openRunFile(path, 500); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "name another file with -run") {
			t.Errorf("%q: %v", text, err)
		}
		if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("the file was changed to %q", left)
		}
	}
}

// Runs with another accept_mutex_delay stay in the file and out of the sweep.
func TestRunFileKeepsDelaysApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs")
	for _, delay := range []int64{500, 50} {
		f, err := openRunFile(path, delay)
		if err != nil || len(f.done) != 0 {
			t.Fatalf("%v, %d runs with a delay of %d ms", err, len(f.done), delay)
		}
		if err := f.add(measure.Run{Fix: "none"}); err != nil {
			t.Fatal(err)
		}
		f.close()
	}
}

func TestSweepComplains(t *testing.T) {
	for args, want := range map[string]string{
		"-repeats 0":     "-repeats 0: give at least 1",
		"-csv -json":     "-csv and -json: give one of them",
		"-fix nonesuch":  `no fix is called "nonesuch"`,
		"-workers 0":     `-workers "0": give 1 to 512`,
		"-rates slow":    `-rates "slow": give connections per second`,
		"extra":          `unexpected argument "extra"`,
		"-report /no/x":  "-report /no/x: ",
		"-run /no/x.txt": "-run /no/x.txt: ",
	} {
		cmd, _, errs := tool(append([]string{"sweep"}, strings.Fields(args)...)...)
		cmd.Dir = t.TempDir()
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage && code != exitFailed || !strings.Contains(errs.String(), "herd: "+want) {
			t.Errorf("%s: exit code %d\n%s", args, code, errs)
		}
	}
}

// On a terminal a bar shows how much is done, and after some seconds how long
// the rest takes.
func TestProgressOnATerminal(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, tty: true}
	load := measure.Load{Rate: 1, Conns: 4}
	p.plan([]measure.Load{load, load, load, load})
	conf := measure.Conf{Fix: "none", Workers: 8}
	p.begin(conf, load)
	p.step(2)
	if got, want := b.String(), "\r\033[K[##..................] 1/4: nginxref none, 8 workers, 1/s, 2 of 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.begin(conf, load)
	p.began = time.Now().Add(-2 * p.spent) // twice as slow as planned
	b.Reset()
	p.last = time.Time{}
	p.step(0)
	// Three of four runs of 4.15 s, twice as slow: 25 s, and more if this
	// process has to wait for a CPU.
	if got, want := b.String(), regexp.MustCompile(`\[#{5}\.{15}\] 2/4, about (2[5-9]|[3-8]\d) s left: `); !want.MatchString(got) {
		t.Errorf("%q, want %s", got, want)
	}
	b.Reset()
	p.clear()
	if b.String() != "\r\033[K" {
		t.Errorf("the line stays: %q", b.String())
	}
}
