package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// Leave is nginx's own. What nginx lacks is a worker that adopts the sockets: it
// closes them in every process, and the kernel resets what waits in their
// queues.
var Leave = (*event.Cycle).CloseListeningSockets

// Adopt makes the sockets of a worker that leaves this worker's own. All
// workers have inherited them: as long as one has a socket open its queue
// lives. Registered, level-triggered, a queue that is not empty is an event at
// once; it does not matter which of the two workers is first.
func Adopt(cycle *event.Cycle, worker int) core.Status {
	for _, ls := range cycle.Listening {
		if !ls.Reuseport || ls.Worker != worker {
			continue
		}
		ls.Worker = cycle.Worker
		if cycle.InitListening(ls) == core.Error {
			ls.Worker = worker
			return core.Error
		}
	}
	return core.OK
}
