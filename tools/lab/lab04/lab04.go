// Package lab04 holds the checks and the measurement of lab 04, posted events.
package lab04

import (
	"herd/nginxref/event"
	"herd/nginxref/queue"
	"herd/tools/lab"
)

// Batch is how many connections a worker of part B takes at most before it
// goes on with its other work.
const Batch = 16

// Functions are what the student writes.
type Functions struct {
	PostEvent      func(ev *event.Event, q *queue.Queue)
	ProcessPosted  func(cycle *event.Cycle, posted *queue.Queue)
	MovePostedNext func(cycle *event.Cycle)
	Turn           func(cycle *event.Cycle)

	// Part B.
	FairTurn   func(cycle *event.Cycle)
	FairAccept func(ev *event.Event)
}

const (
	readPosted = "src/event/ngx_event_posted.h 17-36, src/event/ngx_event_posted.c 18-36, nginxref/event/ngx_event_posted.go, chapters/07-posted-events.md"
	readNext   = "src/event/ngx_event_posted.c 39-60, nginxref/event/ngx_event_posted.go MovePostedNext, chapters/07-posted-events.md"
	readTurn   = "src/event/ngx_event.c 193-264, nginxref/event/ngx_event.go ProcessEventsAndTimers, chapters/07-posted-events.md"
	readFair   = "nginxref/event/ngx_event_posted.go ProcessPosted, nginxref/event/ngx_event_accept.go EventAccept, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 04 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 4,
		Name:   "lab04-posted",
		Title:  "Posted events",
		Files:  []string{"posted.go", "turn.go", "fair.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "first-posted-first-served", Points: 5, Read: readPosted, Run: c.firstInFirstOut,
				Sentence: "Events are handled in the order in which they were posted."},
			{Part: "A", Name: "posted-twice-runs-once", Points: 5, Read: readPosted, Run: c.postedTwice,
				Sentence: "An event that is in a queue already stays where it is."},
			{Part: "A", Name: "a-handler-may-post", Points: 5, Read: readPosted, Run: c.handlerPosts,
				Sentence: "An event is off its queue when its handler runs, and what the handler posts, itself included, is handled in the same go."},
			{Part: "A", Name: "next-turn-asks-the-kernel", Points: 10, Read: readNext, Run: c.nextTurn,
				Sentence: "Between two runs of an event that was put off to the next turn the kernel is asked exactly once, and not slept in."},
			{Part: "A", Name: "accepts-hold-the-lock", Points: 10, Read: readTurn, Run: c.acceptsHoldTheLock,
				Sentence: "A worker accepts only while it has the lock, and before it does anything else that the wait has brought."},
			{Part: "A", Name: "only-accepts-hold-the-lock", Points: 15, Read: readTurn, Run: c.onlyAccepts,
				Sentence: "Between the end of the wait and the unlock no handler runs but that of an accepted connection: not a client's, not a timer's, not one that was posted."},
			{Part: "A", Name: "the-lock-goes-back-every-turn", Points: 5, Read: readTurn, Run: c.lockGoesBack,
				Sentence: "The lock goes back in every turn, whatever the worker was woken for."},
			{Part: "A", Name: "posted-work-is-done-before-the-wait", Points: 10, Read: readTurn, Run: c.doneBeforeTheWait,
				Sentence: "What is posted in a turn, by a timer's handler too, is handled before the worker waits again."},
			{Part: "A", Name: "who-has-no-lock-comes-back", Points: 5, Read: readTurn, Run: c.comesBack,
				Sentence: "A worker without the lock serves its clients, and waits at most `cycle.AcceptMutexDelay` before it tries again; after a try that ended with `core.Error` it does not wait at all. While `cycle.AcceptDisabled` is above 0 it does not try, and counts it down."},
			{Part: "B", Name: "a-burst-starves-nobody", Points: 10, Read: readFair, Run: c.burstStarvesNobody,
				Sentence: "However many connections wait, a client that was there before is served after at most `lab04.Batch` of them."},
			{Part: "B", Name: "a-burst-takes-few-turns", Points: 5, Read: readFair, Run: c.fewTurns,
				Sentence: "A burst of connections takes one return of `epoll_wait` for each `lab04.Batch` of them, and one more at most."},
			{Part: "B", Name: "a-failed-accept-ends-the-batch", Points: 5, Read: readFair, Run: c.failedAccept,
				Sentence: "An accept that failed is the last of its batch."},
			{Part: "B", Name: "who-posts-itself-lets-others-run", Points: 5, Read: readFair, Run: c.letsOthersRun,
				Sentence: "A handler that posts its own event again and again does not keep the worker from the kernel: another client is served after two more runs at most."},
			{Part: "B", Name: "nothing-posted-is-slept-on", Points: 5, Read: readFair, Run: c.notSleptOn,
				Sentence: "The worker does not sleep while anything is posted, and asks the kernel once between two runs of the same event."},
		},
	}
}
