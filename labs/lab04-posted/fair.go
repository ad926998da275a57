package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// FairTurn is part B: a turn whose last step handles what was posted before
// the step began. What handlers post meanwhile waits, in the same queue, for
// the next turn, which then does not sleep.
func FairTurn(cycle *event.Cycle) {
	lab.TODO("FairTurn")
}

// FairAccept is part B: the handler of a listener's event ev. It takes up to
// lab04.Batch connections off the queue.
//
// event.EventAccept(ev), with multi_accept off as it is here, takes one. Whether
// it did shows in ev.Data.Cycle.Counters.Accepted.
func FairAccept(ev *event.Event) {
	lab.TODO("FairAccept")
}
