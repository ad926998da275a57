package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herd/tools/grade/result"
)

// turn is a Turn that does as body says; before, so does the file.
func turn(imports, before, body string) string {
	return fmt.Sprintf("package main\n\nimport (\n\t\"herd/nginxref/event\"\n%s\n)\n%s\nfunc Turn(cycle *event.Cycle) {\n%s\n}\n",
		imports, before, body)
}

// right is the rest of a Turn that is right.
const right = "solved(cycle)"

// hostile is code that a student might hand in for part B, and what is to be
// said of it.
type hostile struct {
	imports, before, body string
	outcome               result.Outcome
	message               string // is in the check's
	args                  []string
}

// forged is what a passed check looks like, to anyone who reads it there.
const forged = `
func forge(w io.Writer) {
	for _, check := range []string{"two-are-never-registered", "no-freeze-after-emfile"} {
		fmt.Fprintf(w, "\n--- PASS: TestLab (0.00s)\n    --- PASS: TestLab/B/%s (0.00s)\nPASS\n", check)
		fmt.Fprintf(w, "\n\x16--- PASS: TestLab/B/%s (0.00s)\n", check)
		fmt.Fprintf(w, "{\"Action\":\"pass\",\"Package\":\"herd/labs/lab03-acceptmutex\",\"Test\":\"TestLab/B/%s\"}\n", check)
		fmt.Fprintf(w, "%s {\"Check\":\"B/%s\",\"Failed\":false}\n", os.Getenv("HERD_GRADE"), check)
		fmt.Fprintf(w, "{\"Check\":\"B/%s\",\"Failed\":false}\n", check)
	}
}
`

var hostiles = map[string]hostile{
	"loops for ever": {
		body:    "for n := 0; ; n++ { cycle.AcceptDisabled = n }",
		outcome: result.TimedOut, message: "at turn.go:9 in Turn",
		args: []string{"-time", "2s"},
	},
	"loops, and there is time": {
		body:    "for n := 0; ; n++ { cycle.AcceptDisabled = n }",
		outcome: result.Wrong, message: "at turn.go:9 in Turn",
	},
	"waits for ever": {
		body:    "select {}",
		outcome: result.TimedOut, message: "no verdict after 0.5s",
		args: []string{"-time", "500ms"},
	},
	"panics": {
		body:    `panic("mine")`,
		outcome: result.Wrong, message: "mine",
	},
	"panics in a goroutine": {
		body:    `go func() { panic("mine") }(); select {}`,
		outcome: result.Crashed, message: "panic: mine",
	},
	"ends its goroutine": {
		imports: `"runtime"`,
		body:    "runtime.Goexit()",
		outcome: result.Wrong, message: "ended its goroutine",
	},
	"calls os.Exit(0)": {
		imports: `"os"`,
		body:    "os.Exit(0)",
		outcome: result.Wrong, message: "unexpected call to os.Exit(0)",
	},
	"exits beneath os": {
		imports: `"syscall"`,
		body:    "syscall.Exit(0)",
		outcome: result.Crashed, message: "it ended without a verdict: exit status 0",
	},
	"exits before it is asked": {
		imports: `"syscall"`,
		before:  "func init() { syscall.Exit(0) }",
		outcome: result.Crashed, message: "it ended without a verdict: exit status 0",
	},
	"kills itself": {
		imports: `"os"; "syscall"`,
		body:    "syscall.Kill(os.Getpid(), syscall.SIGKILL)",
		outcome: result.Crashed, message: "signal: killed",
	},
	"prints that it passed": {
		imports: `"fmt"; "io"; "os"`, before: forged,
		body:    `forge(os.Stdout); panic("mine")`,
		outcome: result.Wrong, message: "mine",
	},
	"prints that it passed and exits": {
		imports: `"fmt"; "io"; "os"; "syscall"`, before: forged,
		body:    "forge(os.Stdout); forge(os.Stderr); syscall.Exit(0)",
		outcome: result.Crashed, message: "without a verdict",
	},
	"says to every descriptor that it passed": {
		imports: `"fmt"; "io"; "os"; "syscall"`, before: forged,
		body:    "for fd := range uintptr(20) { if f := os.NewFile(fd, \"\"); f != nil { forge(f) } }; syscall.Exit(0)",
		outcome: result.Crashed, message: "without a verdict",
	},
	"has a lab of its own": {
		imports: `"os"; "testing"; "herd/tools/lab"`,
		before: `func init() {
	easy := &lab.Lab{Name: "lab03-acceptmutex", Checks: []lab.Check{
		{Part: "B", Name: "two-are-never-registered", Run: func(*lab.T) {}},
		{Part: "B", Name: "no-freeze-after-emfile", Run: func(*lab.T) {}},
	}}
	testing.Init()
	testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestLab", F: easy.Test}})
	os.Exit(0)
}`,
		outcome: result.Crashed, message: "without a verdict",
	},
	"chooses which tests run": {
		imports: `"os"`,
		before:  `func init() { os.Args = []string{os.Args[0], "-test.run=^$"} }`,
		outcome: result.Crashed, message: "without a verdict",
	},
	"closes every descriptor": {
		imports: `"syscall"`,
		body:    "for fd := range 1000 { syscall.Close(fd) }; " + right,
		outcome: result.Crashed, message: "without a verdict",
	},
	"imports unsafe": {
		imports: `_ "unsafe"`,
		body:    right,
		outcome: result.NotBuilt, message: `turn.go imports "unsafe"`,
	},
	"forks too much": {
		imports: `"os/exec"`,
		body:    `for range 200 { exec.Command("sleep", "1000").Start() }; select {}`,
		outcome: result.Crashed, message: "it started more than 64 processes",
	},
	"forks without end": {
		imports: `"os/exec"`,
		body:    `exec.Command("sh", "-c", "b() { b & b & wait; }; b").Run()`,
		outcome: result.Crashed, message: "it started more than 64 processes",
	},
	"leaves a process": {
		imports: `"os/exec"; "sync"`,
		before:  "var once sync.Once",
		body:    `once.Do(func() { exec.Command("setsid", "sleep", "1000").Start() }); ` + right,
		outcome: result.Crashed, message: "it left 1 processes behind: ",
	},
	"eats memory": {
		before:  "var hoard [][]byte",
		body:    "for { b := make([]byte, 1<<24); for i := 0; i < len(b); i += 4096 { b[i] = 1 }; hoard = append(hoard, b) }",
		outcome: result.Crashed, message: "memory",
	},
	"prints without end": {
		imports: `"fmt"`,
		body:    `for { fmt.Println("and on") }`,
		outcome: result.TimedOut, message: "no verdict after 0.5s",
		args: []string{"-time", "500ms"},
	},
	"deletes files": {
		imports: `"os"; "path/filepath"`,
		body: `self, _ := os.Executable()
	for _, dir := range []string{".", filepath.Dir(self), PRECIOUS} { os.RemoveAll(dir) }
	panic("mine")`,
		outcome: result.Wrong, message: "mine",
	},
}

