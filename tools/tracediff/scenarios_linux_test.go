package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const nginxPath = "/usr/sbin/nginx"

// nginxref is this tree's program, built for the tests.
var nginxref string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tracediff-test")
	if err == nil {
		defer os.RemoveAll(dir)
		nginxref, err = build(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		fmt.Fprintln(os.Stderr, "a process was left behind:", pid, err)
		return 1
	}
	return code
}

// needNginx skips the test where there is no nginx that nginxref mirrors.
func needNginx(t *testing.T) {
	t.Helper()
	version, err := checkNginx(nginxPath)
	if err != nil {
		t.Skip(err)
	}
	if version != "nginx/1.22.1" {
		t.Skipf("nginxref mirrors 1.22.1, and %s is %s", nginxPath, version)
	}
	if os.Geteuid() != 0 {
		t.Skip("nginx makes its directories below /var only for root")
	}
}

// openDir returns a temporary directory below which workers of another user
// can reopen their logs.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tracediff-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// brief are the scenarios of a short run.
var brief = map[string]bool{"kill": true, "exclusive": true, "signals": true}

func TestScenariosAlign(t *testing.T) {
	needNginx(t)
	list, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		t.Run(list[i].name, func(t *testing.T) {
			if testing.Short() && !brief[list[i].name] {
				t.Skip("a long scenario")
			}
			r, err := compareScenario(t.Context(), &list[i], [2]string{nginxPath, nginxref}, openDir(t))
			if err != nil {
				t.Fatal(err)
			}
			if r.share.unexplained > 0 {
				details := strings.Builder{}
				r.writeDetails(&details)
				t.Error(details.String())
			}
			if r.share.aligned < r.share.steps*8/10 {
				t.Errorf("only %d of %d steps align; the rest is explained away", r.share.aligned, r.share.steps)
			}
		})
	}
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	needNginx(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(patience, cancel).Stop()

	// The name of the server's directory appears when it starts.
	go func() {
		for ctx.Err() == nil {
			if logs, _ := filepath.Glob(filepath.Join(os.TempDir(), "tracediff*/takeover/nginx/error.log")); len(logs) > 0 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var stdout, stderr strings.Builder
	if code := execute(ctx, []string{"takeover"}, &stdout, &stderr); code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s%s", code, exitInterrupted, stdout.String(), stderr.String())
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("process %d is left, %v", pid, err)
	}
	if files, _ := os.ReadDir(os.TempDir()); len(files) > 0 {
		t.Errorf("files are left: %v", files)
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-h"}, 0, "Scenarios:"},
		{[]string{"-x"}, exitUsage, "-x"},
		{[]string{"none"}, exitUsage, `no scenario "none"`},
		{[]string{"-nginx", "/none"}, exitNoNginx, "apt-get install nginx"},
		{[]string{"-nginx", "/bin/true"}, exitNoNginx, "--with-debug"},
	} {
		var stdout, stderr strings.Builder
		code := execute(t.Context(), tt.args, &stdout, &stderr)
		if code != tt.code || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%q: exit code %d, want %d; %q, want %q", tt.args, code, tt.code, stderr.String(), tt.stderr)
		}
	}
}

// An nginx that does something else: the second server has another
// configuration.
func TestADifferenceIsFound(t *testing.T) {
	needNginx(t)
	s, err := parseScenario("other", `
worker_processes 2;
events { accept_mutex off; worker_connections 64; }
http { server { access_log off; listen 127.0.0.1:PORT; location / { return 200; } } }
---
connect a
get a
`)
	if err != nil {
		t.Fatal(err)
	}
	other := s
	other.conf = strings.Replace(s.conf, "off;", "on;", 1)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	a, err := observe(t.Context(), &s, nginxPath, filepath.Join(t.TempDir(), "a"), port)
	if err != nil {
		t.Fatal(err)
	}
	b, err := observe(t.Context(), &other, nginxPath, filepath.Join(t.TempDir(), "b"), port)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Builder{}
	for _, c := range compare(a, b) {
		c.writeFirstDifference(&out)
	}
	if !strings.Contains(out.String(), "  accept mutex locked\n") {
		t.Errorf("the difference shown is %q", out.String())
	}
}

func TestScriptErrorsNameTheCommand(t *testing.T) {
	for script, want := range map[string]string{
		"dance a":            "no such command",
		"connect":            "usage: connect NAME",
		"repeat many\nend":   `"repeat many"`,
		"repeat 2\nx\nend\n": "no such command",
	} {
		if _, err := parseScript(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
	}
}

func TestScriptRepeats(t *testing.T) {
	list, err := parseScript("repeat 2\n  connect c%\n  get c% 3 &\nend\n# done\nclose c1\n")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range list {
		got += fmt.Sprintf("%s %q %t; ", c.op.name, c.args, c.busy)
	}
	want := `connect ["c1"] false; get ["c1" "3"] true; connect ["c2"] false; get ["c2" "3"] true; close ["c1"] false; `
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
