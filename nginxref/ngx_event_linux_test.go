package main

import (
	"fmt"
	"strings"
	"testing"
)

// withMutex is two workers that take turns, with more directives in events.
func withMutex(events string) string {
	text := strings.Replace(twoWorkers, "events {", "events { "+events, 1)
	return strings.Replace(text, "info", "debug_event", 1)
}

// The lock of accept_mutex may be a file, which is made once; a worker has it
// open, though it has no name any more.
func TestAcceptMutexMayBeAFile(t *testing.T) {
	s := start(t, nginxref, "lock_file lock;\n"+withMutex("accept_mutex on; accept_mutex_lock file;"))
	for _, worker := range s.waitForWorkers(s.pid, 2) {
		if !hasOpen(worker, s.dir+"/lock.accept (deleted)") {
			t.Errorf("worker %d does not have the lock file open", worker)
		}
	}
	s.get("/")

	s.edit("accept_mutex_lock file", "accept_mutex_lock atomic")
	s.reload(2)
	if n := s.logged(`"accept_mutex_lock" could not be changed, ignored`); n != 1 {
		t.Errorf("%d warnings", n)
	}
	for _, worker := range s.workers(s.pid) {
		if !hasOpen(worker, s.dir+"/lock.accept (deleted)") {
			t.Errorf("worker %d has another lock than those before it", worker)
		}
	}
	s.get("/")
	s.quit(s.pid)
}

func TestAcceptMutexIsAWordByDefault(t *testing.T) {
	s := start(t, nginxref, "lock_file lock;\n"+withMutex("accept_mutex on;"))
	for _, worker := range s.waitForWorkers(s.pid, 2) {
		if hasOpen(worker, s.dir+"/lock.accept") {
			t.Errorf("worker %d has a lock file", worker)
		}
	}
	s.waitForLog("accept mutex locked", 1)
	s.get("/")
}

// accept_exclusive decides how the listener is registered.
func TestAcceptExclusive(t *testing.T) {
	const exclusive = " op:1 ev:10000001\n" // EPOLLEXCLUSIVE | EPOLLIN
	for _, test := range []struct {
		events string
		want   int
	}{
		{"", 2},
		{"accept_exclusive on;", 2},
		{"accept_exclusive off;", 0},
	} {
		s := start(t, nginxref, withMutex(test.events))
		for _, worker := range s.waitForWorkers(s.pid, 2) {
			s.waitForLog(fmt.Sprintf("%d#%[1]d: epoll timer: ", worker), 1) // it waits
		}
		if n := s.logged(exclusive); n != test.want {
			t.Errorf("%q: %d of 2 workers registered exclusively, want %d", test.events, n, test.want)
		}
		s.get("/")
	}
}
