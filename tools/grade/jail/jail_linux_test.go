package jail

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// shell runs a script in a directory of its own.
func shell(t *testing.T, script string, change func(*Program)) *End {
	t.Helper()
	p := &Program{
		Path:   "/bin/sh",
		Args:   []string{"-c", script},
		Env:    []string{"PATH=/usr/bin:/bin"},
		Dir:    t.TempDir(),
		Limits: Limits{Time: 20 * time.Second},
	}
	if change != nil {
		change(p)
	}
	end, err := Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func TestProgramIsHeard(t *testing.T) {
	end := shell(t, "read line; echo out $line; echo err >&2; echo three >&3; exit 7",
		func(p *Program) { p.Stdin = "in\n" })
	if end.State.ExitCode() != 7 || string(end.Output) != "out in\nerr\n" || string(end.Fd3) != "three\n" {
		t.Errorf("status %v, output %q, descriptor 3 %q", end.State, end.Output, end.Fd3)
	}
	if end.TimedOut || end.Over != "" || len(end.Left) > 0 {
		t.Errorf("stopped: %+v", end)
	}
}

func TestOfMuchOutputTheLastIsKept(t *testing.T) {
	end := shell(t, "yes | head -c 1000000; echo last", nil)
	if len(end.Output) != keepOutput || !strings.HasSuffix(string(end.Output), "y\nlast\n") {
		t.Errorf("%d bytes, want the last %d", len(end.Output), keepOutput)
	}
}

func TestProgramThatDoesNotEndIsStopped(t *testing.T) {
	for name, script := range map[string]string{
		"waits":           "sleep 1000",
		"spins":           "while :; do :; done",
		"ignores signals": "trap '' QUIT TERM INT; while :; do sleep 1000; done",
	} {
		t.Run(name, func(t *testing.T) {
			end := shell(t, script, func(p *Program) { p.Limits.Time = 200 * time.Millisecond })
			if !end.TimedOut {
				t.Errorf("not timed out: %+v", end)
			}
		})
	}
}

func TestWhatIsLeftBehindIsKilledAndNamed(t *testing.T) {
	for name, script := range map[string]string{
		"child":               "sleep 1000 & :",
		"grandchild":          "(sleep 1000 & :) & wait",
		"of its own session":  "setsid sleep 1000 & sleep 0.2",
		"holds the output":    "setsid sleep 1000 >&1 2>&1 3>&3 & sleep 0.2",
		"stopped by a signal": "sleep 1000 & kill -STOP $!",
	} {
		t.Run(name, func(t *testing.T) {
			end := shell(t, script, nil)
			if len(end.Left) != 1 {
				t.Errorf("left %q, want one process", end.Left)
			}
			if all := descendants(); len(all) > 0 {
				t.Errorf("%d processes live or wait to be buried", len(all))
			}
		})
	}
}

func TestTooManyProcessesAreStopped(t *testing.T) {
	end := shell(t, "for i in $(seq 30); do sleep 1000 & done; wait", func(p *Program) { p.Limits.Processes = 20 })
	if end.Over != "it started more than 20 processes" {
		t.Errorf("over %q, state %v", end.Over, end.State)
	}
}

func TestForkBombIsStopped(t *testing.T) {
	end := shell(t, "bomb() { bomb & bomb & wait; }; bomb", func(p *Program) { p.Limits.Processes = 20 })
	if end.Over == "" {
		t.Errorf("not stopped: %v", end.State)
	}
	if all := descendants(); len(all) > 0 {
		t.Errorf("%d processes are left", len(all))
	}
}

// The alarm goes off for processes of others too.
func TestFalseAlarmChangesNothing(t *testing.T) {
	r, err := start(&Program{
		Path: "/bin/sh", Args: []string{"-c", "for i in 1 2 3 4 5; do sleep 0.05; done; echo done"},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir(), Limits: Limits{Processes: 20, Time: 20 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := &End{}
	for range 10 {
		r.alarm(end)
		time.Sleep(10 * time.Millisecond)
	}
	state, err := r.watch(context.Background(), end)
	if output := r.output.read(); err != nil || !state.Success() || end.Over != "" || end.TimedOut || string(output) != "done\n" {
		t.Errorf("%v, %v, %+v, output %s", err, state, end, output)
	}
}

func TestMemoryOfAllProcessesTogetherIsLimited(t *testing.T) {
	// Each shell holds 4 MB in a variable, far from a limit of its own.
	end := shell(t, `for i in $(seq 16); do (x=$(head -c 4000000 /dev/zero | tr '\0' x); sleep 1000) & done; wait`,
		func(p *Program) { p.Limits.Memory = 40 << 20 })
	if end.Over != "it used more than 40 MB of memory" {
		t.Errorf("over %q, state %v, output %s", end.Over, end.State, end.Output)
	}
}

func TestMemoryOfAProcessIsLimited(t *testing.T) {
	end := shell(t, `x=$(head -c 64000000 /dev/zero | tr '\0' x); echo ${#x}`,
		func(p *Program) { p.Limits.Memory = 32 << 20 })
	if strings.Contains(string(end.Output), "64000000") {
		t.Errorf("it has its 64 MB: %s", end.Output)
	}
}

func TestFilesAreLimited(t *testing.T) {
	end := shell(t, "trap '' XFSZ; head -c 2000000 /dev/zero >big; wc -c <big", func(p *Program) { p.Limits.File = 1 << 20 })
	if got := strings.TrimSpace(string(end.Output)); !strings.HasSuffix(got, "1048576") {
		t.Errorf("%s, want a file of 1 MB", got)
	}
}

func TestFilesOutsideAreSafe(t *testing.T) {
	if landlock() == 0 {
		t.Skip("this kernel has no landlock")
	}
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, []byte("here"), 0o666); err != nil {
		t.Fatal(err)
	}
	end := shell(t, "rm -rf "+outside+"; echo x >"+precious+"; echo x >"+outside+"/new; mv "+precious+" .;"+
		"echo ok >inside && mkdir d && mv inside d && cat d/inside >/dev/null && rm -r d && echo own directory is free", nil)
	if text, err := os.ReadFile(precious); string(text) != "here" {
		t.Errorf("the file outside: %q, %v", text, err)
	}
	if files, _ := os.ReadDir(outside); len(files) != 1 {
		t.Errorf("%v outside, want the one file", files)
	}
	if !strings.Contains(string(end.Output), "own directory is free") {
		t.Errorf("output %s", end.Output)
	}
}

func TestProcessesOutsideAreSafe(t *testing.T) {
	if landlock() < 6 {
		t.Skip("this kernel's landlock knows no signals")
	}
	end := shell(t, "kill -0 $PPID && echo reached; sleep 1000 & kill $! && echo own", nil)
	if got := string(end.Output); strings.Contains(got, "reached") || !strings.Contains(got, "own") {
		t.Errorf("output %s, want only its own processes reached", got)
	}
}

func TestProgramRunsAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "jail")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	end := shell(t, "id -u; id -g; id -G; cat "+secret+" && echo read; touch mine && echo wrote", func(p *Program) {
		p.User, p.Dir, p.Limits.Processes = &User{65534, 65534}, dir, 64
	})
	got := string(end.Output)
	if !strings.HasPrefix(got, "65534\n65534\n65534\n") || strings.Contains(got, "read") || !strings.HasSuffix(got, "wrote\n") {
		t.Errorf("output %s", got)
	}
}

func TestWhatCannotBeRunIsAnError(t *testing.T) {
	_, err := Run(context.Background(), &Program{Path: "/nonexistent", Dir: t.TempDir()})
	if err == nil || err.Error() != "run /nonexistent: "+syscall.ENOENT.Error() {
		t.Errorf("error %v", err)
	}
}

func TestInterruptionStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := Run(ctx, &Program{Path: "/bin/sleep", Args: []string{"1000"}, Dir: t.TempDir()})
	if err == nil {
		t.Error("no error")
	}
	if all := descendants(); len(all) > 0 {
		t.Errorf("%d processes are left", len(all))
	}
}
