// Package event is nginx's event core: one turn of the worker loop
// (ngx_event.c), who may accept (ngx_event_accept.c), what waits its turn
// (ngx_event_posted.c, ngx_event_timer.c), the kernel's side of it
// (ngx_epoll_module.c) and the table of connections (ngx_connection.c).
package event

import (
	"math"
	"syscall"
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/queue"
	"herd/nginxref/rbtree"
	"herd/nginxref/shmtx"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
)

// Handler is called when an event is ready or its timer has expired.
type Handler func(ev *Event)

// Event is one direction, reading or writing, of one connection
// (ngx_event_t).
//
//	active    the kernel has been told to watch for it
//	ready     input or room was seen and not yet used up
//	posted    in one of the posted queues
//	timerSet  in the timer tree
//	Timedout  the timer, not the kernel, called the handler
type Event struct {
	Data *Connection // nil for a timer that belongs to no connection

	Write  bool // the writing direction
	Accept bool // of a listening socket

	// instance flips each time the connection is taken from the free list:
	// an event that the kernel reported for the descriptor's former user
	// carries the other value.
	instance bool

	Active         bool
	Disabled       bool
	Ready          bool
	EOF            bool
	Error          bool
	Timedout       bool
	TimerSet       bool
	Delayed        bool
	DeferredAccept bool
	PendingEOF     bool // EPOLLRDHUP seen
	Posted         bool
	Closed         bool
	Channel        bool // the worker's channel to its master
	Cancelable     bool // a timer that need not keep an exiting worker
	Available      int  // accept: 1 to take many; read: bytes, -1 unknown
	Handler        Handler
	Log            *core.Log
	timer          rbtree.Node
	queue          queue.Queue
	notifications  uint32 // notify event only: writes since the last read
}

// Event flags passed to AddEvent and DelEvent.
const (
	ReadEvent  = sys.EPOLLIN | sys.EPOLLRDHUP
	WriteEvent = sys.EPOLLOUT

	CloseEvent     = 1 // the descriptor is about to be closed
	DisableEvent   = 2
	LevelEvent     = 0
	ClearEvent     = sys.EPOLLET
	ExclusiveEvent = sys.EPOLLEXCLUSIVE
)

// Flags of one call of ProcessEvents.
const (
	UpdateTime = 1 // read the clock after the wait
	PostEvents = 2 // queue the events instead of handling them
)

// ProcessEventsAndTimers is one turn of the worker loop: try for the accept
// mutex, wait in the kernel, accept, let the mutex go, then do the rest.
// Mirrors ngx_process_events_and_timers.
//
//nginx:src/event/ngx_event.c ngx_process_events_and_timers
func (cycle *Cycle) ProcessEventsAndTimers() {
	var (
		timer, delta core.Msec
		flags        uint
	)

	if cycle.Conf.TimerResolution != 0 { // 200
		timer = TimerInfinite // 201
		flags = 0             // 202

	} else {
		timer = cycle.FindTimer() // 205
		flags = UpdateTime        // 206
	}

	if cycle.UseAcceptMutex { // 219
		if cycle.AcceptDisabled > 0 { // 220
			cycle.AcceptDisabled-- // 221

		} else {
			if cycle.Actions.TrylockAcceptMutex(cycle) == core.Error { // 224
				return // 225
			}

			if cycle.AcceptMutexHeld { // 228
				flags |= PostEvents // 229

			} else {
				if timer == TimerInfinite || timer > cycle.AcceptMutexDelay { // 232
					timer = cycle.AcceptMutexDelay // 235
				}
			}
		}
	}

	if !cycle.PostedNextEvents.Empty() { // 241
		cycle.MovePostedNext() // 242
		timer = 0              // 243
	}

	delta = cycle.Time.CurrentMsec // 246

	cycle.ProcessEvents(timer, flags) // 248

	delta = cycle.Time.CurrentMsec - delta // 250

	cycle.Log.Debug(core.LogDebugEvent, 0, "timer delta: %d", delta) // 252

	cycle.ProcessPosted(&cycle.PostedAcceptEvents) // 255

	if cycle.AcceptMutexHeld { // 257
		cycle.AcceptMutex.Unlock() // 258
	}

	cycle.ExpireTimers() // 261

	cycle.ProcessPosted(&cycle.PostedEvents) // 263
}

