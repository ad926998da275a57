package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herd/tools/grade/jail"
	"herd/tools/grade/result"
	"herd/tools/lab/all"
)

func TestMain(m *testing.M) {
	jail.Main()
	os.Exit(m.Run())
}

// root is the course's tree, seen from here.
const root = "../.."

// command runs a command line and returns its exit status and what it printed.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// grade grades and returns the result, from its JSON form.
func grade(t *testing.T, args ...string) (int, *result.Report) {
	t.Helper()
	code, stdout, stderr := command(t, append([]string{"-json", "-"}, args...)...)
	var r result.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit status %d, %v\n%s%s", code, err, stdout, stderr)
	}
	return code, &r
}

// handIn makes a directory of what a student hands in for lab 3: the course's
// own, which is not written, but for the files given.
func handIn(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lab03-acceptmutex")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "labs/lab03-acceptmutex"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// solution returns a file of lab 3's solution.
func solution(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "solutions/lab03-acceptmutex", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outcomes counts the outcomes of a lab's checks.
func outcomes(l *result.Lab) map[result.Outcome]int {
	n := map[result.Outcome]int{}
	for _, c := range l.Checks {
		n[c.Outcome]++
	}
	return n
}

func TestEveryStubSaysThatItIsNotWritten(t *testing.T) {
	code, r := grade(t, "-all", root)
	if code != exitNotPassed || len(r.Labs) != len(all.Labs()) {
		t.Fatalf("exit status %d, %d labs, want %d and %d", code, len(r.Labs), exitNotPassed, len(all.Labs()))
	}
	for _, l := range r.Labs {
		for _, c := range l.Checks {
			if c.Outcome != result.NotWritten || !strings.HasPrefix(c.Message, "lab ") || !strings.HasSuffix(c.Message, " is not written yet") {
				t.Errorf("%s %s: %s: %s", l.Name, c.ID, c.Outcome, c.Message)
			}
		}
	}
}

func TestEverySolutionHasFullMarks(t *testing.T) {
	code, r := grade(t, "-all", filepath.Join(root, "solutions"))
	if score, most := r.Score(); code != exitPassed || score != most || len(r.Labs) != len(all.Labs()) {
		t.Errorf("exit status %d, %d labs, %d of %d points", code, len(r.Labs), score, most)
	}
	for _, l := range r.Labs {
		for _, c := range l.Checks {
			if c.Outcome != result.Passed {
				t.Errorf("%s %s: %s: %s", l.Name, c.ID, c.Outcome, c.Message)
			}
		}
	}
}

func TestEveryCheckIsInItsHandout(t *testing.T) {
	for _, l := range all.Labs() {
		text, err := os.ReadFile(filepath.Join(root, "labs", l.Dir(), "README.md"))
		if err != nil {
			t.Error(err)
		}
		handout := strings.Join(strings.Fields(string(text)), " ")
		seen := map[string]bool{}
		for i := range l.Checks {
			c := &l.Checks[i]
			if !strings.Contains(handout, strings.Join(strings.Fields(c.Sentence), " ")) {
				t.Errorf("%s: the handout has not %q", l.Name, c.Sentence)
			}
			if c.Points <= 0 || c.Read == "" || seen[c.ID()] {
				t.Errorf("%s %s: %d points, read %q, twice %v", l.Name, c.ID(), c.Points, c.Read, seen[c.ID()])
			}
			seen[c.ID()] = true
		}
	}
}

// A stub with a test that always passes, and a lab that asks for nothing.
func TestEditedTestChangesNothing(t *testing.T) {
	dir := handIn(t, map[string]string{
		"lab_test.go":       "package main\n\nimport \"testing\"\n\nfunc TestLab(t *testing.T) {}\n",
		"main.go":           "package main\n\nfunc main() {}\n",
		"more_test.go":      "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n",
		"predictions.txt":   "",
		"extra.go":          "package main\n\nfunc init() { panic(\"here\") }\n",
		"README.md":         "",
		"z_linux_amd64.s":   "",
		"solution_other.go": "package other\n",
	})
	_, r := grade(t, dir)
	if got := outcomes(r.Labs[0]); got[result.NotWritten] != len(r.Labs[0].Checks) {
		t.Errorf("outcomes %v, want none written", got)
	}
	want := "not taken: extra.go, lab_test.go, main.go, more_test.go, solution_other.go; a solution is in acceptmutex.go and turn.go alone"
	if len(r.Labs[0].Notes) != 1 || r.Labs[0].Notes[0] != want {
		t.Errorf("notes %q, want %q", r.Labs[0].Notes, want)
	}
}

func TestPartialCredit(t *testing.T) {
	dir := handIn(t, map[string]string{"acceptmutex.go": solution(t, "acceptmutex.go")})
	if err := os.Remove(filepath.Join(dir, "turn.go")); err != nil {
		t.Fatal(err)
	}
	code, r := grade(t, dir)
	l := r.Labs[0]
	if score, most := l.Score(); code != exitNotPassed || score != 80 || most != 100 {
		t.Errorf("exit status %d, %d of %d points, want part A's 80 of 100", code, score, most)
	}
	if len(l.Notes) != 1 || !strings.HasPrefix(l.Notes[0], "turn.go is missing") {
		t.Errorf("notes %q", l.Notes)
	}
}

func TestWhatDoesNotCompileIsQuoted(t *testing.T) {
	dir := handIn(t, map[string]string{"turn.go": "package main\n\nfunc Turn() { nowhere() }\n"})
	code, r := grade(t, dir)
	for _, c := range r.Labs[0].Checks {
		if c.Outcome != result.NotBuilt || !strings.Contains(c.Message, "turn.go:3:15: undefined: nowhere") {
			t.Errorf("%s: %s: %s", c.ID, c.Outcome, c.Message)
		}
	}
	if code != exitNotPassed {
		t.Errorf("exit status %d", code)
	}
}

func TestFilesThatAreNoneOfTheStudentsAreNotRead(t *testing.T) {
	dir := handIn(t, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("the answers"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := filepath.Join(dir, "turn.go")
	os.Remove(turn)
	if err := os.Symlink(secret, turn); err != nil {
		t.Fatal(err)
	}
	_, r := grade(t, dir)
	if l := r.Labs[0]; len(l.Notes) != 1 || !strings.HasPrefix(l.Notes[0], "turn.go is not a regular file") || !l.All(result.NotWritten) {
		t.Errorf("notes %q, outcomes %v", l.Notes, outcomes(l))
	}
}

func TestUsageErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":        {nil, "which lab? Give a directory"},
		"no directory":   {[]string{"labs/none"}, "labs/none is not a directory"},
		"no lab's name":  {[]string{t.TempDir()}, "Say it with -lab"},
		"no lab":         {[]string{"-lab", "99", "."}, `no lab "lab99"; there are`},
		"nothing in it":  {[]string{"-all", t.TempDir()}, "there is no file of any lab"},
		"flag":           {[]string{"-frobnicate"}, "flag provided but not defined"},
		"limit":          {[]string{"-time", "0s", "."}, "limits are positive"},
		"pack what":      {[]string{"-pack", "canvas", "-o", "x.zip"}, "give gradescope"},
		"pack where":     {[]string{"-pack", "gradescope"}, "-pack needs -o"},
		"user":           {[]string{"-user", "nobody-has-this-name", "."}, "-user"},
		"handout where":  {[]string{"handout"}, "handout takes -o DIR"},
		"mutants of":     {[]string{"mutants", "99"}, `no lab "lab99"`},
		"not classroom":  {[]string{"-classroom50", "x", "."}, "not set here: CLASSROOM"},
		"both":           {[]string{"-all", "-lab", "3", "."}, "exclude each other"},
		"device":         {[]string{"-json", "/dev/null", "."}, "/dev/null is not a regular file"},
		"no place":       {[]string{"-junit", filepath.Join(t.TempDir(), "none", "x"), "."}, "name a file in a directory that you may write to"},
		"one file twice": {[]string{"-json", "-", "-junit", "-", "."}, "two results go to -"},
		"output of what": {[]string{"-o", "x", "."}, "-o goes with -pack"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := command(t, c.args...)
			if code != exitUsage || !strings.Contains(stderr, c.want) {
				t.Errorf("exit status %d, %q, want %d and %q", code, stderr, exitUsage, c.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"mutants", "-h"}, {"handout", "-h"}} {
		if code, stdout, stderr := command(t, args...); code != 0 || !strings.HasPrefix(stdout, "Usage: go run ./tools/grade") || stderr != "" {
			t.Errorf("%q: exit status %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

// Those who run a grader read its status as whether the grader works.
func TestStatusForThoseWhoReadTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	code, stdout, stderr := command(t, "-gradescope", file, filepath.Join(root, "labs/lab03-acceptmutex"))
	if code != 0 || stderr != "" {
		t.Errorf("exit status %d, %s", code, stderr)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"outcome": "not written"`) {
		t.Errorf("%v, %s", err, text)
	}
	if !strings.Contains(stdout, "so this is as it should be") {
		t.Errorf("nobody says that this is expected:\n%s", stdout)
	}
}

func TestBrokenGraderLeavesNoResult(t *testing.T) {
	t.Setenv("PATH", "") // no go
	file := filepath.Join(t.TempDir(), "results.json")
	code, _, stderr := command(t, "-gradescope", file, filepath.Join(root, "labs/lab03-acceptmutex"))
	if code != exitBroken || !strings.Contains(stderr, "grading needs the Go toolchain") {
		t.Errorf("exit status %d, %s, want %d", code, stderr, exitBroken)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a result")
	}
}

func TestNoTimeLeftIsNoPass(t *testing.T) {
	code, r := grade(t, "-total", "1ns", filepath.Join(root, "solutions/lab03-acceptmutex"))
	if code != exitNotPassed || !r.Labs[0].All(result.TimedOut) {
		t.Errorf("exit status %d, outcomes %v, want all timed out", code, outcomes(r.Labs[0]))
	}
}

func TestVerdictOfTheMachine(t *testing.T) {
	opt := &options{}
	for _, c := range []struct {
		outcomes []result.Outcome
		want     error
	}{
		{[]result.Outcome{result.Passed, result.Passed}, nil},
		{[]result.Outcome{result.Passed, result.CannotShow}, errCannotShow},
		{[]result.Outcome{result.Wrong, result.CannotShow}, errNotPassed},
		{[]result.Outcome{result.Pending, result.Passed}, errNotPassed},
	} {
		l := &result.Lab{}
		for _, o := range c.outcomes {
			l.Checks = append(l.Checks, result.Check{Outcome: o})
		}
		if got := opt.verdict(&result.Report{Labs: []*result.Lab{l}}); got != c.want {
			t.Errorf("%q: %v, want %v", c.outcomes, got, c.want)
		}
	}
}
