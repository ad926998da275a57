package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
	for _, field := range s.listeners() {
		inodes = append(inodes, field[9])
	}
	return inodes
}

// listeners returns what the kernel tells of the sockets that listen on the
// server's port, as in /proc/net/tcp: number, address, peer, state, length of
// the queues ..., the tenth is the inode.
func (s *server) listeners() (fields [][]string) {
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
		field := strings.Fields(line)
		if strings.HasSuffix(field[1], fmt.Sprintf(":%04X", port)) && field[3] == "0A" {
			fields = append(fields, field)
		}
	}
	return fields
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
