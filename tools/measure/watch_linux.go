package measure

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"herd/nginxref/stat"
)

// Master is a running nginx, or nginxref, that can be watched.
type Master struct {
	Pid     int
	Title   string // as ps shows it
	Program string // the title before its colon
}

// Masters returns those that run here, in the order of their process ids.
func Masters() []Master {
	entries, _ := os.ReadDir("/proc")
	var masters []Master
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if m, err := MasterOf(pid); err == nil && m.Pid == pid {
			masters = append(masters, m)
		}
	}
	slices.SortFunc(masters, func(a, b Master) int { return cmp.Compare(a.Pid, b.Pid) })
	return masters
}

// MasterOf returns the master that pid is, or whose worker it is.
func MasterOf(pid int) (Master, error) {
	title := titleOf(pid)
	if title == "" {
		return Master{}, fmt.Errorf("no process has the id %d", pid)
	}
	program, role, _ := strings.Cut(title, ": ")
	switch {
	case strings.HasPrefix(role, "master process"):
		return Master{pid, title, program}, nil
	case strings.HasPrefix(role, "worker process"):
		return MasterOf(parentOf(pid))
	}
	return Master{}, fmt.Errorf("process %d is %q, no master or worker of nginx", pid, title)
}

// titleOf returns a process's title; empty if it is gone, or a kernel thread.
func titleOf(pid int) string {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
}

func parentOf(pid int) (parent int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range bytes.Lines(status) {
		fmt.Sscanf(string(line), "PPid: %d", &parent)
	}
	return parent
}

// Watched is a master whose workers are looked at from outside.
type Watched struct {
	Master
	// Source says where the figures come from, and Missing what would be
	// needed for those that are not there.
	Source  string
	Missing error

	zone   *zone
	slots  []stat.Worker
	probes map[int]*Tracepoints // by worker
}

// WorkerState is what one worker has done so far. What its source cannot say
// is 0, see Counts and Locks.
type WorkerState struct {
	Pid int
	Sample
	ReturnsSignal uint64
	Connections   uint64 // in use now
	LockTries     uint64
	LockWins      uint64
	LockHoldNsec  uint64
}

// Watch begins to watch m's workers: nginxref's counters are in its shared
// zone, nginx's work is counted by the kernel's tracepoints from now on, and
// without those there are its context switches.
func Watch(m Master) *Watched {
	w := &Watched{Master: m, probes: map[int]*Tracepoints{}}
	z := &zone{}
	if z.find(m.Pid, 0) {
		if _, slots, err := stat.ZoneAt(z.mem); err == nil {
			w.zone, w.slots = z, slots
			w.Source = "its own counters"
			return w
		}
	}
	w.Source = "tracepoints"
	if w.Missing = WitnessMissing(); w.Missing != nil {
		w.Source = "context switches"
	}
	return w
}

// Counts reports whether accepts and returns are known, not only wakeups.
func (w *Watched) Counts() bool { return w.Missing == nil }

// Locks reports whether the accept mutex and the connections are known.
func (w *Watched) Locks() bool { return w.zone != nil }

// ErrEnded says that the master that was watched is gone.
var ErrEnded = errors.New("the master has ended")

// Workers returns the state of each worker that runs now.
func (w *Watched) Workers() ([]WorkerState, error) {
	if titleOf(w.Pid) != w.Title {
		return nil, ErrEnded
	}
	pids := childrenOf(w.Pid, w.Program+": worker process")
	w.forget(pids)
	states := make([]WorkerState, 0, len(pids))
	for _, pid := range pids {
		if s, err := w.worker(pid); err == nil {
			states = append(states, s)
		} else if titleOf(pid) != "" {
			return nil, fmt.Errorf("worker %d: %w", pid, err)
		} // else it has just ended
	}
	return states, nil
}

// forget ends the probes of workers that are not among pids.
func (w *Watched) forget(pids []int) {
	for pid, probe := range w.probes {
		if !slices.Contains(pids, pid) {
			probe.Close()
			delete(w.probes, pid)
		}
	}
}

// worker returns the state of one worker.
func (w *Watched) worker(pid int) (WorkerState, error) {
	switch {
	case w.zone != nil:
		return w.counted(pid)
	case w.Missing != nil:
		s := WorkerState{Pid: pid}
		s.Wakeups = loopThread(pid).sleeps
		s.CPUNsec, _ = cpuNsec(pid)
		return s, nil
	}
	probe := w.probes[pid]
	if probe == nil {
		var err error
		if probe, err = OpenTracepoints([]int{pid}); err != nil {
			return WorkerState{}, err
		}
		w.probes[pid] = probe
	}
	samples, err := probe.Samples()
	if err != nil {
		return WorkerState{}, err
	}
	s := WorkerState{Pid: pid, Sample: samples[0]}
	s.CPUNsec, _ = cpuNsec(pid)
	return s, nil
}

// counted returns what a worker says of itself, and the wakeups of the wait
// it is in, if it sleeps there.
func (w *Watched) counted(pid int) (WorkerState, error) {
	i := slices.IndexFunc(w.slots, func(s stat.Worker) bool { return s.Pid == uint64(pid) })
	if i < 0 {
		return WorkerState{Pid: pid}, nil // it has not begun
	}
	slot := w.slots[i]
	s := WorkerState{
		Pid:           pid,
		Sample:        sampleOf(&slot),
		ReturnsSignal: slot.ReturnsSignal,
		Connections:   slot.Connections,
		LockTries:     slot.LockTries,
		LockWins:      slot.LockWins,
		LockHoldNsec:  slot.LockHoldNsec,
	}
	t := loopThread(pid)
	if t.asleep && slot.Wait.Inside == 1 && slot.Wait == w.slots[i].Wait {
		s.Wakeups += t.sleeps - slot.Wait.SleepsBefore - 1
	}
	return s, nil
}

// Close ends the watching.
func (w *Watched) Close() {
	w.forget(nil)
	if w.zone != nil {
		w.zone.close()
	}
}
