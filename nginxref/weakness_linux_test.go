package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Weaknesses of nginx that show in a running server, in the real one too. Where
// this tree's is mended it does the other thing in the same scenario.

// twoSmallWorkers have few descriptors or few connections.
const twoSmallWorkers = `
worker_processes 2;
worker_rlimit_nofile %d;
error_log error.log debug;
events { accept_mutex off; worker_connections %d; }
http {
    access_log off;
    keepalive_timeout 0;
    server {
        listen 127.0.0.1:PORT;
        location / { return 200 "one\n"; }
    }
}
`

// startSmall starts twoSmallWorkers and returns them too.
func startSmall(t *testing.T, binary string, descriptors, connections int) (s *server, workers []int) {
	t.Helper()
	s = start(t, binary, fmt.Sprintf(twoSmallWorkers, descriptors, connections))
	return s, s.waitForWorkers(s.pid, 2)
}

// logs reports whether a process has logged a line that begins so.
func (s *server) logs(pid int, level, text string) bool {
	return s.logged(fmt.Sprintf("%s %d#%[2]d: %s", level, pid, text)) > 0
}

// An upgrade that cannot begin, because there is no pid file to rename, leaves
// the reload what it was. nginx keeps the -1 of the failure as the new
// binary's process id, and takes each HUP from then on for the way back from an
// upgrade: it reads no configuration, and adds a set of workers.
func TestReloadAfterAFailedUpgrade(t *testing.T) {
	failed := func(t *testing.T, binary string) *server {
		s, _ := startSmall(t, binary, 256, 64)
		if err := os.Remove(filepath.Join(s.dir, "nginx.pid")); err != nil {
			t.Fatal(err)
		}
		s.signal(s.pid, syscall.SIGUSR2)
		s.waitForLog("failed before executing new binary process", 1)
		s.edit("one", "two")
		s.signal(s.pid, syscall.SIGHUP)
		return s
	}
	t.Run("nginxref", func(t *testing.T) {
		s := failed(t, nginxref)
		s.wait("new configuration", func() bool { return strings.HasSuffix(s.get("/"), "two\n") })
		s.wait("end of the old workers", func() bool { return len(children(s.pid)) == 2 })
	})
	t.Run("nginx", func(t *testing.T) {
		needNginx(t)
		s := failed(t, nginxBinary)
		s.waitForWorkers(s.pid, 4)
		s.signal(s.pid, syscall.SIGHUP)
		s.waitForWorkers(s.pid, 6)
		if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
			t.Errorf("the configuration was read: %q", answer)
		}
	})
}

// CASES D21 in a running server: its workers are out of descriptors when a
// reload starts new ones, whose channels they are sent. The old ones must leave
// all the same. nginx's close their own channel on it and hear no more orders:
// they go on serving even when the master was told to quit.
func TestReloadOutOfDescriptors(t *testing.T) {
	reloaded := func(t *testing.T, binary string) (s *server, old []int) {
		s, old = startSmall(t, binary, 24, 64)
		var clients []net.Conn
		s.wait("lack of descriptors", func() bool {
			clients = append(clients, s.connect("GET / HTTP/1.0\r\n"))
			return s.logs(old[0], "[crit]", "accept4() failed") && s.logs(old[1], "[crit]", "accept4() failed")
		})
		s.signal(s.pid, syscall.SIGHUP)
		s.wait("new workers", func() bool { return len(s.workers(s.pid))+len(s.leaving(s.pid)) == 4 })
		s.wait("lost channels", func() bool {
			return s.logs(old[0], "[alert]", "recvmsg()") && s.logs(old[1], "[alert]", "recvmsg()")
		})
		for _, client := range clients {
			client.Close()
		}
		return s, old
	}
	t.Run("nginxref", func(t *testing.T) {
		s, old := reloaded(t, nginxref)
		s.wait("end of the old workers", func() bool { return len(children(s.pid)) == 2 })
		if now := s.waitForWorkers(s.pid, 2); slices.Equal(now, old) {
			t.Errorf("the new workers have left")
		}
	})
	t.Run("nginx", func(t *testing.T) {
		needNginx(t)
		s, old := reloaded(t, nginxBinary)
		s.signal(s.pid, syscall.SIGQUIT)
		s.wait("end of the new workers", func() bool { return len(children(s.pid)) == 2 })
		if now := s.waitForWorkers(s.pid, 2); !slices.Equal(now, old) {
			t.Errorf("workers %v are left, want the old ones, %v", now, old)
		}
		if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
			t.Errorf("answer %q", answer)
		}
	})
}

// Without the accept mutex too a worker whose table is full goes on accepting,
// and does not come to the move to the end of the wait queue: once it is the
// first there it turns away whoever finds it asleep. This tree's server does
// what nginx does.
func TestFullWorkerIsAskedFirst(t *testing.T) {
	for _, binary := range []string{nginxref, nginxBinary} {
		t.Run(filepath.Base(binary), func(t *testing.T) {
			if binary == nginxBinary {
				needNginx(t)
			}
			s, _ := startSmall(t, binary, 256, 20)
			full, clients := s.fillOne(18) // the listener and the channel have two
			others := 0
			for client, worker := range clients {
				if worker != full {
					client.Close()
					others++
				}
			}
			s.waitForLog(" close http connection: ", others)

			refused := 0
			s.wait("20 clients in a row that are turned away", func() bool {
				refused++
				if s.served() {
					refused = 0
				}
				return refused == 20
			})
		})
	}
}

// accepts is a line of the debug log: the worker has accepted.
var accepts = regexp.MustCompile(`\[debug\] (\d+)#\d+: \*\d+ accept: `)

// fillOne connects clients until one worker has so many of them. It returns
// that worker's process id, and each client's.
func (s *server) fillOne(places int) (full string, clients map[net.Conn]string) {
	clients = map[net.Conn]string{}
	held := map[string]int{}
	for held[full] < places {
		client := s.connect("GET / HTTP/1.0\r\n")
		var lines [][]string
		s.wait("accept", func() bool {
			lines = accepts.FindAllStringSubmatch(s.read("error.log"), -1)
			return len(lines) > len(clients)
		})
		full = lines[len(lines)-1][1]
		clients[client] = full
		held[full]++
	}
	return full, clients
}

// served reports whether a client gets an answer.
func (s *server) served() bool {
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	answer, _ := io.ReadAll(conn) // an end or a reset, if it is turned away
	return strings.HasSuffix(string(answer), "one\n")
}