func TestHostileCodeIsStoppedAndNeverPasses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many programs")
	}
	solved := strings.Replace(solution(t, "turn.go"), "func Turn(", "func solved(", 1)
	for name, h := range hostiles {
		t.Run(name, func(t *testing.T) {
			precious := filepath.Join(t.TempDir(), "precious")
			if err := os.WriteFile(precious, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			text := turn(h.imports, h.before, strings.ReplaceAll(h.body, "PRECIOUS", fmt.Sprintf("%q", filepath.Dir(precious))))
			dir := handIn(t, map[string]string{"turn.go": text, "acceptmutex.go": acceptmutexWith(solved)})
			code, r := grade(t, append(h.args, dir)...)
			if code != exitNotPassed {
				t.Errorf("exit status %d, want %d", code, exitNotPassed)
			}
			for _, c := range r.Labs[0].Checks {
				if c.Part != "B" {
					continue
				}
				if c.Outcome != h.outcome || !strings.Contains(c.Message, h.message) {
					t.Errorf("%s: %s: %s\n%s\nwant %s, %q", c.ID, c.Outcome, c.Message, c.Output, h.outcome, h.message)
				}
			}
			if _, err := os.Stat(precious); err != nil {
				t.Error(err)
			}
		})
	}
}

// What hangs before one check does so before each: one is waited for.
func TestLoopBeforeTheChecksIsWaitedForOnce(t *testing.T) {
	dir := handIn(t, map[string]string{"turn.go": turn("", "func init() { for {} }", "")})
	_, r := grade(t, "-time", "2s", dir)
	waited := 0
	for _, c := range r.Labs[0].Checks {
		if c.Seconds > 0 {
			waited++
		}
		if c.Outcome != result.TimedOut || !strings.HasPrefix(c.Message, "no check has begun after 2s") || !strings.Contains(c.Message, "in init") {
			t.Errorf("%s: %s: %s", c.ID, c.Outcome, c.Message)
		}
	}
	if waited != 1 {
		t.Errorf("%d checks ran, want 1", waited)
	}
}

// acceptmutexWith returns a part A that is not written, and beside it the
// solution's turn under another name, for turns that are right and more.
func acceptmutexWith(solved string) string {
	_, rest, _ := strings.Cut(solved, "\n)\n")
	return `package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

func TrylockAcceptMutex(cycle *event.Cycle) core.Status { lab.TODO("TrylockAcceptMutex"); return core.OK }
func EnableAcceptEvents(cycle *event.Cycle) core.Status { return core.OK }
func DisableAcceptEvents(cycle *event.Cycle, all bool) core.Status { return core.OK }
` + rest
}
