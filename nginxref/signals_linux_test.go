package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// D06: the file of a Unix socket goes with the master.
func TestD06UnixSocketGoesWithTheMaster(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT} {
		s := start(t, nginxref, twoWorkers)
		path := strings.TrimPrefix(s.addr, "unix:")

		for _, worker := range s.waitForWorkers(s.pid, 2)[:1] { // but not with a worker
			s.signal(worker, sig)
			s.wait("another worker", func() bool {
				workers := s.workers(s.pid)
				return len(workers) == 2 && workers[0] != worker && workers[1] != worker
			})
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("after %v to a worker: %v", sig, err)
		}

		s.signal(s.pid, sig)
		s.waitForEnd(s.pid)
		for _, name := range []string{path, filepath.Join(s.dir, "nginx.pid")} {
			if _, err := os.Stat(name); !os.IsNotExist(err) {
				t.Errorf("after %v: %s: %v", sig, name, err)
			}
		}
	}
}

// D08: a master that was killed leaves its socket file behind, which does not
// keep the next one from starting.
func TestD08StartsAfterKill(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	s.kill()

	if r := run(t, nginxref, "-p", s.dir); r.Code != 0 {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	s.get("/")
	s.quit(s.pidfile("nginx.pid"))
}

// D24: of each generation only workers that somebody still uses stay, and
// those no longer than worker_shutdown_timeout.
func TestD24OldWorkersLeave(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	conn := s.connect("GET / HTTP/1.1\r\nHost: a\r\n") // a request that never ends
	// The worker that has it may not know it yet.
	s.wait("connection", func() bool { return strings.Contains(s.status(), "Active connections: 2 ") })

	for range 3 {
		s.signal(s.pid, syscall.SIGHUP)
		s.wait("2 new workers and 1 old", func() bool {
			return len(s.workers(s.pid)) == 2 && len(s.leaving(s.pid)) == 1 && len(children(s.pid)) == 3
		})
	}
	if _, err := io.WriteString(conn, "\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "Connection: close\r\n") || !strings.HasSuffix(string(answer), "one\n") {
		t.Errorf("answer of the old worker: %q, error %v", answer, err)
	}
	s.waitForWorkers(s.pid, 2)

	s.edit("worker_processes", "worker_shutdown_timeout 200ms;\nworker_processes")
	s.edit("error.log info", "error.log debug_core")
	s.reload(2)
	// A body that goes on and on: the worker reads it to its end, or would for
	// half a minute.
	conn = s.connect("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	go func() {
		for _, err := conn.Write([]byte("a")); err == nil; _, err = conn.Write([]byte("a")) {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	readAnswer(t, bufio.NewReader(conn))
	s.signal(s.pid, syscall.SIGHUP)
	s.waitForLog(" shutdown timeout\n", 1)
	s.wait("2 workers", func() bool { return len(s.workers(s.pid)) == 2 && len(children(s.pid)) == 2 })
}

// status returns the page of stub_status.
func (s *server) status() string { return s.get("/status") }

// G07: a reload ends idle connections at once, and others with their answer.
func TestG07ConnectionsAcrossAReload(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	workers := s.waitForWorkers(s.pid, 2)
	idle := s.connect("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	r := bufio.NewReader(idle)
	readAnswer(t, r)
	active := s.connect("GET / HTTP/1.1\r\n")
	s.wait("connections", func() bool { return strings.Contains(s.status(), "Active connections: 3 ") })

	s.signal(s.pid, syscall.SIGHUP)
	if rest, err := io.ReadAll(r); err != nil || len(rest) != 0 {
		t.Errorf("the idle connection got %q, error %v, want its end", rest, err)
	}
	if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
		t.Errorf("a new connection: %q", answer)
	}

	s.wait("new workers", func() bool { return len(s.workers(s.pid)) == 2 && len(s.leaving(s.pid)) == 1 })
	for _, pid := range s.workers(s.pid) {
		if pid == workers[0] || pid == workers[1] {
			t.Errorf("worker %d is an old one", pid)
		}
	}
	io.WriteString(active, "Host: a\r\n\r\n")
	if answer, err := io.ReadAll(active); err != nil || !strings.Contains(string(answer), "\r\nConnection: close\r\n") {
		t.Errorf("the active connection got %q, error %v", answer, err)
	}
}

// readAnswer reads one answer with the body "one".
func readAnswer(t *testing.T, r *bufio.Reader) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "one\n" {
			return
		}
	}
}

// G08: what each signal does, as the log of the process tells.
func TestG08Signals(t *testing.T) {
	for _, test := range []struct {
		sig            syscall.Signal
		master, worker string
	}{
		{syscall.SIGHUP, "1 (SIGHUP) received, reconfiguring", "1 (SIGHUP) received, ignoring"},
		{syscall.SIGUSR1, "10 (SIGUSR1) received, reopening logs", "10 (SIGUSR1) received, reopening logs"},
		{syscall.SIGUSR2, "12 (SIGUSR2) received, changing binary", "12 (SIGUSR2) received, ignoring"},
		{syscall.SIGWINCH, "28 (SIGWINCH) received, stop accepting connections", "28 (SIGWINCH) received, shutting down"},
		{syscall.SIGQUIT, "3 (SIGQUIT) received, shutting down", "3 (SIGQUIT) received, shutting down"},
		{syscall.SIGTERM, "15 (SIGTERM) received, exiting", "15 (SIGTERM) received, exiting"},
		{syscall.SIGINT, "2 (SIGINT) received, exiting", "2 (SIGINT) received, exiting"},
	} {
		s := start(t, nginxref, twoWorkers)
		worker := s.waitForWorkers(s.pid, 2)[0]

		s.signal(worker, test.sig)
		s.waitForLog(fmt.Sprintf("%d#%[1]d: signal %s\n", worker, test.worker), 1)
		s.signal(s.pid, test.sig)
		s.waitForLog(fmt.Sprintf("%d#%[1]d: signal %s\n", s.pid, test.master), 1)
	}
}

var logTime = regexp.MustCompile(`(?m)^[0-9/]+ [0-9:]+ `)

// USR1 opens the log files anew, in the workers too, and -s reopen does the
// same. A worker that is started in between writes where the others do.
func TestReopenLogs(t *testing.T) {
	s := start(t, nginxref, strings.Replace(twoWorkers, "access_log off", "access_log access.log", 1))
	move := func(name string) {
		if err := os.Rename(filepath.Join(s.dir, name), filepath.Join(s.dir, name+".1")); err != nil {
			t.Fatal(err)
		}
	}
	s.get("/before")
	s.wait("line", func() bool { return strings.Contains(s.read("access.log"), "GET /before ") })

	move("access.log")
	old := s.waitForWorkers(s.pid, 2)
	for _, worker := range old {
		s.signal(worker, syscall.SIGKILL)
	}
	s.wait("respawned workers", func() bool {
		now := s.workers(s.pid)
		return len(now) == 2 && now[0] != old[0] && now[0] != old[1] && now[1] != old[0] && now[1] != old[1]
	})
	s.get("/between")
	s.wait("line", func() bool { return strings.Contains(s.read("access.log.1"), "GET /between ") })

	move("error.log")
	if r := run(t, nginxref, "-p", s.dir, "-s", "reopen"); r.Code != 0 {
		t.Fatalf("-s reopen: %d, %s", r.Code, r.Stderr)
	}
	for _, worker := range s.workers(s.pid) {
		// Said before the files are opened; each has its own descriptors.
		s.wait("reopening", func() bool {
			return strings.Contains(s.read("error.log.1")+s.read("error.log"), fmt.Sprintf("%d#%[1]d: reopening logs", worker))
		})
	}
	s.wait("line in the new file", func() bool {
		s.get("/after")
		return strings.Contains(s.read("access.log"), "GET /after ")
	})
	if strings.Contains(s.read("access.log"), "GET /b") {
		t.Error("lines from before are in the new file")
	}
	s.quit(s.pid)
	if text := s.read("error.log"); !strings.HasSuffix(logTime.ReplaceAllString(text, ""), fmt.Sprintf("[notice] %d#%[1]d: exit\n", s.pid)) {
		t.Errorf("the new error log ends with %q", text[max(0, len(text)-200):])
	}
}

// -s finds the master by its pid file.
func TestSignalOption(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	for _, test := range []struct{ word, want string }{
		{"reload", "signal 1 (SIGHUP) received, reconfiguring"},
		{"reopen", "signal 10 (SIGUSR1) received, reopening logs"},
		{"quit", "signal 3 (SIGQUIT) received, shutting down"},
	} {
		if r := run(t, nginxref, "-p", s.dir, "-s", test.word); r != (result{}) {
			t.Errorf("-s %s: %+v", test.word, r)
		}
		s.waitForLog(test.want, 1)
	}
	s.waitForEnd(s.pid)

	want := result{Code: 1, Stderr: "nginxref: [error] open() \"" + s.dir + "/nginx.pid\" failed (2: No such file or directory)\n"}
	if r := run(t, nginxref, "-p", s.dir, "-s", "stop"); r != want {
		t.Errorf("-s stop without a master: %+v, want %+v", r, want)
	}
}

// A daemon that cannot start is not reported as started.
func TestDaemonReportsItsFailure(t *testing.T) {
	dir := shortDir(t)
	for _, test := range []struct{ text, want string }{
		{"events {}\nhttp { server { listen unix:none/s; } }\n", "nginxref: [emerg] bind() to unix:none/s failed (2: No such file or directory)\n"},
		{"pid none/nginx.pid;\nevents {}\n", "nginxref: [emerg] open() \"" + dir + "/none/nginx.pid\" failed (2: No such file or directory)\n"},
		{"nothing;\n", "nginxref: [emerg] unknown directive \"nothing\" in " + dir + "/nginx.conf:1\n"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := run(t, nginxref, "-p", dir); r != (result{Stderr: test.want, Code: 1}) {
			t.Errorf("%q: %+v, want %q", test.text, r, test.want)
		}
	}
}

// The log of the start is opened twice on the way to a daemon. That it cannot
// be is said once.
func TestDaemonSaysOnceThatItHasNoLog(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	text := "pid nginx.pid;\nerror_log error.log;\nevents {}\nhttp { access_log off; server { listen unix:none/s; } }\n"
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, daemon := range []string{"on", "off"} {
		r := compare(t, "-p", dir, "-e", "none/error.log", "-c", "nginx.conf", "-g", "daemon "+daemon+";")
		if r.Code != 1 || !strings.Contains(r.Stderr, "could not open error log file") {
			t.Errorf("daemon %s: %+v", daemon, r)
		}
	}
}
