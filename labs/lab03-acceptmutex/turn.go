package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Turn is part B: one turn of the worker loop, as the reference's
// Cycle.ProcessEventsAndTimers, without its two weaknesses.
func Turn(cycle *event.Cycle) {
	lab.TODO("Turn")
}
