package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Leave is part B: this worker stops accepting for good. It unregisters its
// listeners, frees their connections (cycle.FreeConnection, and c.Fd = -1),
// closes all listening sockets that it has inherited (cycle.Kernel.Close) and
// empties cycle.Listening.
func Leave(cycle *event.Cycle) {
	lab.TODO("Leave")
}

// Adopt is part B: another worker leaves, and this one takes its sockets over.
// It may run before the other's Leave, at the same time, or after it.
func Adopt(cycle *event.Cycle, worker int) core.Status {
	lab.TODO("Adopt")
	return core.OK
}
