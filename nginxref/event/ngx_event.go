// Package event is nginx's event core: one turn of the worker loop
// (ngx_event.c), who may accept (ngx_event_accept.c), what waits its turn
// (ngx_event_posted.c, ngx_event_timer.c), the kernel's side of it
// (ngx_epoll_module.c) and the table of connections (ngx_connection.c).
package event

import (
	"math"
	"sync/atomic"
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

// alarm is set by the timer signal and cleared by the loop.
type alarm = atomic.Bool

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
	updateTime = 1 // read the clock after the wait
	postEvents = 2 // queue the events instead of handling them
)

// ProcessEventsAndTimers is one turn of the worker loop: try for the accept
// mutex, wait in the kernel, accept, let the mutex go, then do the rest.
// Mirrors ngx_process_events_and_timers.
func (cycle *Cycle) ProcessEventsAndTimers() {
	var (
		timer, delta core.Msec
		flags        uint
	)

	if cycle.Conf.TimerResolution != 0 {
		timer = TimerInfinite
		flags = 0

	} else {
		timer = cycle.FindTimer()
		flags = updateTime
	}

	if cycle.UseAcceptMutex {
		if cycle.AcceptDisabled > 0 {
			cycle.AcceptDisabled--

		} else {
			if cycle.Actions.TrylockAcceptMutex(cycle) == core.Error {
				return
			}

			if cycle.AcceptMutexHeld {
				flags |= postEvents

			} else {
				if timer == TimerInfinite || timer > cycle.AcceptMutexDelay {
					timer = cycle.AcceptMutexDelay
				}
			}
		}
	}

	if !cycle.PostedNextEvents.Empty() {
		cycle.MovePostedNext()
		timer = 0
	}

	delta = cycle.Time.CurrentMsec

	cycle.ProcessEvents(timer, flags)

	delta = cycle.Time.CurrentMsec - delta

	cycle.Log.Debug(core.LogDebugEvent, 0, "timer delta: %d", delta)

	cycle.ProcessPosted(&cycle.PostedAcceptEvents)

	if cycle.AcceptMutexHeld {
		cycle.AcceptMutex.Unlock()
	}

	cycle.ExpireTimers()

	cycle.ProcessPosted(&cycle.PostedEvents)
}

// HandleReadEvent makes sure that the kernel watches for input, if none is
// known to be there. Mirrors ngx_handle_read_event.
func (cycle *Cycle) HandleReadEvent(rev *Event) core.Status {
	if !rev.Active && !rev.Ready {
		if cycle.AddEvent(rev, ReadEvent, ClearEvent) == core.Error {
			return core.Error
		}
	}

	return core.OK
}

// HandleWriteEvent makes sure that the kernel watches for room to send, if
// none is known to be there. Mirrors ngx_handle_write_event.
//
// DIVERGES: no lowat argument; SO_SNDLOWAT cannot be set on Linux.
func (cycle *Cycle) HandleWriteEvent(wev *Event) core.Status {
	if !wev.Active && !wev.Ready {
		if cycle.AddEvent(wev, WriteEvent, ClearEvent) == core.Error {
			return core.Error
		}
	}

	return core.OK
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
func (cycle *Cycle) moduleInit() core.Status {
	if cycle.Process <= ProcessMaster {
		cycle.Log.Error(core.LogNotice, 0, "using the \"%s\" event method", "epoll")
	}

	cycle.checkNofile()

	if !cycle.Conf.Master {
		return core.OK
	}

	if cycle.Shm != nil {
		return core.OK
	}

	shm, err := shmtx.Alloc(stat.ZoneName, stat.ZoneSize(maxProcesses))

	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "%s", err.Error())
		return core.Error
	}

	if cycle.useZone(shm) != core.OK {
		return core.Error
	}

	if cycle.LockFile != nil && cycle.LockFile.Create(cycle.Event.LockFile) != core.OK {
		return core.Error
	}

	cycle.Kernel.AtomicCmpSet(&cycle.Zone.ConnectionCounter.Word, 0, 1)

	cycle.Log.Debug(core.LogDebugEvent, 0, "counter: %p, %d",
		unsafe.Pointer(&cycle.Zone.ConnectionCounter),
		cycle.Kernel.AtomicLoad(&cycle.Zone.ConnectionCounter.Word))

	return core.OK
}

// checkNofile warns if the table of connections is larger than the number of
// descriptors that a worker may have.
//
// DIVERGES: its own function; in nginx it is part of ngx_event_module_init.
func (cycle *Cycle) checkNofile() {
	var rlmt syscall.Rlimit

	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlmt); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "getrlimit(RLIMIT_NOFILE) failed, ignored")
		return
	}

	limit := int(min(rlmt.Cur, math.MaxInt))
	if cycle.ConnectionN > limit &&
		(cycle.Conf.RlimitNofile == -1 || cycle.ConnectionN > cycle.Conf.RlimitNofile) {

		if cycle.Conf.RlimitNofile != -1 {
			limit = cycle.Conf.RlimitNofile
		}

		cycle.Log.Error(core.LogWarn, 0, "%d worker_connections exceed open file resource limit: %d",
			cycle.ConnectionN, limit)
	}
}

