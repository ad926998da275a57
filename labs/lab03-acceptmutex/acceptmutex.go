package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

// TrylockAcceptMutex tries for cycle.AcceptMutex and moves the registration of
// the listeners along with it. Its four cases are in the handout.
// cycle.AcceptMutexHeld says whether this worker's listeners are registered.
//
//	cycle.AcceptMutex.Trylock()  reports whether this worker has the lock now
//	cycle.AcceptMutex.Unlock()   gives it back
//
// It returns core.Error if listeners could not be registered or unregistered,
// and otherwise core.OK, lock or no lock.
func TrylockAcceptMutex(cycle *event.Cycle) core.Status {
	lab.TODO("TrylockAcceptMutex")
	return core.OK
}

// EnableAcceptEvents registers every listener of cycle.Listening that has a
// connection (ls.Connection) and is not registered (c.Read.Active), with
// cycle.AddEvent(c.Read, event.ReadEvent, 0). It returns core.Error at the
// first that fails.
func EnableAcceptEvents(cycle *event.Cycle) core.Status {
	lab.TODO("EnableAcceptEvents")
	return core.OK
}

// DisableAcceptEvents unregisters every listener that is registered, with
// cycle.DelEvent(c.Read, event.ReadEvent, event.DisableEvent). It returns
// core.Error at the first that fails. A reuseport listener (ls.Reuseport) is this
// worker's own and stays, unless all is set.
func DisableAcceptEvents(cycle *event.Cycle, all bool) core.Status {
	lab.TODO("DisableAcceptEvents")
	return core.OK
}
