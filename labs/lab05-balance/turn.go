package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Turn is one turn of the worker loop. It is complete but for balance: make a
// crowded worker (cycle.AcceptDisabled > 0) leave out the try for the lock, and
// what follows from it.
func Turn(cycle *event.Cycle) {
	timer := cycle.FindTimer()
	var flags uint = event.UpdateTime

	if cycle.UseAcceptMutex {
		lab.TODO("Turn")

		if cycle.Actions.TrylockAcceptMutex(cycle) == core.Error {
			return
		}
		if cycle.AcceptMutexHeld {
			flags |= event.PostEvents
		} else {
			timer = min(timer, cycle.AcceptMutexDelay) // event.TimerInfinite is the largest
		}
	}

	if !cycle.PostedNextEvents.Empty() {
		cycle.MovePostedNext()
		timer = 0
	}

	cycle.ProcessEvents(timer, flags)
	cycle.ProcessPosted(&cycle.PostedAcceptEvents)
	if cycle.AcceptMutexHeld {
		cycle.AcceptMutex.Unlock()
	}
	cycle.ExpireTimers()
	cycle.ProcessPosted(&cycle.PostedEvents)
}
