package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// thread is the state of a process's main thread, the one that runs the event
// loop. The zero value stands for a process that is gone.
type thread struct {
	asleep bool
	sleeps uint64 // voluntary context switches
}

// loopThread reads /proc/PID/status, which speaks of the main thread.
func loopThread(pid int) (t thread) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return thread{}
	}
	for line := range bytes.Lines(status) {
		if state, ok := bytes.CutPrefix(line, []byte("State:\t")); ok {
			t.asleep = state[0] == 'S'
		}
		if n, ok := bytes.CutPrefix(line, []byte("voluntary_ctxt_switches:\t")); ok {
			t.sleeps, _ = strconv.ParseUint(string(bytes.TrimSpace(n)), 10, 64)
		}
	}
	return t
}

// cpuNsec returns the CPU time of pid's main thread in nanoseconds, from the
// scheduler's own account (/proc/PID/sched).
func cpuNsec(pid int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/sched", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "se.sum_exec_runtime" {
			ms, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return uint64(ms * 1e6), err
		}
	}
	return 0, fmt.Errorf("/proc/%d/sched has no se.sum_exec_runtime", pid)
}

// childrenOf returns the children of pid that run under the given title, in
// the order of their process ids. A child is listed by the thread that started
// it, and in a Go process that can be any.
func childrenOf(pid int, title string) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var pids []int
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			cmdline, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if child, err := strconv.Atoi(field); err == nil && strings.HasPrefix(string(cmdline), title) {
				pids = append(pids, child)
			}
		}
	}
	slices.Sort(pids)
	return pids
}