// TimerSignal is what the process does when the timer signal interrupts the
// wait: the clock is to be read. Mirrors ngx_timer_signal_handler.
//
//nginx:src/event/ngx_event.c ngx_timer_signal_handler
func (cycle *Cycle) TimerSignal() {
	cycle.EventTimerAlarm = true // 604

	cycle.Log.Debug(core.LogDebugEvent, 0, "timer signal") // 607
}

// HandleReadEvent makes sure that the kernel watches for input, if none is
// known to be there. Mirrors ngx_handle_read_event.
//
//nginx:src/event/ngx_event.c ngx_handle_read_event
//nginx:omit 270, 284-331 the event methods that are not edge-triggered
func (cycle *Cycle) HandleReadEvent(rev *Event) core.Status {
	if !rev.Active && !rev.Ready { // 274
		if cycle.AddEvent(rev, ReadEvent, ClearEvent) == core.Error { // 275
			return core.Error // 278
		}
	}

	return core.OK // 282
}

// HandleWriteEvent makes sure that the kernel watches for room to send, if
// none is known to be there. Mirrors ngx_handle_write_event.
//
// DIVERGES: no lowat argument; SO_SNDLOWAT cannot be set on Linux.
//
//nginx:src/event/ngx_event.c ngx_handle_write_event
//nginx:omit 340-344 no lowat
//nginx:omit 348, 363-410 the event methods that are not edge-triggered
func (cycle *Cycle) HandleWriteEvent(wev *Event) core.Status {
	if !wev.Active && !wev.Ready { // 352
		if cycle.AddEvent(wev, WriteEvent, ClearEvent) == core.Error { // 353
			return core.Error // 357
		}
	}

	return core.OK // 361
}

// CoreModule is the event module, the first in every cycle
// (ngx_event_core_module).
var CoreModule = Module{
	Name:        "event_core",
	InitModule:  (*Cycle).moduleInit,
	InitProcess: (*Cycle).processInit,
}

// maxProcesses is how many processes one master can have (NGX_MAX_PROCESSES),
// and so how many slots of counters the shared zone has.
const maxProcesses = 1024

// moduleInit makes the shared zone, once in the life of a master. Mirrors
// ngx_event_module_init.
//
//nginx:src/event/ngx_event.c ngx_event_module_init
//nginx:omit 481-482, 489-491 the configuration is in fields
//nginx:omit 531-549, 551 stat.ZoneSize lays the zone out
//nginx:omit 577 no temporary files
//nginx:omit 579-581 nothing draws random numbers
func (cycle *Cycle) moduleInit() core.Status {
	if cycle.Process <= ProcessMaster { // 484
		cycle.Log.Error(core.LogNotice, 0, "using the \"%s\" event method", "epoll") // 485
	}

	cycle.checkNofile()

	if !cycle.Conf.Master { // 520
		return core.OK // 521
	}

	if cycle.Shm != nil { // 524
		return core.OK // 525
	}

	shm, err := shmtx.Alloc(stat.ZoneName, stat.ZoneSize(maxProcesses)) // 550, 553

	if err != nil { // 553
		// DIVERGES: in nginx ngx_shm_alloc logs it.
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "%s", err.Error())
		return core.Error // 554
	}

	if cycle.useZone(shm) != core.OK {
		return core.Error
	}

	if cycle.LockFile != nil && cycle.LockFile.Create(cycle.Event.LockFile) != core.OK { // 562
		return core.Error // 566
	}

	cycle.Kernel.AtomicCmpSet(&cycle.Zone.ConnectionCounter.Word, 0, 1) // 571

	cycle.Log.Debug(core.LogDebugEvent, 0, "counter: %p, %d",
		unsafe.Pointer(&cycle.Zone.ConnectionCounter),
		cycle.Kernel.AtomicLoad(&cycle.Zone.ConnectionCounter.Word)) // 573

	return core.OK // 595
}

