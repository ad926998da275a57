package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// Turn is one turn of the worker loop. It differs from the reference in what a
// worker does that is too full to try for the lock: it lets go of its
// registration, so that it does not accept beside the next holder, and it
// still wakes after accept_mutex_delay, or nothing would wake it once it has
// room again.
func Turn(cycle *event.Cycle) {
	timer := cycle.FindTimer()
	var flags uint = event.UpdateTime

	if cycle.UseAcceptMutex {
		if !tryUnlessFull(cycle) {
			return
		}
		if cycle.AcceptMutexHeld {
			flags |= event.PostEvents
		} else if timer == event.TimerInfinite || timer > cycle.AcceptMutexDelay {
			timer = cycle.AcceptMutexDelay
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

// tryUnlessFull tries for the lock, or lets go of the registration if the
// worker is too full. It reports whether the turn can go on.
func tryUnlessFull(cycle *event.Cycle) bool {
	if cycle.AcceptDisabled <= 0 {
		return cycle.Actions.TrylockAcceptMutex(cycle) != core.Error
	}
	cycle.AcceptDisabled--
	if cycle.AcceptMutexHeld {
		if cycle.Actions.DisableAcceptEvents(cycle, false) == core.Error {
			return false
		}
		cycle.AcceptMutexHeld = false
	}
	return true
}
