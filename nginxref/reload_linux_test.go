package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// onPort is a server on a TCP port; LISTEN is more parameters of listen.
const onPort = `
worker_processes 4;
error_log error.log info;
events { worker_connections 256; }
http {
    access_log off;
    server {
        listen 127.0.0.1:PORTLISTEN;
        location / { return 200 "one\n"; }
    }
}
`

func portServer(listen string) string { return strings.ReplaceAll(onPort, "LISTEN", listen) }

// reload sends HUP and waits until all workers are new ones.
func (s *server) reload(workers int) {
	s.t.Helper()
	before := children(s.pid)
	s.signal(s.pid, syscall.SIGHUP)
	s.wait("new workers", func() bool {
		now := children(s.pid)
		for _, pid := range before {
			for _, other := range now {
				if pid == other {
					return false
				}
			}
		}
		return len(s.workers(s.pid)) == workers && len(now) == workers
	})
}

// sockets returns the inode numbers of the sockets that listen on the
// server's port.
func (s *server) sockets() (inodes []string) {
	s.t.Helper()
	_, text, _ := strings.Cut(s.addr, ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		field := strings.Fields(line) // number, address, peer, state ... inode is the tenth
		if strings.HasSuffix(field[1], fmt.Sprintf(":%04X", port)) && field[3] == "0A" {
			inodes = append(inodes, field[9])
		}
	}
	return inodes
}

// The issue's own figures: 16 clients that keep their connections and 16 that
// do not, 20 reloads, no failed request.
func TestReloadUnderLoadLosesNothing(t *testing.T) {
	s := start(t, nginxref, portServer(""))
	s.waitForWorkers(s.pid, 4)
	sockets := s.sockets()
	load := s.load(16, 16)
	defer load.end()

	for range 20 {
		s.reload(4)
		load.progress(50)
	}

	if d := cmp.Diff(sockets, s.sockets()); d != "" || len(sockets) != 1 {
		t.Errorf("the listening socket is another one:\n%s", d)
	}
	if n := s.logged("reconfiguring\n"); n != 2*20 { // received, and done
		t.Errorf("reconfigured %d times, want 20", n/2)
	}
	if n := s.logged("[alert]") + s.logged("[emerg]"); n != 0 {
		t.Errorf("%d alerts:\n%s", n, s.read("error.log"))
	}
}

// C02: a connection belongs to the socket that the kernel chose for it. As
// long as the workers keep their sockets none is lost, however they are
// replaced; and none on a shared socket, however many workers there are.
func TestC02SocketsSurviveReloads(t *testing.T) {
	t.Run("reuseport, as many workers", func(t *testing.T) {
		s := start(t, nginxref, portServer(" reuseport"))
		s.waitForWorkers(s.pid, 4)
		sockets := s.sockets()
		load := s.load(4, 4)
		defer load.end()

		for range 4 {
			s.reload(4)
			load.progress(50)
		}

		if d := cmp.Diff(sockets, s.sockets()); d != "" || len(sockets) != 4 {
			t.Errorf("%d sockets, of which after the reloads:\n%s", len(sockets), d)
		}
	})
	t.Run("shared, 4 workers and 1", func(t *testing.T) {
		s := start(t, nginxref, portServer(""))
		s.waitForWorkers(s.pid, 4)
		load := s.load(4, 4)
		defer load.end()

		for range 2 {
			s.edit("worker_processes 4", "worker_processes 1")
			s.reload(1)
			load.progress(50)
			s.edit("worker_processes 1", "worker_processes 4")
			s.reload(4)
			load.progress(50)
		}
	})
	t.Run("reuseport, 4 workers and 1", func(t *testing.T) {
		s := start(t, nginxref, portServer(" reuseport"))
		s.waitForWorkers(s.pid, 4)

		s.edit("worker_processes 4", "worker_processes 1")
		s.reload(1)
		if n := len(s.sockets()); n != 1 {
			t.Errorf("%d sockets of 1 worker: those without one must be closed", n)
		}
		s.get("/")
		s.edit("worker_processes 1", "worker_processes 4")
		s.reload(4)
		if n := len(s.sockets()); n != 4 {
			t.Errorf("%d sockets of 4 workers", n)
		}
		for range 16 { // each socket is somebody's
			s.get("/")
		}
	})
	t.Run("shared, then reuseport", func(t *testing.T) {
		s := start(t, nginxref, portServer(""))
		s.waitForWorkers(s.pid, 4)

		s.edit("listen 127.0.0.1:"+strings.TrimPrefix(s.addr, "127.0.0.1:"), "listen "+s.addr+" reuseport")
		s.reload(4)
		if n := len(s.sockets()); n != 4 {
			t.Errorf("%d sockets of 4 workers", n)
		}
		for range 16 {
			s.get("/")
		}
	})
}

