package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Accept is part B: what the event core calls when the listener ev.Data is
// ready. event.EventAccept(ev) accepts, one connection or, with multi_accept,
// all that there are; ReorderAcceptEvents is not called in this part. The
// worker's cycle is ev.Data.Cycle, and cycle.Counters.Accepted counts the
// connections that it has accepted in its life.
func Accept(ev *event.Event) {
	lab.TODO("Accept")
}
