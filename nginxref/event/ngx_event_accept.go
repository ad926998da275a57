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
//
//nginx:src/event/ngx_event_accept.c ngx_event_accept
//nginx:omit 34, 62, 65, 93-96, 185-201 accept4 is always there
//nginx:omit 45 the configuration is in a field
//nginx:omit 47, 103-104, 237-238, 315-316 kqueue, IOCP
//nginx:omit 59, 165-166, 216, 218-219 addresses have a fixed size; the local one is in ls
//nginx:omit 72 the call returns the errno
//nginx:omit 153, 208-211 stream sockets only
//nginx:omit 159-162, 169-172, 178-180, 214, 269-272 no pool
//nginx:omit 223 no sendfile
//nginx:omit 303-306 epoll is told of a connection when its handler waits
func EventAccept(ev *Event) {
	cycle := ev.Data.Cycle // DIVERGES: a global in nginx

	if ev.Timedout { // 37
		if cycle.Actions.EnableAcceptEvents(cycle) != core.OK { // 38
			return // 39
		}

		ev.Timedout = false // 42
	}

	ev.Available = 0             // 48
	if cycle.Event.MultiAccept { // 48
		ev.Available = 1 // 48
	}

	lc := ev.Data      // 51
	ls := lc.Listening // 52
	ev.Ready = false   // 53

	ev.Log.Debug(core.LogDebugEvent, 0, "accept on %s, ready: %d", ls.AddrText, ev.Available) // 55

	for { // 58
		s, err := cycle.Kernel.Accept4(lc.Fd, &cycle.acceptSockaddr) // 63

		if err != 0 { // 71
			if acceptFailed(ev, err) {
				continue
			}
			return // 132
		}

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Accepted.Word, 1) // 136

		cycle.AcceptDisabled = cycle.ConnectionN/8 - cycle.FreeConnectionN // 139

		c := cycle.GetConnection(s, ev.Log) // 142

		if c == nil { // 144
			if err := cycle.Kernel.Close(s); err != 0 { // 145
				ev.Log.Error(core.LogAlert, err, "close() socket failed") // 146
			}

			return // 150
		}

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, 1) // 156

		if !initAccepted(ev, c, ls) {
			return
		}

		ls.Handler(c) // 313

		if ev.Available == 0 { // 319
			break // 319
		}
	}

	cycle.Actions.ReorderAcceptEvents(cycle, ls) // 322
}

// acceptFailed deals with an accept4 that returned err and reports whether to
// try again at once.
//
// DIVERGES: its own function; in nginx it is a branch of ngx_event_accept.
//
//nginx:src/event/ngx_event_accept.c ngx_event_accept
func acceptFailed(ev *Event, err sys.Errno) bool {
	cycle := ev.Data.Cycle // DIVERGES: a global in nginx

	if err == sys.EAGAIN { // 74
		ev.Log.Debug(core.LogDebugEvent, err, "accept() not ready") // 75
		return false                                                // 77
	}

	level := uint(core.LogAlert) // 80

	if err == sys.ECONNABORTED { // 82
		level = core.LogErr // 83

	} else if err == sys.EMFILE || err == sys.ENFILE { // 85
		level = core.LogCrit // 86
	}

	ev.Log.Error(level, err, "accept4() failed") // 90

	if err == sys.ECONNABORTED { // 102
		if ev.Available != 0 { // 107
			return true // 108
		}
	}

	if err == sys.EMFILE || err == sys.ENFILE { // 112
		if cycle.Actions.DisableAcceptEvents(cycle, true) != core.OK { // 113
			return false // 116
		}

		if cycle.UseAcceptMutex { // 119
			if cycle.AcceptMutexHeld { // 120
				cycle.AcceptMutex.Unlock()    // 121
				cycle.AcceptMutexHeld = false // 122
			}

			cycle.AcceptDisabled = 1 // 125

		} else {
			cycle.AddTimer(ev, cycle.Event.AcceptMutexDelay) // 128
		}
	}

	return false // 132
}

// initAccepted fills in the connection that was just accepted and reports
// whether it may go on; it is closed otherwise.
//
// DIVERGES: its own function; in nginx it is part of ngx_event_accept.
//
//nginx:src/event/ngx_event_accept.c ngx_event_accept
func initAccepted(ev *Event, c *Connection, ls *Listening) bool {
	cycle := c.Cycle // DIVERGES: a global in nginx

	c.Sockaddr = cycle.acceptSockaddr // 175

	log := &c.log // 177
	*log = ls.Log // 206

	c.Log = log // 213

	c.Listening = ls // 217

	if c.Sockaddr.Family() == sys.AF_UNIX { // 222
		c.TCPNodelay = TCPNodelayDisabled // 224
	}

	rev := c.Read  // 232
	wev := c.Write // 233

	wev.Ready = true // 235

	if ev.DeferredAccept { // 241
		rev.Ready = true  // 242
		rev.Available = 1 // 244
	}

	rev.Log = log // 248
	wev.Log = log // 249

	c.Number = cycle.Kernel.AtomicFetchAdd(&cycle.Zone.ConnectionCounter.Word, 1) // 260

	c.StartTime = cycle.Time.CurrentMsec // 262

	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Handled.Word, 1) // 265

	if ls.AddrNtop { // 268
		c.AddrText = c.Sockaddr.AppendText(c.addrText[:0], false) // 275
		if len(c.AddrText) == 0 {                                 // 278
			cycle.closeAcceptedConnection(c) // 279
			return false                     // 280
		}
	}

	if cycle.Event.DebugAccepted != nil { // DIVERGES: the list is the configuration's
		cycle.Event.DebugAccepted(c) // 289
	}

	if log.On(core.LogDebugEvent) { // 291
		addr := c.Sockaddr.AppendText(cycle.addrBuf[:0], true) // 292-294

		log.Debug(core.LogDebugEvent, 0, "*%d accept: %s fd:%d", c.Number, addr, c.Fd) // 296
	}

	log.Data = nil    // 310
	log.Handler = nil // 311

	return true // DIVERGES: its own function
}

