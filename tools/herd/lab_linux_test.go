package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// inTree returns the command herd with args, run where go.mod is. What it
// makes for itself is in tmp.
func inTree(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer, tmp string) {
	t.Helper()
	cmd, stdout, stderr = tool(args...)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tmp = t.TempDir()
	cmd.Dir = root
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	return cmd, stdout, stderr, tmp
}

// nothingIn fails the test if there is anything in the directory.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("the tool left %q", left)
	}
}

// solution returns the directory of a lab's solution as -subject takes it.
func solution(t *testing.T, lab string) string {
	t.Helper()
	if _, err := os.Stat("../../solutions"); err != nil {
		t.Skip("the solutions are not handed out")
	}
	return "solutions/" + lab
}

// A solved lab does what the reference does that it stands beside: the same
// wakeups, returns and erroneous accepts per connection, within 2 % as the real
// nginx (TestRealNginxDoesTheSame in tools/measure).
func TestSolvedLabDoesWhatTheReferenceDoes(t *testing.T) {
	for lab, fix := range map[string]string{
		"lab03-acceptmutex": "accept-mutex",
		"lab06-exclusive":   "exclusive-reorder",
		"lab07-reuseport":   "reuseport",
	} {
		t.Run(lab, func(t *testing.T) {
			defer func(fixes []*measure.Fix) { measure.Fixes = fixes }(measure.Fixes)
			opt, err := parse([]string{"-subject", "../../" + solution(t, lab), "-delay", "60s"})
			if err != nil {
				t.Fatal(err)
			}
			if err := opt.build(t.Context()); err != nil {
				t.Fatal(err)
			}
			runs := oneByOne(t, opt.confs(4))
			if len(runs) != 2 || runs[0].Fix != fix || runs[1].Fix != fix {
				t.Fatalf("%d rows, want two of %s", len(runs), fix)
			}
			sameCounts(t, &runs[0], &runs[1])
			nothingLeft(t)
		})
	}
}

// oneByOne measures each of confs with a connection whenever all workers sleep:
// what it wakes does not depend on how busy the machine is.
func oneByOne(t *testing.T, confs []measure.Conf) (runs []measure.Run) {
	t.Helper()
	for _, conf := range confs {
		keep := func(_ int, run measure.Run) error { runs = append(runs, run); return nil }
		if err := measureSubject(t.Context(), conf, "127.0.0.1:0", []measure.Load{{Conns: 200}}, &progress{w: io.Discard}, keep); err != nil {
			t.Fatal(err)
		}
	}
	return runs
}

// sameCounts fails the test if what two runs count per connection differs.
func sameCounts(t *testing.T, a, b *measure.Run) {
	t.Helper()
	for _, c := range []struct {
		what string
		a, b float64
	}{
		{"wakeups", a.WakeupsPerConn, b.WakeupsPerConn},
		{"returns", a.ReturnsPerConn, b.ReturnsPerConn},
		{"EAGAIN", a.EagainPerConn, b.EagainPerConn},
	} {
		if math.Abs(c.a-c.b) > 0.02*max(1, c.a) {
			t.Errorf("%s per connection: nginxref %.3f, the lab %.3f", c.what, c.a, c.b)
		}
	}
}

