package main

import (
	"herd/nginxref/event"
	"herd/nginxref/sys"
	"herd/tools/lab"
)

// AddExclusive registers fd in the epoll set ep for input, level-triggered and
// exclusively, with data to be handed back. It returns the kernel's error.
func AddExclusive(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
	lab.TODO("AddExclusive")
	return 0
}

// MoveToEnd makes fd, which AddExclusive has registered in ep, the last one
// that a connection wakes. It returns the kernel's error; if there is one at
// the first call it makes no second.
func MoveToEnd(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
	lab.TODO("MoveToEnd")
	return 0
}

// ReorderAcceptEvents is called after each turn in which this worker accepted
// from ls, and moves it to the end when its time has come. It may count in
// ls.Connection.Requests, which nobody else uses.
//
// In the event core there is a call for each half of MoveToEnd, which also
// keeps account in c.Read.Active, c being ls.Connection:
//
//	cycle.DelEvent(c.Read, event.ReadEvent, event.DisableEvent)
//	cycle.AddEvent(c.Read, event.ReadEvent, event.ExclusiveEvent)
func ReorderAcceptEvents(cycle *event.Cycle, ls *event.Listening) {
	lab.TODO("ReorderAcceptEvents")
}
