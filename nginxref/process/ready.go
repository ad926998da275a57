package process

import (
	"slices"
	"syscall"
	"time"

	"herd/nginxref/event"
	"herd/nginxref/stat"
)

// At a reload nginx gives the new workers 100 ms and then tells the old ones to
// leave, whatever the new ones do by then. If their start takes longer nobody
// accepts in between, and the queues may overflow. Here the master goes on
// waiting for those that are not ready.
const (
	lookAgain    = 5     // ms
	longestStart = 10000 // ms; a worker that takes longer is not waited for
)

// DIVERGES: all of this file; nginx has nothing like it.

// awaitWorkers sleeps until each worker that has just been started is ready or
// has ended, or the master is told to stop.
func (p *Process) awaitWorkers(cycle *event.Cycle) {
	for slept := 0; slept < longestStart && p.starting(cycle) && !p.stopPending(); slept += lookAgain {
		time.Sleep(lookAgain * time.Millisecond)
	}
}

// starting reports whether a worker that has just been started has neither
// waited for events, of which it leaves word in the shared zone, nor ended.
func (p *Process) starting(cycle *event.Cycle) bool {
	_, slots, err := stat.ZoneAt(cycle.Shm.Addr)
	if err != nil {
		return false
	}

	for i := range p.LastProcess {
		e, slot := &p.Processes[i], &slots[i]
		ready := slot.Pid == uint64(e.Pid) && slot.Ready == 1
		if e.Pid != -1 && e.justSpawn && !ready && !ended(e.Pid) {
			return true
		}
	}
	return false
}

// stopPending reports whether a signal has come that ends the server.
func (p *Process) stopPending() bool {
	for i := range signals {
		stop := slices.Contains([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT}, signals[i].signo)
		if stop && p.pending[i].Load() {
			return true
		}
	}
	return false
}