// C04: the workers may be counted after the listen directive is read.
func TestC04NumberOfWorkersMayComeLast(t *testing.T) {
	for _, text := range []string{
		portServer(" reuseport"),
		strings.Replace(portServer(" reuseport"), "worker_processes 4;", "", 1) + "worker_processes 4;\n",
	} {
		s := start(t, nginxref, text)
		if n := len(s.sockets()); n != 4 {
			t.Errorf("%d sockets of 4 workers with\n%s", n, text)
		}
	}
}

// C01 with clients: tests of the configuration do not take connections from a
// server at work.
func TestC01ConfigTestsDisturbNobody(t *testing.T) {
	s := start(t, nginxref, portServer(" reuseport"))
	load := s.load(4, 4)
	defer load.end()

	for range 10 {
		if r := run(t, nginxref, "-p", s.dir, "-t"); r.Code != 0 {
			t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
		}
		load.progress(20)
	}
	if pid := s.pidfile("nginx.pid"); pid != s.pid {
		t.Errorf("the pid file names %d, not %d", pid, s.pid)
	}
}

// A configuration that is bad, or cannot be put to work, changes nothing.
func TestBadConfigurationKeepsTheOldCycle(t *testing.T) {
	s := start(t, nginxref, portServer(""))
	workers := s.waitForWorkers(s.pid, 4)
	sockets := s.sockets()
	good := s.read("nginx.conf")
	inUse := start(t, nginxref, portServer("")).addr

	for i, test := range []struct{ old, new, want string }{
		{"events", "nothing;\nevents", `[emerg] %d#%[1]d: unknown directive "nothing" in `},
		{"256", "1", `[emerg] %d#%[1]d: 1 worker_connections are not enough for 1 listening sockets`},
		{"error.log", "none/error.log", `[emerg] %d#%[1]d: open() "DIR/none/error.log" failed (2: No such file or directory)`},
		{"listen ", "listen unix:none/s; listen ", `[emerg] %d#%[1]d: bind() to unix:none/s failed (2: No such file or directory)`},
		{"listen ", "listen " + inUse + "; listen ", `[emerg] %d#%[1]d: still could not bind()`},
	} {
		s.configure(strings.Replace(good, test.old, test.new, 1))
		s.signal(s.pid, syscall.SIGHUP)
		s.waitForLog(fmt.Sprintf(strings.ReplaceAll(test.want, "DIR", s.dir), s.pid), 1)
		s.waitForLog("reconfiguring\n", 2*(i+1))

		if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
			t.Errorf("%s: answer %q", test.new, answer)
		}
		if d := cmp.Diff(workers, children(s.pid)); d != "" {
			t.Errorf("%s: workers:\n%s", test.new, d)
		}
		if d := cmp.Diff(sockets, s.sockets()); d != "" {
			t.Errorf("%s: sockets:\n%s", test.new, d)
		}
	}

	s.configure(strings.Replace(good, "one", "two", 1))
	s.reload(4)
	if answer := s.get("/"); !strings.HasSuffix(answer, "two\n") {
		t.Errorf("after all that a good one: %q", answer)
	}
}

// Sockets that are not configured any more are closed, those of Unix with
// their files, and new ones opened.
func TestReloadOpensAndClosesSockets(t *testing.T) {
	s := start(t, nginxref, twoWorkers)
	path := strings.TrimPrefix(s.addr, "unix:")

	s.edit("listen "+s.addr, "listen "+s.addr+"2")
	s.reload(2)

	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s: %v", path, err)
	}
	s.addr += "2"
	s.get("/")
}

// The pid file and the lock file may be other ones after a reload; the lock
// is made once.
func TestReloadMovesThePidFile(t *testing.T) {
	s := start(t, nginxref, "lock_file a.lock;\n"+twoWorkers)

	s.edit("pid nginx.pid", "pid other.pid")
	s.edit("a.lock", "b.lock")
	s.reload(2)

	if pid, old := s.pidfile("other.pid"), s.pidfile("nginx.pid"); pid != s.pid || old != 0 {
		t.Errorf("other.pid has %d, nginx.pid %d; the master is %d", pid, old, s.pid)
	}
	if n := s.logged(`"lock_file" could not be changed, ignored`); n != 1 {
		t.Errorf("%d warnings about the lock file", n)
	}
	s.quit(s.pid)
	if pid := s.pidfile("other.pid"); pid != 0 {
		t.Errorf("other.pid is left behind with %d", pid)
	}
}

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
