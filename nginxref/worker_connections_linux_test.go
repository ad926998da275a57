package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// CASES B17: each listening socket takes a connection of every worker, and the
// channel to the master one more. With fewer, workers could only exit with
// code 2, and the master would not replace them; so it is the configuration
// that is refused, with both numbers, and no worker is started.
func TestB17TooFewConnectionsStartNoWorker(t *testing.T) {
	onBoth(t, func(t *testing.T, binary string) {
		for _, test := range []struct {
			connections, listeners int
			reuseport              bool
			enough                 bool
		}{
			{0, 0, false, false}, // there is a channel without a listener too
			{1, 1, false, false},
			{2, 1, false, true},
			{2, 2, false, false},
			{3, 2, false, true},
			{1, 1, true, false},
			{2, 1, true, true}, // of 4 sockets a worker has one
		} {
			t.Run(fmt.Sprintf("%d for %d, reuseport %v", test.connections, test.listeners, test.reuseport), func(t *testing.T) {
				text := withConnections(test.connections, test.listeners, test.reuseport)
				if test.enough {
					s := start(t, binary, text)
					s.waitForWorkers(s.pid, 4)
					s.startedWorkers(4)
					return
				}
				s := &server{t: t, dir: shortDir(t)}
				t.Cleanup(s.kill)
				s.configure(strings.NewReplacer("SOCKET", "unix:"+s.dir+"/s", "PORT", strconv.Itoa(freePort(t))).Replace("pid nginx.pid;\n" + text))
				before := children(os.Getpid())

				got := masked(run(t, binary, "-p", s.dir, "-c", "nginx.conf", "-e", "error.log"))

				want := result{Code: 1, Stderr: "nginxref: [emerg] " + notEnough(test.connections, test.listeners) + "\n"}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
				s.startedWorkers(0)
				// Whatever loses its parent becomes the test's child, dead or not.
				if after := children(os.Getpid()); !slices.Equal(before, after) {
					t.Errorf("processes are left: %v, before %v", after, before)
				}
			})
		}
	})
}

// The same at a reload: the workers there are stay, and no other is tried.
func TestB17TooFewConnectionsAtAReload(t *testing.T) {
	onBoth(t, func(t *testing.T, binary string) {
		s := start(t, binary, withConnections(8, 2, false))
		workers := s.waitForWorkers(s.pid, 4)
		s.startedWorkers(4)

		s.edit("worker_connections 8", "worker_connections 2")
		s.signal(s.pid, syscall.SIGHUP)
		s.waitForLog(fmt.Sprintf("[emerg] %d#%[1]d: %s", s.pid, notEnough(2, 2)), 1)
		s.edit("worker_connections 2", "worker_connections 1")
		s.signal(s.pid, syscall.SIGHUP) // so the first is dealt with
		s.waitForLog(fmt.Sprintf("[emerg] %d#%[1]d: %s", s.pid, notEnough(1, 2)), 1)

		s.startedWorkers(4)
		if d := cmp.Diff(workers, children(s.pid)); d != "" {
			t.Errorf("workers:\n%s", d)
		}
		if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
			t.Errorf("answer %q", answer)
		}
	})
}

func notEnough(connections, listeners int) string {
	return fmt.Sprintf("%d worker_connections are not enough for %d listening sockets", connections, listeners)
}

// withConnections is 4 workers with so many connections and listeners.
func withConnections(connections, listeners int, reuseport bool) string {
	text := fmt.Sprintf("worker_processes 4;\nerror_log error.log notice;\nevents { worker_connections %d; }\n", connections)
	if listeners == 0 {
		return text
	}
	text += "http {\n access_log off;\n server {\n  return 200 \"one\\n\";\n"
	for i := range listeners {
		name := "SOCKET"
		if i > 0 {
			name += fmt.Sprint(i)
		}
		if reuseport {
			name = "127.0.0.1:PORT reuseport"
		}
		text += "  listen " + name + ";\n"
	}
	return text + " }\n}\n"
}

// startedWorkers holds how many workers the log says were ever started.
func (s *server) startedWorkers(want int) {
	s.t.Helper()
	if n := s.logged("start worker process "); n != want {
		s.t.Errorf("%d workers were started, want %d:\n%s", n, want, s.read("error.log"))
	}
}
