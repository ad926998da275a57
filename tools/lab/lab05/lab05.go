// Package lab05 holds the checks and the measurement of lab 05, balance.
package lab05

import (
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	Disabled func(connections, free int) int
	Turn     func(cycle *event.Cycle)

	// Part B.
	RoomTurn func() func(cycle *event.Cycle)
}

// partA puts part A in place of the reference's.
func (f *Functions) partA(cycle *event.Cycle) {
	cycle.Actions.ProcessEventsAndTimers = f.Turn
	cycle.Actions.Accept = func(ev *event.Event) {
		cycle := ev.Data.Cycle
		free, accepted := cycle.FreeConnectionN, cycle.Counters.Accepted
		event.EventAccept(ev)
		if cycle.Counters.Accepted > accepted {
			cycle.AcceptDisabled = f.Disabled(cycle.ConnectionN, free)
		}
	}
}

// partB puts the student's turn in place of the reference's. Part A is the
// reference's: the parts do not depend on each other.
func (f *Functions) partB(cycle *event.Cycle) {
	cycle.Actions.ProcessEventsAndTimers = f.RoomTurn()
}

const (
	readDisabled = "src/event/ngx_event_accept.c 139-140, nginxref/event/ngx_event_accept.go EventAccept, chapters/08-balance.md"
	readTurn     = "src/event/ngx_event.c 219-239, nginxref/event/ngx_event.go ProcessEventsAndTimers, chapters/08-balance.md"
	readRoom     = "nginxref/event/ngx_connection.go GetConnection, nginxref/event/ngx_event_accept.go TrylockAcceptMutex, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 05 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 5,
		Name:   "lab05-balance",
		Title:  "Balance",
		Files:  []string{"balance.go", "turn.go", "room.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "an-eighth-is-kept-free", Points: 15, Read: readDisabled, Run: c.eighth,
				Sentence: "`Disabled` is an eighth of the table, rounded down, less the free slots: above 0 when fewer than an eighth are free, and the larger the fewer."},
			{Part: "A", Name: "a-crowded-worker-does-not-try", Points: 20, Read: readTurn, Run: c.doesNotTry,
				Sentence: "While `cycle.AcceptDisabled` is above 0 the worker does not try for the lock; each turn takes 1 off, and the turn after that tries again."},
			{Part: "A", Name: "a-crowded-worker-serves-its-clients", Points: 5, Read: readTurn, Run: c.servesItsClients,
				Sentence: "A crowded worker serves its clients like any other."},
			{Part: "A", Name: "seven-eighths-and-then-another", Points: 15, Read: readTurn, Run: c.sevenEighths,
				Sentence: "If connections come further apart than the delay, a worker takes seven eighths of its table and leaves the next ones to another."},
			{Part: "A", Name: "with-room-nothing-changes", Points: 10, Read: readTurn, Run: c.withRoom,
				Sentence: "As long as there is room, a connection wakes the worker that has the lock and no other."},
			{Part: "B", Name: "nobody-is-refused", Points: 15, Read: readRoom, Run: c.nobodyIsRefused,
				Sentence: "However fast connections come, none is refused as long as any worker has a free slot."},
			{Part: "B", Name: "others-go-first", Points: 5, Read: readRoom, Run: c.othersFirst,
				Sentence: "No worker is full while another has more than half of its table free."},
			{Part: "B", Name: "the-crowded-take-the-rest", Points: 5, Read: readRoom, Run: c.takeTheRest,
				Sentence: "When all are crowded, all free slots are used: a connection waits no longer than two delays for each worker."},
			{Part: "B", Name: "the-full-have-them-wait", Points: 5, Read: readRoom, Run: c.haveThemWait,
				Sentence: "When all are full, connections wait in the queue, and nobody spins; when a client leaves, the next one is accepted within two delays."},
			{Part: "B", Name: "who-lets-go-is-not-registered", Points: 5, Read: readRoom, Run: c.notRegistered,
				Sentence: "A worker that lets others go first is not registered meanwhile."},
		},
	}
}
