package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Turn is one turn of the worker loop. What it is made of:
//
//	cycle.FindTimer()                        ms until the first timer, or event.TimerInfinite
//	cycle.Actions.TrylockAcceptMutex(cycle)  sets cycle.AcceptMutexHeld
//	cycle.ProcessEvents(timer, flags)        waits at most timer ms; with event.PostEvents in
//	                                         flags it queues what came, else it calls the handlers
//	cycle.AcceptMutex.Unlock()
//	cycle.ExpireTimers()                     calls the handlers of timers that are due
//
// With event.PostEvents, listeners' events go to cycle.PostedAcceptEvents and
// all others to cycle.PostedEvents. event.UpdateTime in flags has the clock
// read after the wait. (nginx reads it otherwise with timer_resolution, which
// this lab leaves out.)
//
// The mutex is tried only if cycle.UseAcceptMutex is set, and not while
// cycle.AcceptDisabled, which each such turn counts down, is above 0.
func Turn(cycle *event.Cycle) {
	lab.TODO("Turn")
}