// In the JSON the lab's run says whose it is, and of which code; the load and the
// witness are the reference's.
func TestRunOfALab(t *testing.T) {
	dir := solution(t, "lab07-reuseport")
	cmd, stdout, stderr, tmp := inTree(t, "-subject", "./"+dir, "-workers", "2", "-rate", "50", "-conns", "20", "-json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	res := &report.Results{}
	if err := json.Unmarshal(stdout.Bytes(), res); err != nil {
		t.Fatal(err)
	}
	if len(res.Runs) != 2 {
		t.Fatalf("%d runs, want the reference's and the lab's", len(res.Runs))
	}
	ours, theirs := &res.Runs[0], &res.Runs[1]
	if ours.Subject != "nginxref" || ours.Build != "" || theirs.Subject != dir || len(theirs.Build) != 12 {
		t.Errorf("runs of %s %q and %s %q", ours.Subject, ours.Build, theirs.Subject, theirs.Build)
	}
	if theirs.Fix != ours.Fix || theirs.Rate != ours.Rate || theirs.Accepted != ours.Accepted || theirs.Witness != ours.Witness {
		t.Errorf("they differ:\n%+v\n%+v", ours, theirs)
	}
	nothingIn(t, tmp)
	nothingLeft(t)
}

// The row of the lab follows the reference's in the table and in the ratios,
// and is in the report; of the reference other fixes may stand in the table.
func TestRowOfALab(t *testing.T) {
	dir := solution(t, "lab06-exclusive")
	page := filepath.Join(t.TempDir(), "r.html")
	cmd, stdout, stderr, _ := inTree(t, "-subject", dir+"/", "-fix", "none,exclusive-reorder", "-workers", "2", "-rate", "0",
		"-conns", "50", "-compare", "-report", page)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	text := stdout.String()
	for _, want := range []string{"\nnone   ", "\nexclusive-reorder   ", "\n  solutions/lab06   ", "\nnginxref divided by solutions/lab06-exclusive\n", "\nexcl-reorder   burst "} {
		i := strings.Index(text, want)
		if i < 0 {
			t.Fatalf("no %q, or not in this order:\n%s", want, stdout)
		}
		text = text[i+1:]
	}
	res := carried(t, page)
	if len(res.Runs) != 3 || res.Runs[2].Subject != dir {
		t.Errorf("the report carries %d runs", len(res.Runs))
	}
	if html, _ := os.ReadFile(page); !strings.Contains(string(html), ">solutions/lab06 exclusive-reorder<") {
		t.Error("the report does not name the lab")
	}
}

// What is wrong with a lab is said in the end, without half a table; the
// compiler speaks for itself.
func TestLabThatCannotBeMeasured(t *testing.T) {
	const testdata = "tools/herd/testdata/"
	for _, c := range []struct {
		name, subject, args string
		code                int
		want                []string
	}{
		{"not written", testdata + "stub/lab06-exclusive", "", exitFailed,
			[]string{"Building stub/lab06-exclusive\n", "\nherd: stub/lab06-exclusive, exclusive-reorder: ReorderAcceptEvents is not written yet\n"}},
		{"panics", testdata + "panics/lab06-exclusive", "", exitFailed,
			[]string{"\nherd: panics/lab06-exclusive, exclusive-reorder: a worker has failed: panic: runtime error: ", " (main.go:11)\n"}},
		{"does not compile", testdata + "broken/lab06-exclusive", "", exitFailed,
			[]string{"\n" + testdata + "broken/lab06-exclusive/main.go:10:8: cycle.Reorder undefined ", "\nherd: broken/lab06-exclusive is not measured: it cannot be built\n"}},
		{"hangs", testdata + "hangs/lab06-exclusive", "", exitFailed,
			[]string{" connections failed; the first: 127.0.0.1:", " did not reply within 10s\n"}},
		{"nothing to measure", "labs/lab10-reload", "", exitUsage,
			[]string{"herd: -subject labs/lab10-reload: it has nothing that can be measured beside nginxref; these have: labs/lab00-herd, labs/lab01-shmtx, "}},
		{"no lab", "tools/herd", "", exitUsage, []string{"herd: -subject tools/herd: it has nothing that can be measured"}},
		{"not there", "tools/lab03-acceptmutex", "", exitUsage,
			[]string{"herd: -subject tools/lab03-acceptmutex: there is no such directory; run this from the one that has go.mod in it\n"}},
		{"another fix", "labs/lab03-acceptmutex", "-fix none,reuseport", exitUsage,
			[]string{"herd: -fix none,reuseport: the subject has no such fix; it has accept-mutex\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"-subject", c.subject, "-workers", "2", "-rate", "100", "-conns", "20"}, strings.Fields(c.args)...)
			cmd, stdout, stderr, tmp := inTree(t, args...)
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != c.code || stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d; on standard output: %q", code, c.code, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, stderr)
				}
			}
			if strings.Contains(stderr.String(), "] nginxref ") {
				t.Errorf("nginxref is measured first:\n%s", stderr)
			}
			nothingIn(t, tmp)
			nothingLeft(t)
		})
	}
}

// until waits until a file matches the pattern.
func until(t *testing.T, pattern string) {
	t.Helper()
	for range 3000 {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing is called %s", pattern)
}

// Whenever the tool is interrupted, nothing is left: not while the lab is built,
// of which nothing is in the cache here, and not while it hangs.
func TestNothingOutlivesALab(t *testing.T) {
	const hangs = "tools/herd/testdata/hangs/lab06-exclusive"
	interrupt := func(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer) {
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, stderr)
		}
	}
	t.Run("built", func(t *testing.T) {
		cmd, _, stderr, tmp := inTree(t, "-subject", hangs, "-rate", "100")
		cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, filepath.Join(tmp, "herd-lab-*", "go-build*", "b*"))
		interrupt(t, cmd, stderr)
		nothingIn(t, tmp)
		nothingLeft(t)
	})
	t.Run("measured", func(t *testing.T) {
		cmd, _, stderr, tmp := inTree(t, "-subject", hangs, "-rate", "100")
		said, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		cmd.Stderr = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		for buf := make([]byte, 1024); !strings.Contains(stderr.String(), "[1/2]"); {
			n, err := said.Read(buf)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			stderr.Write(buf[:n])
		}
		time.Sleep(300 * time.Millisecond) // by now the workers hang
		interrupt(t, cmd, stderr)
		nothingIn(t, tmp)
		nothingLeft(t)
	})
}

// A sweep goes on with a lab's runs as with others, unless its code has changed.
func TestSweepMeasuresAChangedLabAnew(t *testing.T) {
	dir := solution(t, "lab07-reuseport")
	file := filepath.Join(t.TempDir(), "runs")
	sweep := func() (runs int) {
		cmd, stdout, stderr, _ := inTree(t, "sweep", "-subject", dir, "-workers", "2", "-rates", "burst", "-repeats", "1", "-run", file, "-report", "")
		if err := cmd.Run(); err != nil || strings.Count(stdout.String(), "\nsolutions/lab07 reuseport ") != 1 {
			t.Fatalf("%v\n%s%s", err, stdout, stderr)
		}
		return strings.Count(stderr.String(), " connections")
	}
	if n := sweep(); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
	if n := sweep(); n != 0 {
		t.Errorf("%d runs, though all are done", n)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"build":"`), []byte(`"build":"other`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := sweep(); n != 1 {
		t.Errorf("%d runs, though the lab's is of other code", n)
	}
}
