package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// twoWorkers answers "one" to everything.
const twoWorkers = `
worker_processes 2;
error_log error.log info;
events {}
http {
    access_log off;
    server {
        listen SOCKET;
        location / { return 200 "one\n"; }
        location = /status { stub_status; }
    }
}
`

// checkPids checks which masters the pid files name; 0 is no file.
func (s *server) checkPids(step string, pid, oldbin int) {
	s.t.Helper()
	if got, old := s.pidfile("nginx.pid"), s.pidfile("nginx.pid.oldbin"); got != pid || old != oldbin {
		s.t.Errorf("%s: nginx.pid is %d, nginx.pid.oldbin %d, want %d and %d", step, got, old, pid, oldbin)
	}
}

// upgrade sends USR2 to a master and returns the new one, once it is at work.
func (s *server) upgrade(pid, workers int) (newPid int) {
	s.t.Helper()
	s.signal(pid, syscall.SIGUSR2)
	s.wait("new master", func() bool {
		newPid = s.pidfile("nginx.pid")
		return newPid != 0 && newPid != pid && s.pidfile("nginx.pid.oldbin") == pid
	})
	s.waitForWorkers(newPid, workers)
	return newPid
}

// D11: the documented way to another binary and back, under load.
func TestD11UpgradeAndBack(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	s.waitForWorkers(s.pid, 2)
	load := s.load(4, 4)
	defer load.end()
	s.checkPids("started", s.pid, 0)

	newPid := s.upgrade(s.pid, 2)
	s.checkPids("USR2", newPid, s.pid)
	if n := len(s.workers(s.pid)); n != 2 {
		t.Errorf("USR2: the old master has %d workers, both are to serve", n)
	}
	load.progress(100)

	s.edit(`"one\n"`, `"two\n"`) // which the old master must not notice

	s.signal(s.pid, syscall.SIGWINCH)
	s.waitForWorkers(s.pid, 0)
	s.checkPids("WINCH", newPid, s.pid)
	load.progress(100)

	s.signal(s.pid, syscall.SIGHUP)
	s.waitForWorkers(s.pid, 2)
	s.checkPids("HUP", newPid, s.pid)
	load.progress(100)

	s.signal(newPid, syscall.SIGQUIT)
	s.wait("old pid file back", func() bool { return s.pidfile("nginx.pid") == s.pid })
	s.wait("end of the new master", func() bool { return s.logged(fmt.Sprintf("new binary process %d exited with code 0", newPid)) == 1 })
	s.checkPids("QUIT of the new one", s.pid, 0)
	if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
		t.Errorf("the old workers read the configuration again: %q", answer)
	}
	load.progress(100)

	// Once more, and this time forward.
	newPid = s.upgrade(s.pid, 2)
	s.quit(s.pid)
	s.checkPids("QUIT of the old one", newPid, 0)
	if answer := s.get("/"); !strings.HasSuffix(answer, "two\n") {
		t.Errorf("the new master did not read the configuration: %q", answer)
	}
	load.progress(100)
	load.stop.Store(true)
	load.clients.Wait()

	// The new generation obeys WINCH too.
	s.signal(newPid, syscall.SIGWINCH)
	s.waitForWorkers(newPid, 0)
	s.quit(newPid)
	s.checkPids("end", 0, 0)
}

// D10 and D30: there are two masters at the most. The pid files are right
// after each refusal, and no signal brings down a master.
func TestD10D30SecondUpgradeIsRefused(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	const refused = "signal 12 (SIGUSR2) received, ignoring"

	newPid := s.upgrade(s.pid, 2)
	for i, pid := range []int{s.pid, newPid, s.pid} {
		s.signal(pid, syscall.SIGUSR2)
		s.waitForLog(refused, i+1)
		s.checkPids("USR2 refused", newPid, s.pid)
	}
	if n := s.logged("the changing binary signal is ignored"); n != 3 {
		t.Errorf("%d of 3 refusals give a reason", n)
	}
	if n := s.logged("changing binary\n"); n != 2 {
		t.Errorf("the binary was changed: %d lines, want the signal's and the change's", n)
	}
	for _, pid := range []int{s.pid, newPid} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("master %d: %v", pid, err)
		}
	}

	s.quit(s.pid)
	s.quit(newPid)
	s.checkPids("end", 0, 0)
}

// Two signals at once are one upgrade.
func TestD30TwoUpgradesAtOnce(t *testing.T) {
	s := start(t, nginxref, twoWorkers)

	s.signal(s.pid, syscall.SIGUSR2)
	newPid := s.upgrade(s.pid, 2)
	s.checkPids("USR2 twice", newPid, s.pid)

	s.quit(s.pid)
	s.checkPids("QUIT", newPid, 0)
	s.quit(newPid)
}

// A binary that cannot be started leaves everything as it was.
func TestUpgradeToNothing(t *testing.T) {
	gone := filepath.Join(shortDir(t), "nginxref")
	text, err := os.ReadFile(nginxref)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gone, text, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, gone, twoWorkers)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}

	s.signal(s.pid, syscall.SIGUSR2)
	s.waitForLog("execve() failed while executing new binary process", 1)
	s.wait("pid file", func() bool { return s.pidfile("nginx.pid") == s.pid })
	s.checkPids("USR2", s.pid, 0)
	s.get("/")
	s.quit(s.pid)
}

// D07: the file of a Unix socket belongs to the last generation.
func TestD07UnixSocketOutlivesEitherGeneration(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	path := strings.TrimPrefix(s.addr, "unix:")

	newPid := s.upgrade(s.pid, 2)
	s.quit(s.pid) // the old one
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("after QUIT of the old master: %v", err)
	}
	s.get("/")

	newest := s.upgrade(newPid, 2)
	s.signal(newest, syscall.SIGTERM) // the new one
	s.wait("pid file", func() bool { return s.pidfile("nginx.pid") == newPid })
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("after TERM of the new master: %v", err)
	}
	s.get("/")

	s.quit(newPid)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the last generation: %v", err)
	}
}

// What an upgrade hands over is looked at before it is used.
func TestD29InheritedNumbersAreLookedAt(t *testing.T) {
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte("events {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ inherited, want string }{
		{"0;x;", "[emerg] invalid socket number \"x;\" in NGINX environment variable, ignoring the rest of the variable"},
		{"0", "[emerg] invalid socket number \"0\" in NGINX environment variable, ignoring\n"},
		{"0;", "[crit] getsockname() of the inherited socket #0 failed (88: Socket operation on non-socket)"},
	} {
		t.Setenv("NGINX", test.inherited)
		r := run(t, nginxref, "-p", dir, "-t")
		if r.Code != 0 || !strings.Contains(r.Stderr, test.want) {
			t.Errorf("NGINX=%s: exit code %d, %q", test.inherited, r.Code, r.Stderr)
		}
	}
}