// TrylockAcceptMutex tries for the accept mutex and moves the listeners'
// registration along with it. AcceptMutexHeld outlives the unlock in the middle
// of the turn: it says whether this worker's listeners are registered, which
// must end before it waits again, if another worker may hold the lock then.
//
//	held  trylock  what happens
//	no    won      register the listeners, held = true
//	yes   won      nothing: they still are
//	no    lost     nothing
//	yes   lost     unregister them, held = false
//
// Mirrors ngx_trylock_accept_mutex.
//
//nginx:src/event/ngx_event_accept.c ngx_trylock_accept_mutex
func TrylockAcceptMutex(cycle *Cycle) core.Status {
	if cycle.AcceptMutex.Trylock() { // 330

		cycle.Log.Debug(core.LogDebugEvent, 0, "accept mutex locked") // 332

		if cycle.AcceptMutexHeld && !cycle.AcceptEvents { // 335
			return core.OK // 336
		}

		if cycle.Actions.EnableAcceptEvents(cycle) == core.Error { // 339
			cycle.AcceptMutex.Unlock() // 340
			return core.Error          // 341
		}

		cycle.AcceptEvents = false   // 344
		cycle.AcceptMutexHeld = true // 345

		return core.OK // 347
	}

	cycle.Log.Debug(core.LogDebugEvent, 0, "accept mutex lock failed: %d", cycle.AcceptMutexHeld) // 350

	if cycle.AcceptMutexHeld { // 353
		if cycle.Actions.DisableAcceptEvents(cycle, false) == core.Error { // 354
			return core.Error // 355
		}

		cycle.AcceptMutexHeld = false // 358
	}

	return core.OK // 361
}

// EnableAcceptEvents registers every listener that is not. Mirrors
// ngx_enable_accept_events.
//
//nginx:src/event/ngx_event_accept.c ngx_enable_accept_events
func EnableAcceptEvents(cycle *Cycle) core.Status {
	for _, ls := range cycle.Listening { // 372-373

		c := ls.Connection // 375

		if c == nil || c.Read.Active { // 377
			continue // 378
		}

		if cycle.AddEvent(c.Read, ReadEvent, 0) == core.Error { // 381
			return core.Error // 382
		}
	}

	return core.OK // 386
}

// DisableAcceptEvents unregisters the listeners; a worker's own reuseport
// sockets only if all is set, because nobody else would accept from them.
// Mirrors ngx_disable_accept_events.
//
//nginx:src/event/ngx_event_accept.c ngx_disable_accept_events
func DisableAcceptEvents(cycle *Cycle, all bool) core.Status {
	for _, ls := range cycle.Listening { // 397-398

		c := ls.Connection // 400

		if c == nil || !c.Read.Active { // 402
			continue // 403
		}

		if ls.Reuseport && !all { // 413
			continue // 414
		}

		if cycle.DelEvent(c.Read, ReadEvent, DisableEvent) == core.Error { // 419
			return core.Error // 422
		}
	}

	return core.OK // 426
}

// ReorderAcceptEvents moves this worker to the end of the listener's wait
// queue: the kernel walks exclusive waiters from the head, so the worker that
// registered first would take every connection that finds it asleep. An accept
// that fails, or that finds no free connection, does not come to it. Mirrors
// ngx_reorder_accept_events.
//
//nginx:src/event/ngx_event_accept.c ngx_reorder_accept_events
func ReorderAcceptEvents(cycle *Cycle, ls *Listening) {
	if !cycle.UseExclusiveAccept { // 445
		return // 446
	}

	if ls.Reuseport { // 451
		return // 452
	}

	c := ls.Connection // 457

	requests := c.Requests                             // 459
	c.Requests++                                       // 459
	if requests%16 != 0 && cycle.AcceptDisabled <= 0 { // 459
		return // 462
	}

	if cycle.DelEvent(c.Read, ReadEvent, DisableEvent) == core.Error { // 465
		return // 468
	}

	if cycle.AddEvent(c.Read, ReadEvent, ExclusiveEvent) == core.Error { // 471
		return // 474
	}
}

// closeAcceptedConnection gives up a connection that its handler has not seen
// yet. Mirrors ngx_close_accepted_connection.
//
//nginx:src/event/ngx_event_accept.c ngx_close_accepted_connection
//nginx:omit 496-497 no memory pool
func (cycle *Cycle) closeAcceptedConnection(c *Connection) {
	cycle.FreeConnection(c) // 486

	fd := c.Fd // 488
	c.Fd = -1  // 489

	if err := cycle.Kernel.Close(fd); err != 0 { // 491
		c.Log.Error(core.LogAlert, err, "close() socket failed") // 492
	}

	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, -1) // 501
}

// AcceptLogError tells in the log which listener was accepting; log.Data is
// the *Listening. Mirrors ngx_accept_log_error.
//
//nginx:src/event/ngx_event_accept.c ngx_accept_log_error
func AcceptLogError(log *core.Log, b []byte) []byte {
	return append(append(b, " while accepting new connection on "...),
		log.Data.(*Listening).AddrText...) // 509
}
