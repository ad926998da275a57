package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

// CloneListening is called in the master, before any socket is opened, with
// each listener of the configuration. It appends a copy of ls to cycle.Listening
// for each worker but number 0, which has ls itself, and sets its Worker. There
// will be cycle.Conf.WorkerProcesses workers.
//
// Then the master opens a socket for each of cycle.Listening. The workers
// inherit all of them.
func CloneListening(cycle *event.Cycle, ls *event.Listening) {
	lab.TODO("CloneListening")
}

// InitListening is called in a worker, number cycle.Worker, with each of
// cycle.Listening before its first turn. A socket that it accepts from gets a
// connection:
//
//	c := cycle.GetConnection(ls.Fd, cycle.Log)   nil: there is none left
//	c.Log                                        becomes &ls.Log
//	c.Listening, ls.Connection                   point at each other
//	c.Read.Log                                   becomes c.Log
//	c.Read.Accept                                this is no client
//	c.Read.Handler                               becomes cycle.Actions.Accept
//
// It is registered, or not yet, with cycle.AddEvent(c.Read, event.ReadEvent, 0).
// A socket that all workers share (not ls.Reuseport) is registered later, with
// the lock, if cycle.UseAcceptMutex is set.
//
// InitListening returns core.OK, or core.Error if there is no connection left or
// AddEvent says so.
func InitListening(cycle *event.Cycle, ls *event.Listening) core.Status {
	lab.TODO("InitListening")
	return core.OK
}
