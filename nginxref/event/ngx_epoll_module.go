package event

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// epollModule holds the static variables of ngx_epoll_module.c.
type epollModule struct {
	fd        int // of the epoll instance; -1 while there is none
	eventList []sys.EpollEvent

	notifyFd      int
	notifyEvent   Event
	notifyConn    Connection
	notifyHandler atomic.Pointer[Handler]
}

// notifyIndex stands for notifyConn where others have their place in the
// table of connections.
const notifyIndex = math.MaxInt32

// notifyInc is what Notify adds to the eventfd's counter.
var notifyInc = binary.NativeEndian.AppendUint64(nil, 1)

// eventData packs a connection and the instance bit of its event into the 64
// bits that the kernel hands back.
//
// DIVERGES: the connection's place in the table, not its address: the kernel
// must not be the only one to hold a Go pointer.
func eventData(c *Connection, instance bool) uint64 {
	data := uint64(c.index) << 1
	if instance {
		data |= 1
	}
	return data
}

// connectionOf undoes eventData.
func (cycle *Cycle) connectionOf(data uint64) (c *Connection, instance bool) {
	if data>>1 == notifyIndex {
		return &cycle.epoll.notifyConn, data&1 == 1
	}
	return &cycle.Connections[data>>1], data&1 == 1
}

// NotifyData is what the kernel reports for the notify eventfd.
const NotifyData = uint64(notifyIndex) << 1

// epollInit makes the epoll instance, the notify eventfd and the list that
// events are returned in. Mirrors ngx_epoll_init.
//
// DIVERGES: EPOLLRDHUP needs no test, Linux has it since 2.6.17; no file AIO.
func (cycle *Cycle) epollInit() core.Status {
	m := &cycle.epoll

	if m.fd == -1 {
		ep, err := cycle.Kernel.EpollCreate()

		if err != 0 {
			cycle.Log.Error(core.LogEmerg, err, "epoll_create() failed")
			return core.Error
		}
		m.fd = ep

		if cycle.notifyInit() != core.OK {
			return core.Error
		}
	}

	m.eventList = make([]sys.EpollEvent, cycle.Event.EpollEvents)

	return core.OK
}

// notifyInit registers the eventfd that other threads wake the loop by.
// Mirrors ngx_epoll_notify_init.
func (cycle *Cycle) notifyInit() core.Status {
	m := &cycle.epoll

	fd, err := cycle.Kernel.Eventfd()

	if err != 0 {
		cycle.Log.Error(core.LogEmerg, err, "eventfd() failed")
		return core.Error
	}
	m.notifyFd = fd

	cycle.Log.Debug(core.LogDebugEvent, 0, "notify eventfd: %d", m.notifyFd)

	m.notifyEvent.Handler = cycle.notifyHandler
	m.notifyEvent.Log = cycle.Log
	m.notifyEvent.Active = true

	m.notifyConn.Fd = m.notifyFd
	m.notifyConn.Read = &m.notifyEvent
	m.notifyConn.Write = &Event{} // DIVERGES: never active, where C has NULL and no EPOLLOUT comes
	m.notifyConn.Log = cycle.Log
	m.notifyConn.index = notifyIndex

	ee := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, NotifyData)

	if err := cycle.Kernel.EpollCtl(m.fd, sys.EPOLL_CTL_ADD, m.notifyFd, ee); err != 0 {
		cycle.Log.Error(core.LogEmerg, err, "epoll_ctl(EPOLL_CTL_ADD, eventfd) failed")

		if err := cycle.Kernel.Close(m.notifyFd); err != 0 {
			cycle.Log.Error(core.LogAlert, err, "eventfd close() failed")
		}

		return core.Error
	}

	return core.OK
}

// notifyHandler runs on the loop after a Notify. The counter is left to grow
// and read only when it might overflow: the registration is edge-triggered,
// so every write is an event of its own. Mirrors ngx_epoll_notify_handler.
func (cycle *Cycle) notifyHandler(ev *Event) {
	m := &cycle.epoll

	ev.notifications++
	if ev.notifications == math.MaxUint32 {
		ev.notifications = 0

		var count [8]byte
		n, err := cycle.Kernel.Read(m.notifyFd, count[:])

		ev.Log.Debug(core.LogDebugEvent, 0, "read() eventfd %d: %d count:%d",
			m.notifyFd, n, binary.NativeEndian.Uint64(count[:]))

		if n != len(count) {
			ev.Log.Error(core.LogAlert, err, "read() eventfd %d failed", m.notifyFd)
		}
	}

	handler := *m.notifyHandler.Load()
	handler(ev)
}

