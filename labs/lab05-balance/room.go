package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// RoomTurn is part B. It returns the turn of one worker, in which it takes part
// only if it has room, and lets the others go first when it is crowded.
//
//	cycle.FreeConnectionN        slots that are free now, of cycle.ConnectionN
//	cycle.AcceptDisabled         set by nginx's accept, as in part A; to 1 if it
//	                             ran out of descriptors
//	cycle.AcceptMutexHeld        the listeners are registered;
//	                             cycle.Actions.DisableAcceptEvents(cycle, false)
//	                             unregisters them
func RoomTurn() func(cycle *event.Cycle) {
	// What the worker remembers from one turn to the next goes here.
	return func(cycle *event.Cycle) {
		lab.TODO("RoomTurn")
	}
}
