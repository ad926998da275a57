package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// D31: whether a socket blocks is a property of the open file, which all who
// inherit it share. In Go os.File.Fd and net's File make it block again, and
// then a worker that comes too late for a connection sleeps in accept until
// the next one, deaf to QUIT. Here descriptors are plain numbers: no birth, and
// no upgrade, changes a socket.
func TestD31SocketsStayNonblocking(t *testing.T) {
	s := start(t, nginxref, strings.Replace(portServer(""), "listen ", "listen SOCKET; listen ", 1))
	workers := s.waitForWorkers(s.pid, 4)
	s.checkNonblocking("started", s.pid)

	s.signal(workers[0], syscall.SIGKILL)
	s.wait("another worker", func() bool {
		now := s.workers(s.pid)
		return len(now) == 4 && !slices.Contains(now, workers[0])
	})
	s.checkNonblocking("a worker replaced", s.pid)

	s.reload(4)
	s.checkNonblocking("HUP", s.pid)

	newPid := s.upgrade(s.pid, 4)
	s.checkNonblocking("USR2", s.pid, newPid)

	s.quit(s.pid)
	s.checkNonblocking("QUIT of the old master", newPid)

	s.pid = newPid
	s.reload(4)
	s.checkNonblocking("HUP of the new master", newPid)
	s.get("/")
}

// checkNonblocking checks every socket of masters and their workers: two
// listeners, and in a worker its end of the channel, in a master all ends.
func (s *server) checkNonblocking(step string, masters ...int) {
	s.t.Helper()
	for _, master := range masters {
		for _, pid := range append(s.workers(master), master) {
			sockets, blocking := socketsOf(pid)
			if sockets < 3 || len(blocking) != 0 {
				s.t.Errorf("%s: of %d sockets of %s %d those with descriptor %v block, want 3 or more and none",
					step, sockets, title(pid), pid, blocking)
			}
		}
	}
}

// socketsOf returns how many sockets a process has, apart from what it was
// started on, and which of their descriptors block.
func socketsOf(pid int) (sockets int, blocking []int) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, name := range fds {
		fd, _ := strconv.Atoi(filepath.Base(name))
		file, _ := os.Readlink(name)
		if fd <= 2 || !strings.HasPrefix(file, "socket:") {
			continue
		}
		sockets++
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
		_, flags, _ := strings.Cut(string(info), "flags:\t")
		flags, _, _ = strings.Cut(flags, "\n")
		if mode, err := strconv.ParseInt(flags, 8, 64); err != nil || mode&syscall.O_NONBLOCK == 0 {
			blocking = append(blocking, fd)
		}
	}
	return sockets, blocking
}