// Notify has the loop call handler; it may be called by any thread. The
// handler is stored before the eventfd is written, or the loop could wake and
// find none. Mirrors ngx_epoll_notify.
func (cycle *Cycle) Notify(handler *Handler) core.Status {
	m := &cycle.epoll

	m.notifyHandler.Store(handler)

	if n, err := cycle.Kernel.Write(m.notifyFd, notifyInc); n != len(notifyInc) {
		m.notifyEvent.Log.Error(core.LogAlert, err, "write() to eventfd %d failed", m.notifyFd)
		return core.Error
	}

	return core.OK
}

// EpollDone closes the epoll instance. Mirrors ngx_epoll_done.
func (cycle *Cycle) EpollDone() {
	m := &cycle.epoll

	if err := cycle.Kernel.Close(m.fd); err != 0 {
		cycle.Log.Error(core.LogAlert, err, "epoll close() failed")
	}

	m.fd = -1

	if err := cycle.Kernel.Close(m.notifyFd); err != 0 {
		cycle.Log.Error(core.LogAlert, err, "eventfd close() failed")
	}

	m.notifyFd = -1

	m.eventList = nil
}

// AddEvent has the kernel watch for ev, in addition to what it watches for on
// the same connection. event is ReadEvent or WriteEvent; flags may hold
// ClearEvent or ExclusiveEvent. Mirrors ngx_epoll_add_event.
func (cycle *Cycle) AddEvent(ev *Event, event, flags uint32) core.Status {
	var (
		e            *Event
		events, prev uint32
		op           int
	)

	c := ev.Data

	events = event

	if event == ReadEvent {
		e = c.Write
		prev = sys.EPOLLOUT

	} else {
		e = c.Read
		prev = sys.EPOLLIN | sys.EPOLLRDHUP
	}

	if e.Active {
		op = sys.EPOLL_CTL_MOD
		events |= prev

	} else {
		op = sys.EPOLL_CTL_ADD
	}

	// EPOLLRDHUP with EPOLLEXCLUSIVE is EINVAL.
	if flags&ExclusiveEvent != 0 {
		events &^= sys.EPOLLRDHUP
	}

	ee := sys.MakeEpollEvent(events|flags, eventData(c, ev.instance))

	ev.Log.Debug(core.LogDebugEvent, 0, "epoll add event: fd:%d op:%d ev:%08X", c.Fd, op, ee.Events)

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 {
		ev.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd)
		return core.Error
	}

	ev.Active = true

	return core.OK
}

// DelEvent has the kernel stop watching for ev. With CloseEvent in flags
// nothing is asked of the kernel: closing a descriptor removes it. Mirrors
// ngx_epoll_del_event.
func (cycle *Cycle) DelEvent(ev *Event, event, flags uint32) core.Status {
	var (
		e    *Event
		prev uint32
		op   int
		ee   sys.EpollEvent
	)

	if flags&CloseEvent != 0 {
		ev.Active = false
		return core.OK
	}

	c := ev.Data

	if event == ReadEvent {
		e = c.Write
		prev = sys.EPOLLOUT

	} else {
		e = c.Read
		prev = sys.EPOLLIN | sys.EPOLLRDHUP
	}

	if e.Active {
		op = sys.EPOLL_CTL_MOD
		ee = sys.MakeEpollEvent(prev|flags, eventData(c, ev.instance))

	} else {
		op = sys.EPOLL_CTL_DEL
		ee = sys.EpollEvent{}
	}

	ev.Log.Debug(core.LogDebugEvent, 0, "epoll del event: fd:%d op:%d ev:%08X", c.Fd, op, ee.Events)

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 {
		ev.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd)
		return core.Error
	}

	ev.Active = false

	return core.OK
}