// checkNofile warns if the table of connections is larger than the number of
// descriptors that a worker may have.
//
// DIVERGES: its own function; in nginx it is part of ngx_event_module_init.
//
//nginx:src/event/ngx_event.c ngx_event_module_init
func (cycle *Cycle) checkNofile() {
	var rlmt syscall.Rlimit

	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlmt); err != nil { // 498
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "getrlimit(RLIMIT_NOFILE) failed, ignored") // 499
		return                                                                                        // DIVERGES: in place of the else
	}

	// DIVERGES: the condition needs it already.
	limit := int(min(rlmt.Cur, math.MaxInt)) // 507
	if cycle.ConnectionN > limit &&
		(cycle.Conf.RlimitNofile == -1 || cycle.ConnectionN > cycle.Conf.RlimitNofile) { // 503

		if cycle.Conf.RlimitNofile != -1 { // 507
			limit = cycle.Conf.RlimitNofile // 507
		}

		cycle.Log.Error(core.LogWarn, 0, "%d worker_connections exceed open file resource limit: %d",
			cycle.ConnectionN, limit) // 510
	}
}

// useZone makes shm the cycle's shared zone, and the accept mutex a handle on
// the lock word in it or, if one is configured, on the lock file.
//
// DIVERGES: its own function; in nginx it is the end of
// ngx_event_module_init, whose result workers inherit by fork.
//
//nginx:src/event/ngx_event.c ngx_event_module_init
func (cycle *Cycle) useZone(shm *shmtx.Shm) core.Status {
	zone, workers, err := stat.ZoneAt(shm.Addr) // 557
	// DIVERGES: a zone that is inherited may not be what it should.
	if err != nil {
		cycle.Log.Error(core.LogAlert, 0, "%s", err.Error())
		return core.Error
	}
	cycle.Shm = shm // 559
	// DIVERGES: the counters are fields of one structure.
	cycle.Zone = zone // 569, 585-591
	// DIVERGES: nginx does not count what a worker does.
	cycle.workers = workers

	// DIVERGES: nginx is built for the one lock or the other.
	if cycle.Event.LockFile != "" {
		mtx := &shmtx.File{Kernel: cycle.Kernel, Log: cycle.Log}
		cycle.LockFile = mtx
		cycle.AcceptMutex = mtx
		return core.OK
	}

	mtx := &shmtx.Atomic{Kernel: cycle.Kernel, Log: cycle.Log, Spin: shmtx.NoSpin} // 560
	cycle.AcceptMutex = mtx                                                        // 560
	return mtx.Create(&zone.AcceptMutex)                                           // 562
}

// AttachZone maps the master's shared zone in a worker and has what the
// worker does counted in the given slot. lockFd is the inherited lock file,
// if the configuration has one.
//
// DIVERGES: nginx's workers inherit the mapping by fork.
func (cycle *Cycle) AttachZone(fd, lockFd, slot int) core.Status {
	shm, err := shmtx.Attach(fd, stat.ZoneSize(maxProcesses))
	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "%s", err.Error())
		return core.Error
	}

	if cycle.useZone(shm) != core.OK {
		return core.Error
	}
	if cycle.LockFile != nil {
		cycle.LockFile.Fd = lockFd
		cycle.LockFile.Name = cycle.Event.LockFile
	}

	w := &cycle.workers[slot]
	cycle.Counters = w
	cycle.AcceptMutex = &stat.Mutex{Mutex: cycle.AcceptMutex, Slot: w, Kernel: cycle.Kernel}
	cycle.Kernel = stat.NewKernel(cycle.Kernel, w, NotifyData, func() int {
		return cycle.ConnectionN - cycle.FreeConnectionN
	})
	return core.OK
}

