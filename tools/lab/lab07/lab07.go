// Package lab07 holds the checks and the measurement of lab 07, reuseport.
package lab07

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	CloneListening func(cycle *event.Cycle, ls *event.Listening)
	InitListening  func(cycle *event.Cycle, ls *event.Listening) core.Status

	// Part B.
	Leave func(cycle *event.Cycle)
	Adopt func(cycle *event.Cycle, worker int) core.Status
}

// partA has the student's functions make the listeners of cycle, which the
// configuration has one of, and register them.
func (f *Functions) partA(cycle *event.Cycle) {
	cycle.Listening = cycle.Listening[:1:1]
	f.CloneListening(cycle, cycle.Listening[0])
	cycle.Modules[0] = f.eventModule()
}

// eventModule is the event module with the student's InitListening in it.
func (f *Functions) eventModule() event.Module {
	module := event.CoreModule
	module.InitProcess = func(cycle *event.Cycle) core.Status {
		listening := cycle.Listening
		cycle.Listening = nil
		if event.CoreModule.InitProcess(cycle) == core.Error {
			return core.Error
		}
		cycle.Listening = listening
		for _, ls := range listening {
			if f.InitListening(cycle, ls) == core.Error {
				return core.Error
			}
		}
		return core.OK
	}
	return module
}

const (
	readClone = "src/core/ngx_connection.c 98-131, nginxref/event/ngx_connection.go CloneListening, chapters/09-exclusive-reuseport.md"
	readInit  = "src/event/ngx_event.c 783-914, nginxref/event/ngx_event.go InitListening, chapters/09-exclusive-reuseport.md"
	readLeave = "src/core/ngx_connection.c 1024-1093, nginxref/event/ngx_connection.go CloseListeningSockets, epoll(7) question 6, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 07 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 7,
		Name:   "lab07-reuseport",
		Title:  "Reuseport",
		Files:  []string{"reuseport.go", "leave.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "a-socket-for-each-worker", Points: 10, Read: readClone, Run: c.socketForEach,
				Sentence: "There are as many listening sockets as workers: number 0 is the one that was configured, and each of the others is like it but for its `Worker`."},
			{Part: "A", Name: "only-reuseport-is-cloned", Points: 5, Read: readClone, Run: c.onlyReuseport,
				Sentence: "A listener without reuseport is not cloned, and a clone is not cloned again."},
			{Part: "A", Name: "a-worker-registers-its-own", Points: 15, Read: readInit, Run: c.registersItsOwn,
				Sentence: "A worker has a connection for its own socket and registers it; with the sockets of the others it does nothing."},
			{Part: "A", Name: "one-wakeup-a-connection", Points: 10, Read: readInit, Run: c.oneWakeup,
				Sentence: "A connection wakes one worker of eight, the one whose socket it came to, and nobody accepts in vain."},
			{Part: "A", Name: "a-busy-worker-keeps-its-share", Points: 10, Read: readInit, Run: c.busyWorker,
				Sentence: "A connection waits for the worker of its socket, busy or not: with one of four stopped, ten of forty wait, and are served when it goes on."},
			{Part: "A", Name: "a-successor-has-the-same-socket", Points: 5, Read: readInit, Run: c.successor,
				Sentence: "When a worker is killed, its successor serves what waits in the same socket."},
			{Part: "A", Name: "the-mutex-is-not-asked", Points: 10, Read: readInit, Run: c.mutexNotAsked,
				Sentence: "With the accept mutex on, a worker's own socket is registered all the same, from the start; a shared one waits for the lock, and without the mutex it is registered at once."},
			{Part: "A", Name: "no-slot-is-an-error", Points: 5, Read: readInit, Run: c.noSlot,
				Sentence: "If there is no connection left for a listener, or it cannot be registered, the worker does not start."},
			{Part: "B", Name: "what-is-queued-is-served", Points: 10, Read: readLeave, Run: c.queuedIsServed,
				Sentence: "When workers leave, every connection that waits in their sockets' queues is served by the worker that adopts them."},
			{Part: "B", Name: "what-comes-meanwhile-is-served", Points: 10, Read: readLeave, Run: c.comesMeanwhile,
				Sentence: "However the processes are scheduled, and whenever clients come, each is served, once."},
			{Part: "B", Name: "who-has-left-sleeps", Points: 5, Read: readLeave, Run: c.leftSleeps,
				Sentence: "A worker that has left has no listening socket open and hears of no connection, but goes on serving the clients that it has."},
			{Part: "B", Name: "one-adopts-once", Points: 5, Read: readLeave, Run: c.adoptsOnce,
				Sentence: "A socket that was adopted wakes the worker that adopted it and no other; to adopt it twice changes nothing."},
		},
	}
}