// AddConn has the kernel watch both directions of c, edge-triggered. Mirrors
// ngx_epoll_add_connection.
func (cycle *Cycle) AddConn(c *Connection) core.Status {
	ee := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLOUT|sys.EPOLLET|sys.EPOLLRDHUP,
		eventData(c, c.Read.instance))

	c.Log.Debug(core.LogDebugEvent, 0, "epoll add connection: fd:%d ev:%08X", c.Fd, ee.Events)

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, sys.EPOLL_CTL_ADD, c.Fd, ee); err != 0 {
		c.Log.Error(core.LogAlert, err, "epoll_ctl(EPOLL_CTL_ADD, %d) failed", c.Fd)
		return core.Error
	}

	c.Read.Active = true
	c.Write.Active = true

	return core.OK
}

// DelConn has the kernel stop watching c. Mirrors ngx_epoll_del_connection.
func (cycle *Cycle) DelConn(c *Connection, flags uint32) core.Status {
	if flags&CloseEvent != 0 {
		c.Read.Active = false
		c.Write.Active = false
		return core.OK
	}

	c.Log.Debug(core.LogDebugEvent, 0, "epoll del connection: fd:%d", c.Fd)

	op := sys.EPOLL_CTL_DEL
	ee := sys.EpollEvent{}

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 {
		c.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd)
		return core.Error
	}

	c.Read.Active = false
	c.Write.Active = false

	return core.OK
}

// ProcessEvents waits at most timer milliseconds and handles, or with
// postEvents queues, what the kernel reports. Mirrors
// ngx_epoll_process_events.
func (cycle *Cycle) ProcessEvents(timer core.Msec, flags uint) core.Status {
	m := &cycle.epoll

	cycle.Log.Debug(core.LogDebugEvent, 0, "epoll timer: %d", int(timer))

	events, err := cycle.Kernel.EpollWait(m.fd, m.eventList, int(int32(timer)))

	if flags&updateTime != 0 || cycle.EventTimerAlarm.Load() {
		cycle.Time.TimeUpdate()
	}

	if err != 0 {
		level := uint(core.LogAlert)

		if err == sys.EINTR {

			if cycle.EventTimerAlarm.Load() {
				cycle.EventTimerAlarm.Store(false)
				return core.OK
			}

			level = core.LogInfo
		}

		cycle.Log.Error(level, err, "epoll_wait() failed")
		return core.Error
	}

	if events == 0 {
		if timer != TimerInfinite {
			return core.OK
		}

		cycle.Log.Error(core.LogAlert, 0, "epoll_wait() returned no events without timeout")
		return core.Error
	}

	for i := range m.eventList[:events] {
		cycle.processEvent(&m.eventList[i], flags)
	}

	return core.OK
}

// processEvent handles one reported event: reading first, then writing. An
// earlier event of the same batch may have closed the connection, and its
// place may even have been taken by a new one; the instance bit tells.
//
// DIVERGES: its own function; in nginx it is the loop at the end of
// ngx_epoll_process_events, and a return is its continue.
func (cycle *Cycle) processEvent(ee *sys.EpollEvent, flags uint) {
	c, instance := cycle.connectionOf(ee.Data())

	rev := c.Read

	if c.Fd == -1 || rev.instance != instance {
		cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: stale event %p", unsafe.Pointer(c))
		return
	}

	revents := ee.Events

	cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: fd:%d ev:%04X d:%p", c.Fd, revents, ee.Data())

	if revents&(sys.EPOLLERR|sys.EPOLLHUP) != 0 {
		cycle.Log.Debug(core.LogDebugEvent, 0, "epoll_wait() error on fd:%d ev:%04X", c.Fd, revents)

		// Whichever direction is active must hear of the error.
		revents |= sys.EPOLLIN | sys.EPOLLOUT
	}

	if revents&sys.EPOLLIN != 0 && rev.Active {

		if revents&sys.EPOLLRDHUP != 0 {
			rev.PendingEOF = true
		}

		rev.Ready = true
		rev.Available = -1

		if flags&postEvents != 0 {
			queue := &cycle.PostedEvents
			if rev.Accept {
				queue = &cycle.PostedAcceptEvents
			}

			PostEvent(rev, queue)

		} else {
			rev.Handler(rev)
		}
	}

	wev := c.Write

	if revents&sys.EPOLLOUT != 0 && wev.Active {

		if c.Fd == -1 || wev.instance != instance {
			cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: stale event %p", unsafe.Pointer(c))
			return
		}

		wev.Ready = true

		if flags&postEvents != 0 {
			PostEvent(wev, &cycle.PostedEvents)

		} else {
			wev.Handler(wev)
		}
	}
}
