package process

import (
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// A worker that crashes as soon as it is started would be started again, and
// crash, more than a hundred times a second, and nginx lets it. Here the first
// one is replaced at once; after that each that crashes young is replaced
// later than the one before. One that was killed (SIGKILL) did not crash.
const (
	young      = 1000 // ms; a worker that lived longer was all right
	firstPause = 50   // ms, then twice as long each time
	longest    = 1000 // ms
)

// DIVERGES: all of this file; nginx has nothing like it.

// crashed sets the pause before the worker in e, which has just been waited
// for, is replaced.
func (p *Process) crashed(e *Entry) {
	now := p.Cycle.Time.CurrentMsec
	lived := now - e.started
	status := e.Status

	switch {
	case !status.Signaled() || status.Signal() == syscall.SIGKILL || lived >= young:
		e.pause = 0
		e.young = 0
		return
	case e.young > 0:
		e.pause = min(core.Msec(firstPause)<<(e.young-1), longest)
	}
	e.young = min(e.young+1, 10)
	e.after = now + e.pause
}

// pausing reports whether the worker in e must not be replaced yet, and has
// the master woken when it may.
func (p *Process) pausing(cycle *event.Cycle, e *Entry) bool {
	if e.pause == 0 || p.terminate || p.quit || e.exiting {
		return false
	}
	left := core.MsecInt(e.after - cycle.Time.CurrentMsec)
	if left <= 0 {
		e.pause = 0
		return false
	}
	if p.pauseEnds == 0 || core.MsecInt(e.after-p.pauseEnds) < 0 {
		if err := setitimer(core.Msec(left)); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "setitimer() failed")
			return false
		}
		p.pauseEnds = e.after
	}
	return true
}
