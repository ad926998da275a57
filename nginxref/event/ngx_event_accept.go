package event

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// EventAccept takes one connection off a listening socket, or all of them
// with multi_accept, and hands each to the listener's handler. Mirrors
// ngx_event_accept.
//
// DIVERGES: no memory pool, so none of the failures to allocate from it;
// accept4 is always there.
func EventAccept(ev *Event) {
	lc := ev.Data
	cycle := lc.Cycle

	if ev.Timedout {
		if cycle.Actions.EnableAcceptEvents(cycle) != core.OK {
			return
		}

		ev.Timedout = false
	}

	ev.Available = 0
	if cycle.Event.MultiAccept {
		ev.Available = 1
	}

	ls := lc.Listening
	ev.Ready = false

	ev.Log.Debug(core.LogDebugEvent, 0, "accept on %s, ready: %d", ls.AddrText, ev.Available)

	for {
		s, err := cycle.Kernel.Accept4(lc.Fd, &cycle.acceptSockaddr)

		if err != 0 {
			if acceptFailed(ev, err) {
				continue
			}
			return
		}

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Accepted.Word, 1)

		cycle.AcceptDisabled = cycle.ConnectionN/8 - cycle.FreeConnectionN

		c := cycle.GetConnection(s, ev.Log)

		if c == nil {
			if err := cycle.Kernel.Close(s); err != 0 {
				ev.Log.Error(core.LogAlert, err, "close() socket failed")
			}

			return
		}

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, 1)

		initAccepted(ev, c, ls)

		ls.Handler(c)

		if ev.Available == 0 {
			break
		}
	}

	cycle.Actions.ReorderAcceptEvents(cycle, ls)
}

// acceptFailed deals with an accept4 that returned err and reports whether to
// try again at once.
//
// DIVERGES: its own function; in nginx it is a branch of ngx_event_accept.
func acceptFailed(ev *Event, err sys.Errno) bool {
	cycle := ev.Data.Cycle

	if err == sys.EAGAIN {
		ev.Log.Debug(core.LogDebugEvent, err, "accept() not ready")
		return false
	}

	level := uint(core.LogAlert)

	if err == sys.ECONNABORTED {
		level = core.LogErr

	} else if err == sys.EMFILE || err == sys.ENFILE {
		level = core.LogCrit
	}

	ev.Log.Error(level, err, "accept4() failed")

	if err == sys.ECONNABORTED {
		if ev.Available != 0 {
			return true
		}
	}

	if err == sys.EMFILE || err == sys.ENFILE {
		if cycle.Actions.DisableAcceptEvents(cycle, true) != core.OK {
			return false
		}

		if cycle.UseAcceptMutex {
			if cycle.AcceptMutexHeld {
				cycle.AcceptMutex.Unlock()
				cycle.AcceptMutexHeld = false
			}

			cycle.AcceptDisabled = 1

		} else {
			cycle.AddTimer(ev, cycle.Event.AcceptMutexDelay)
		}
	}

	return false
}

// initAccepted fills in the connection that was just accepted.
//
// DIVERGES: its own function; in nginx it is part of ngx_event_accept.
func initAccepted(ev *Event, c *Connection, ls *Listening) {
	cycle := c.Cycle

	c.Sockaddr = cycle.acceptSockaddr

	log := &c.log
	*log = ls.Log

	c.Log = log

	c.Listening = ls

	if c.Sockaddr.Family() == sys.AF_UNIX {
		c.TCPNodelay = TCPNodelayDisabled
	}

	rev := c.Read
	wev := c.Write

	wev.Ready = true

	if ev.DeferredAccept {
		rev.Ready = true
		rev.Available = 1
	}

	rev.Log = log
	wev.Log = log

	c.Number = cycle.Kernel.AtomicFetchAdd(&cycle.Zone.ConnectionCounter.Word, 1)

	c.StartTime = cycle.Time.CurrentMsec

	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Handled.Word, 1)

	if ls.AddrNtop {
		c.AddrText = c.Sockaddr.AppendText(c.addrText[:0], false)
	}

	if log.On(core.LogDebugEvent) {
		addr := c.Sockaddr.AppendText(cycle.addrBuf[:0], true)

		log.Debug(core.LogDebugEvent, 0, "*%d accept: %s fd:%d", c.Number, addr, c.Fd)
	}

	log.Data = nil
	log.Handler = nil
}

// TrylockAcceptMutex tries for the accept mutex and moves the listeners'
// registration along with it. AcceptMutexHeld outlives the unlock at the end
// of the turn: it says whether this worker's listeners are registered, which
// must end exactly when another worker may hold the lock.
//
//	held  trylock  what happens
//	no    won      register the listeners, held = true
//	yes   won      nothing: they still are
//	no    lost     nothing
//	yes   lost     unregister them, held = false
//
// Mirrors ngx_trylock_accept_mutex.
func TrylockAcceptMutex(cycle *Cycle) core.Status {
	if cycle.AcceptMutex.Trylock() {

		cycle.Log.Debug(core.LogDebugEvent, 0, "accept mutex locked")

		if cycle.AcceptMutexHeld && !cycle.AcceptEvents {
			return core.OK
		}

		if cycle.Actions.EnableAcceptEvents(cycle) == core.Error {
			cycle.AcceptMutex.Unlock()
			return core.Error
		}

		cycle.AcceptEvents = false
		cycle.AcceptMutexHeld = true

		return core.OK
	}

	cycle.Log.Debug(core.LogDebugEvent, 0, "accept mutex lock failed: %d", cycle.AcceptMutexHeld)

	if cycle.AcceptMutexHeld {
		if cycle.Actions.DisableAcceptEvents(cycle, false) == core.Error {
			return core.Error
		}

		cycle.AcceptMutexHeld = false
	}

	return core.OK
}

// EnableAcceptEvents registers every listener that is not. Mirrors
// ngx_enable_accept_events.
func EnableAcceptEvents(cycle *Cycle) core.Status {
	for _, ls := range cycle.Listening {

		c := ls.Connection

		if c == nil || c.Read.Active {
			continue
		}

		if cycle.AddEvent(c.Read, ReadEvent, 0) == core.Error {
			return core.Error
		}
	}

	return core.OK
}

// DisableAcceptEvents unregisters the listeners; a worker's own reuseport
// sockets only if all is set, because nobody else would accept from them.
// Mirrors ngx_disable_accept_events.
func DisableAcceptEvents(cycle *Cycle, all bool) core.Status {
	for _, ls := range cycle.Listening {

		c := ls.Connection

		if c == nil || !c.Read.Active {
			continue
		}

		if ls.Reuseport && !all {
			continue
		}

		if cycle.DelEvent(c.Read, ReadEvent, DisableEvent) == core.Error {
			return core.Error
		}
	}

	return core.OK
}

// ReorderAcceptEvents moves this worker to the end of the listener's wait
// queue: the kernel walks exclusive waiters from the head, so the worker that
// registered first would take every connection that finds it asleep. Mirrors
// ngx_reorder_accept_events.
func ReorderAcceptEvents(cycle *Cycle, ls *Listening) {
	if !cycle.UseExclusiveAccept {
		return
	}

	if ls.Reuseport {
		return
	}

	c := ls.Connection

	requests := c.Requests
	c.Requests++
	if requests%16 != 0 && cycle.AcceptDisabled <= 0 {
		return
	}

	if cycle.DelEvent(c.Read, ReadEvent, DisableEvent) == core.Error {
		return
	}

	if cycle.AddEvent(c.Read, ReadEvent, ExclusiveEvent) == core.Error {
		return
	}
}
