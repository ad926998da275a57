package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/queue"
	"herd/tools/lab/lab04"
)

// FairTurn is nginx's turn but for its end: a handler that posts its own event
// waits for the next turn, and so for a look at the kernel. As long as anything
// is posted, that look does not sleep.
func FairTurn(cycle *event.Cycle) {
	timer := cycle.FindTimer()
	var flags uint = event.UpdateTime

	if cycle.UseAcceptMutex {
		if cycle.AcceptDisabled > 0 {
			cycle.AcceptDisabled--
		} else {
			if cycle.Actions.TrylockAcceptMutex(cycle) == core.Error {
				return
			}
			if cycle.AcceptMutexHeld {
				flags |= event.PostEvents
			} else {
				timer = min(timer, cycle.AcceptMutexDelay) // TimerInfinite is the largest
			}
		}
	}

	if !cycle.PostedNextEvents.Empty() {
		MovePostedNext(cycle)
	}
	if !cycle.PostedEvents.Empty() {
		timer = 0
	}

	cycle.ProcessEvents(timer, flags)
	ProcessPosted(cycle, &cycle.PostedAcceptEvents)
	if cycle.AcceptMutexHeld {
		cycle.AcceptMutex.Unlock()
	}
	cycle.ExpireTimers()
	processOnce(cycle, &cycle.PostedEvents)
}

// processOnce handles the events that are posted now, and leaves those that
// their handlers post in the queue.
func processOnce(cycle *event.Cycle, posted *queue.Queue) {
	if posted.Empty() {
		return
	}
	var now queue.Queue
	now.Init()
	now.Add(posted)
	posted.Init()
	ProcessPosted(cycle, &now)
}

// FairAccept takes up to Batch connections. A failure may have unregistered the
// listener and given the lock back, so it ends the batch; so does an empty
// queue. What is left in a longer one is reported again: the listener is
// level-triggered.
func FairAccept(ev *event.Event) {
	counters := ev.Data.Cycle.Counters
	for range lab04.Batch {
		before := counters.Accepted
		event.EventAccept(ev)
		if counters.Accepted == before {
			return
		}
	}
}