// useZone makes shm the cycle's shared zone, and the accept mutex a handle on
// the lock word in it or, if one is configured, on the lock file.
//
// DIVERGES: its own function; in nginx it is the end of
// ngx_event_module_init, whose result workers inherit by fork.
func (cycle *Cycle) useZone(shm *shmtx.Shm) core.Status {
	zone, workers, err := stat.ZoneAt(shm.Addr)
	if err != nil {
		cycle.Log.Error(core.LogAlert, 0, "%s", err.Error())
		return core.Error
	}
	cycle.Shm = shm
	cycle.Zone = zone
	cycle.workers = workers

	if cycle.Event.LockFile != "" {
		mtx := &shmtx.File{Kernel: cycle.Kernel, Log: cycle.Log}
		cycle.LockFile = mtx
		cycle.AcceptMutex = mtx
		return core.OK
	}

	mtx := &shmtx.Atomic{Kernel: cycle.Kernel, Log: cycle.Log, Spin: shmtx.NoSpin}
	cycle.AcceptMutex = mtx
	return mtx.Create(&zone.AcceptMutex)
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
func (cycle *Cycle) processInit() core.Status {
	if cycle.Conf.Master && cycle.Conf.WorkerProcesses > 1 && cycle.Event.AcceptMutex {
		cycle.UseAcceptMutex = true
		cycle.AcceptMutexHeld = false
		cycle.AcceptMutexDelay = cycle.Event.AcceptMutexDelay

	} else {
		cycle.UseAcceptMutex = false
	}

	cycle.UseExclusiveAccept = false

	cycle.PostedAcceptEvents.Init()
	cycle.PostedNextEvents.Init()
	cycle.PostedEvents.Init()

	if cycle.TimerInit() == core.Error {
		return core.Error
	}

	// DIVERGES: epoll is the only event method, and a failure is returned:
	// the caller exits with code 2, as nginx does right here.
	if cycle.epollInit() != core.OK {
		return core.Error
	}

	cycle.initConnections()

	for _, ls := range cycle.Listening {
		if cycle.initListening(ls) == core.Error {
			return core.Error
		}
	}

	return core.OK
}

// initConnections makes the tables of connections and events and threads all
// connections onto the free list.
//
// DIVERGES: its own function; in nginx it is the middle of
// ngx_event_process_init.
func (cycle *Cycle) initConnections() {
	cycle.Connections = make([]Connection, cycle.ConnectionN)
	c := cycle.Connections

	cycle.readEvents = make([]Event, cycle.ConnectionN)
	rev := cycle.readEvents
	for i := range rev {
		rev[i].Closed = true
		rev[i].instance = true
	}

	cycle.writeEvents = make([]Event, cycle.ConnectionN)
	wev := cycle.writeEvents
	for i := range wev {
		wev[i].Closed = true
	}

	i := cycle.ConnectionN
	var next *Connection

	for i > 0 {
		i--

		c[i].index = i
		c[i].Cycle = cycle
		c[i].next = next
		c[i].Read = &cycle.readEvents[i]
		c[i].Write = &cycle.writeEvents[i]
		c[i].Fd = -1

		next = &c[i]
	}

	cycle.freeConnections = next
	cycle.FreeConnectionN = cycle.ConnectionN
}

// initListening gives a listener its connection and registers it.
//
// DIVERGES: its own function; in nginx it is the loop at the end of
// ngx_event_process_init.
func (cycle *Cycle) initListening(ls *Listening) core.Status {
	if ls.Reuseport && ls.Worker != cycle.Worker {
		return core.OK
	}

	c := cycle.GetConnection(ls.Fd, cycle.Log)

	if c == nil {
		return core.Error
	}

	c.Log = &ls.Log

	c.Listening = ls
	ls.Connection = c

	rev := c.Read

	rev.Log = c.Log
	rev.Accept = true

	rev.DeferredAccept = ls.DeferredAccept

	rev.Handler = cycle.Actions.Accept

	if ls.Reuseport {
		return cycle.AddEvent(rev, ReadEvent, 0)
	}

	if cycle.UseAcceptMutex {
		return core.OK
	}

	if cycle.Event.ExclusiveAccept && cycle.Conf.WorkerProcesses > 1 {
		cycle.UseExclusiveAccept = true

		return cycle.AddEvent(rev, ReadEvent, ExclusiveEvent)
	}

	return cycle.AddEvent(rev, ReadEvent, 0)
}
