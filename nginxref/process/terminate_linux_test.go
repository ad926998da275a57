package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// CASES D02. A worker that reads its channel may wake the master by SIGIO. A
// master that repeats TERM whenever it wakes then feeds the worker for as long
// as it reads, and it never comes to leave (nginx until 9b67ca0e4). Now
// workers+2 wakeups pass without, unless the timer goes off.
//
// Linux sends that signal only if the channel was full, so the test sends it.
// The workers are stopped meanwhile and keep what they are told in their
// channels; then the master is, and they read it in one go.
func TestTerminateIsNotRepeatedAtEveryWakeup(t *testing.T) {
	const n = 3
	for _, wakeups := range []int{0, 4 * (n + 3)} {
		t.Run(fmt.Sprint(wakeups, " wakeups"), func(t *testing.T) {
			s := start(t, conf{Workers: n})
			workers := s.pids(0, n-1)
			for _, pid := range workers {
				s.stop(pid)
			}
			s.signal(syscall.SIGTERM)
			s.seen(1, `termination cycle: 50$`)
			// SIGKILL comes after 1600 ms: time enough for the rest.
			for i := 0; i < wakeups && len(s.lines(`termination cycle: 400$`)) == 0; i++ {
				s.signal(syscall.SIGIO)
				s.seen(i+1, `signal 29 \(SIGIO\) received`)
			}
			s.stopAsleep()
			for _, pid := range workers {
				syscall.Kill(pid, syscall.SIGCONT)
				s.until("the worker has left", func() bool { return dead(pid) })
			}

			woken, alarms := s.wakeupsSince(`signal 15 \(SIGTERM\) received`)
			woken-- // by TERM itself
			fewest := 1 + woken/(n+3)
			for _, pid := range workers {
				told := len(s.lines(by(pid) + `channel command: 4$`))
				if told < fewest || told > fewest+alarms {
					t.Errorf("worker %d was told %d times to terminate, want %d to %d for %d wakeups, %d of them by the timer",
						pid, told, fewest, fewest+alarms, woken, alarms)
				}
			}
			s.signal(syscall.SIGCONT)
			s.gone()
			s.logged(n, `worker process \d+ exited with code 0`)
			s.quiet()
		})
	}
}

// stop stops a process with all its threads.
func (s *server) stop(pid int) {
	s.t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	s.until(fmt.Sprintf("process %d has stopped", pid), func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(task string) bool {
			text, err := os.ReadFile(task)
			return err == nil && text[strings.LastIndexByte(string(text), ')')+2] != 'T'
		})
	})
}

// stopAsleep stops the master while it sleeps: it has done all it was asked
// for.
func (s *server) stopAsleep() {
	s.t.Helper()
	s.until("the master is stopped in its sleep", func() bool {
		s.idle()
		s.stop(s.pid())
		if s.sleeps() {
			return true
		}
		s.signal(syscall.SIGCONT)
		return false
	})
}

// wakeupsSince returns how often the master has woken since it logged expr,
// and how often the timer signal has come.
func (s *server) wakeupsSince(expr string) (wakeups, alarms int) {
	for _, line := range s.lines(by(s.pid()) + `(` + expr + `|wake up, |signal 14 )`) {
		switch {
		case strings.Contains(line, ": wake up, "):
			wakeups++
		case strings.Contains(line, ": signal 14 "):
			alarms++
		default:
			wakeups, alarms = 0, 0
		}
	}
	return wakeups, alarms
}