// processInit makes the worker's tables and registers its listeners, unless
// the accept mutex will do that. Mirrors ngx_event_process_init.
//
//nginx:src/event/ngx_event.c ngx_event_process_init
//nginx:omit 625-626 the configuration is in fields
//nginx:omit 658-667, 674 epoll is the only event method
//nginx:omit 683-690 the process collects SIGALRM with all other signals
//nginx:omit 704-718 epoll needs no table by descriptor
//nginx:omit 735-736, 743-744, 755-756 make does not fail
//nginx:omit 798 stream sockets only
//nginx:omit 813-829 a new program has no old events
func (cycle *Cycle) processInit() core.Status {
	if cycle.Conf.Master && cycle.Conf.WorkerProcesses > 1 && cycle.Event.AcceptMutex { // 628
		cycle.UseAcceptMutex = true                           // 629
		cycle.AcceptMutexHeld = false                         // 630
		cycle.AcceptMutexDelay = cycle.Event.AcceptMutexDelay // 631

	} else {
		cycle.UseAcceptMutex = false // 634
	}

	cycle.UseExclusiveAccept = false // 648

	cycle.PostedAcceptEvents.Init() // 650
	cycle.PostedNextEvents.Init()   // 651
	cycle.PostedEvents.Init()       // 652

	if cycle.TimerInit() == core.Error { // 654
		return core.Error // 655
	}

	// DIVERGES: epoll is the only event method, and a failure is returned:
	// the caller exits with code 2, as nginx does right here.
	if cycle.epollInit() != core.OK { // 669
		return core.Error // 671
	}

	if cycle.Conf.TimerResolution != 0 { // 679
		if err := cycle.Kernel.Setitimer(uint64(cycle.Conf.TimerResolution)); err != 0 { // 693-698
			cycle.Log.Error(core.LogAlert, err, "setitimer() failed") // 699
		}
	}

	cycle.initConnections()

	for _, ls := range cycle.Listening { // 783-784
		if cycle.InitListening(ls) == core.Error {
			return core.Error
		}
	}

	return core.OK // 916
}

// initConnections makes the tables of connections and events and threads all
// connections onto the free list.
//
// DIVERGES: its own function; in nginx it is the middle of
// ngx_event_process_init.
//
//nginx:src/event/ngx_event.c ngx_event_process_init
func (cycle *Cycle) initConnections() {
	cycle.Connections = make([]Connection, cycle.ConnectionN) // 733
	c := cycle.Connections                                    // 739

	cycle.readEvents = make([]Event, cycle.ConnectionN) // 741
	rev := cycle.readEvents                             // 747
	for i := range rev {                                // 748
		rev[i].Closed = true   // 749
		rev[i].instance = true // 750
	}

	cycle.writeEvents = make([]Event, cycle.ConnectionN) // 753
	wev := cycle.writeEvents                             // 759
	for i := range wev {                                 // 760
		wev[i].Closed = true // 761
	}

	i := cycle.ConnectionN // 764
	var next *Connection   // 765

	// DIVERGES: no turn if there are none.
	for i > 0 { // 767, 776
		i-- // 768

		// DIVERGES: nginx has addresses and globals.
		c[i].index = i
		c[i].Cycle = cycle
		c[i].next = next                   // 770
		c[i].Read = &cycle.readEvents[i]   // 771
		c[i].Write = &cycle.writeEvents[i] // 772
		c[i].Fd = -1                       // 773

		next = &c[i] // 775
	}

	cycle.freeConnections = next              // 778
	cycle.FreeConnectionN = cycle.ConnectionN // 779
}

// InitListening gives a listener its connection and registers it.
//
// DIVERGES: its own function; in nginx it is the loop at the end of
// ngx_event_process_init.
//
//nginx:src/event/ngx_event.c ngx_event_process_init
func (cycle *Cycle) InitListening(ls *Listening) core.Status {
	if ls.Reuseport && ls.Worker != cycle.Worker { // 787
		return core.OK // 788
	}

	c := cycle.GetConnection(ls.Fd, cycle.Log) // 792

	if c == nil { // 794
		return core.Error // 795
	}

	c.Log = &ls.Log // 799

	c.Listening = ls  // 801
	ls.Connection = c // 802

	rev := c.Read // 804

	rev.Log = c.Log   // 806
	rev.Accept = true // 807

	rev.DeferredAccept = ls.DeferredAccept // 810

	rev.Handler = cycle.Actions.Accept // 871

	if ls.Reuseport { // 876
		return cycle.AddEvent(rev, ReadEvent, 0) // 877-881
	}

	if cycle.UseAcceptMutex { // 886
		return core.OK // 887
	}

	if cycle.Event.ExclusiveAccept && cycle.Conf.WorkerProcesses > 1 { // 892
		cycle.UseExclusiveAccept = true // 895

		return cycle.AddEvent(rev, ReadEvent, ExclusiveEvent) // 897-903
	}

	return cycle.AddEvent(rev, ReadEvent, 0) // 908-909
}
