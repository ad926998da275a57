package event

import (
	"encoding/binary"
	"math"
	"slices"
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
	notifyHandler atomic.Pointer[Handler]
}

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
	return &cycle.Connections[data>>1], data&1 == 1
}

// NotifyData is what the kernel reports for the notify eventfd, where others
// have their place in the table of connections.
const NotifyData = uint64(math.MaxInt32) << 1

// epollInit makes the epoll instance, the notify eventfd and the list that
// events are returned in. Mirrors ngx_epoll_init.
//
// DIVERGES: EPOLLRDHUP needs no test, Linux has it since 2.6.17; no file AIO.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_init
//nginx:omit 327 the configuration is in fields
//nginx:omit 349 no test for EPOLLRDHUP
//nginx:omit 353-355, 360-361 it is made once and does not fail
//nginx:omit 367-377 epoll is the only event method
func (cycle *Cycle) epollInit() core.Status {
	m := &cycle.epoll // DIVERGES: statics in nginx

	if m.fd == -1 { // 329
		ep, err := cycle.Kernel.EpollCreate() // 330
		m.fd = ep                             // 330

		if err != 0 { // 332
			cycle.Log.Error(core.LogEmerg, err, "epoll_create() failed") // 333
			return core.Error                                            // 335
		}

		if cycle.notifyInit() != core.OK { // 339
			// DIVERGES: signals come by it, so it cannot be done without.
			return core.Error // 340
		}
	}

	m.eventList = make([]sys.EpollEvent, cycle.Event.EpollEvents) // 358, 365

	return core.OK // 379
}

// notifyInit registers the eventfd that other threads wake the loop by.
// Mirrors ngx_epoll_notify_init.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_notify_init
//nginx:omit 408-410 no connection, see takeNotification
func (cycle *Cycle) notifyInit() core.Status {
	m := &cycle.epoll // DIVERGES: statics in nginx

	fd, err := cycle.Kernel.Eventfd() // 391
	m.notifyFd = fd                   // 391

	if err != 0 { // 396
		cycle.Log.Error(core.LogEmerg, err, "eventfd() failed") // 397
		return core.Error                                       // 398
	}

	cycle.Log.Debug(core.LogDebugEvent, 0, "notify eventfd: %d", m.notifyFd) // 401

	m.notifyEvent.Handler = cycle.notifyHandler // 404
	m.notifyEvent.Log = cycle.Log               // 405
	m.notifyEvent.Active = true                 // 406

	ee := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, NotifyData) // 412-413

	if err := cycle.Kernel.EpollCtl(m.fd, sys.EPOLL_CTL_ADD, m.notifyFd, ee); err != 0 { // 415
		cycle.Log.Error(core.LogEmerg, err, "epoll_ctl(EPOLL_CTL_ADD, eventfd) failed") // 416

		if err := cycle.Kernel.Close(m.notifyFd); err != 0 { // 419
			cycle.Log.Error(core.LogAlert, err, "eventfd close() failed") // 420
		}

		return core.Error // 424
	}

	return core.OK // 427
}

// notifyHandler runs on the loop after a Notify. The counter is left to grow
// and read only when it might overflow: the registration is edge-triggered,
// so every write is an event of its own. Mirrors ngx_epoll_notify_handler.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_notify_handler
//nginx:omit 444 the call returns the errno
func (cycle *Cycle) notifyHandler(ev *Event) {
	m := &cycle.epoll // DIVERGES: statics in nginx

	ev.notifications++                      // 439
	if ev.notifications == math.MaxUint32 { // 439
		ev.notifications = 0 // 440

		var count [8]byte
		n, err := cycle.Kernel.Read(m.notifyFd, count[:]) // 442

		ev.Log.Debug(core.LogDebugEvent, 0, "read() eventfd %d: %d count:%d",
			m.notifyFd, n, binary.NativeEndian.Uint64(count[:])) // 446

		if n != len(count) { // 449
			ev.Log.Error(core.LogAlert, err, "read() eventfd %d failed", m.notifyFd) // 450
		}
	}

	handler := *m.notifyHandler.Load() // 455
	handler(ev)                        // 456
}

// Notify interrupts the loop's wait, as a signal interrupts nginx's, and has
// the loop's thread call handler; it may be called by any thread. The handler
// is stored before the eventfd is written, or the loop could wake and find
// none. Mirrors ngx_epoll_notify.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_notify
//nginx:omit 767 notifyInc
func (cycle *Cycle) Notify(handler *Handler) core.Status {
	m := &cycle.epoll // DIVERGES: statics in nginx

	m.notifyHandler.Store(handler) // 769

	if n, err := cycle.Kernel.Write(m.notifyFd, notifyInc); n != len(notifyInc) { // 771
		m.notifyEvent.Log.Error(core.LogAlert, err, "write() to eventfd %d failed", m.notifyFd) // 772
		return core.Error                                                                       // 774
	}

	return core.OK // 777
}

// EpollDone closes the epoll instance. Mirrors ngx_epoll_done.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_done
func (cycle *Cycle) EpollDone() {
	m := &cycle.epoll // DIVERGES: statics in nginx

	if err := cycle.Kernel.Close(m.fd); err != 0 { // 532
		cycle.Log.Error(core.LogAlert, err, "epoll close() failed") // 533
	}

	m.fd = -1 // 537

	if err := cycle.Kernel.Close(m.notifyFd); err != 0 { // 541
		cycle.Log.Error(core.LogAlert, err, "eventfd close() failed") // 542
	}

	m.notifyFd = -1 // 546

	m.eventList = nil // 571-574
}

// AddEvent has the kernel watch for ev, in addition to what it watches for on
// the same connection. event is ReadEvent or WriteEvent; flags may hold
// ClearEvent or ExclusiveEvent. Mirrors ngx_epoll_add_event.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_add_event
func (cycle *Cycle) AddEvent(ev *Event, event, flags uint32) core.Status {
	var (
		e            *Event
		events, prev uint32
		op           int
	)

	c := ev.Data // 587

	events = event // 589

	if event == ReadEvent { // 591
		e = c.Write         // 592
		prev = sys.EPOLLOUT // 593

	} else {
		e = c.Read                          // 599
		prev = sys.EPOLLIN | sys.EPOLLRDHUP // 600
	}

	if e.Active { // 606
		op = sys.EPOLL_CTL_MOD // 607
		events |= prev         // 608

	} else {
		op = sys.EPOLL_CTL_ADD // 611
	}

	// EPOLLRDHUP with EPOLLEXCLUSIVE is EINVAL.
	if flags&ExclusiveEvent != 0 { // 615
		events &^= sys.EPOLLRDHUP // 616
	}

	ee := sys.MakeEpollEvent(events|flags, eventData(c, ev.instance)) // 620-621

	ev.Log.Debug(core.LogDebugEvent, 0, "epoll add event: fd:%d op:%d ev:%08X", c.Fd, op, ee.Events) // 623

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 { // 627
		ev.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd) // 628
		return core.Error                                                      // 630
	}

	ev.Active = true // 633

	return core.OK // 638
}

// DelEvent has the kernel stop watching for ev. With CloseEvent in flags
// nothing is asked of the kernel: closing a descriptor removes it. Mirrors
// ngx_epoll_del_event.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_del_event
func (cycle *Cycle) DelEvent(ev *Event, event, flags uint32) core.Status {
	var (
		e    *Event
		prev uint32
		op   int
		ee   sys.EpollEvent
	)

	if flags&CloseEvent != 0 { // 657
		ev.Active = false // 658
		return core.OK    // 659
	}

	c := ev.Data // 662

	if event == ReadEvent { // 664
		e = c.Write         // 665
		prev = sys.EPOLLOUT // 666

	} else {
		e = c.Read                          // 669
		prev = sys.EPOLLIN | sys.EPOLLRDHUP // 670
	}

	if e.Active { // 673
		op = sys.EPOLL_CTL_MOD                                         // 674
		ee = sys.MakeEpollEvent(prev|flags, eventData(c, ev.instance)) // 675-676

	} else {
		op = sys.EPOLL_CTL_DEL // 679
		ee = sys.EpollEvent{}  // 680-681
	}

	ev.Log.Debug(core.LogDebugEvent, 0, "epoll del event: fd:%d op:%d ev:%08X", c.Fd, op, ee.Events) // 684

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 { // 688
		ev.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd) // 689
		return core.Error                                                      // 691
	}

	ev.Active = false // 694

	return core.OK // 696
}

// AddConn has the kernel watch both directions of c, edge-triggered. Mirrors
// ngx_epoll_add_connection.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_add_connection
func (cycle *Cycle) AddConn(c *Connection) core.Status {
	ee := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLOUT|sys.EPOLLET|sys.EPOLLRDHUP,
		eventData(c, c.Read.instance)) // 705-706

	c.Log.Debug(core.LogDebugEvent, 0, "epoll add connection: fd:%d ev:%08X", c.Fd, ee.Events) // 708

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, sys.EPOLL_CTL_ADD, c.Fd, ee); err != 0 { // 711
		c.Log.Error(core.LogAlert, err, "epoll_ctl(EPOLL_CTL_ADD, %d) failed", c.Fd) // 712
		return core.Error                                                            // 714
	}

	c.Read.Active = true  // 717
	c.Write.Active = true // 718

	return core.OK // 720
}

// DelConn has the kernel stop watching c. Mirrors ngx_epoll_del_connection.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_del_connection
func (cycle *Cycle) DelConn(c *Connection, flags uint32) core.Status {
	if flags&CloseEvent != 0 { // 736
		c.Read.Active = false  // 737
		c.Write.Active = false // 738
		return core.OK         // 739
	}

	c.Log.Debug(core.LogDebugEvent, 0, "epoll del connection: fd:%d", c.Fd) // 742

	op := sys.EPOLL_CTL_DEL // 745
	ee := sys.EpollEvent{}  // 746-747

	if err := cycle.Kernel.EpollCtl(cycle.epoll.fd, op, c.Fd, ee); err != 0 { // 749
		c.Log.Error(core.LogAlert, err, "epoll_ctl(%d, %d) failed", op, c.Fd) // 750
		return core.Error                                                     // 752
	}

	c.Read.Active = false  // 755
	c.Write.Active = false // 756

	return core.OK // 758
}

// ProcessEvents waits at most timer milliseconds and handles, or with
// PostEvents queues, what the kernel reports. Mirrors
// ngx_epoll_process_events.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_process_events
//nginx:omit 802 the call returns the errno
//nginx:omit 923 no threads
func (cycle *Cycle) ProcessEvents(timer core.Msec, flags uint) core.Status {
	m := &cycle.epoll // DIVERGES: statics in nginx

	cycle.Log.Debug(core.LogDebugEvent, 0, "epoll timer: %d", int(timer)) // 797

	events, err := cycle.Kernel.EpollWait(m.fd, m.eventList, int(int32(timer))) // 800

	// DIVERGES: a signal comes as a notification.
	events, err = cycle.takeNotification(events, err)

	if flags&UpdateTime != 0 || cycle.EventTimerAlarm { // 804
		cycle.Time.TimeUpdate() // 805
	}

	if err != 0 { // 808
		var level uint

		if err == sys.EINTR { // 809

			if cycle.EventTimerAlarm { // 811
				cycle.EventTimerAlarm = false // 812
				return core.OK                // 813
			}

			level = core.LogInfo // 816

		} else {
			level = core.LogAlert // 819
		}

		cycle.Log.Error(level, err, "epoll_wait() failed") // 822
		return core.Error                                  // 823
	}

	if events == 0 { // 826
		if timer != TimerInfinite { // 827
			return core.OK // 828
		}

		cycle.Log.Error(core.LogAlert, 0, "epoll_wait() returned no events without timeout") // 831
		return core.Error                                                                    // 833
	}

	for i := range m.eventList[:events] { // 836
		cycle.processEvent(&m.eventList[i], flags)
	}

	return core.OK // 935
}

// takeNotification makes of a notification what a signal is to nginx's wait:
// its handler has run before anything else is looked at, and the wait was
// interrupted, unless it has other events to report.
//
// DIVERGES: nginx's signal handler runs on this very thread. Go's would run on
// it too late, or on another; and a signal that comes right before the wait
// does not interrupt it, so that nginx sleeps on.
func (cycle *Cycle) takeNotification(events int, err sys.Errno) (int, sys.Errno) {
	m := &cycle.epoll

	if err != 0 {
		return events, err
	}
	list := m.eventList[:events]
	i := slices.IndexFunc(list, func(ee sys.EpollEvent) bool { return ee.Data() == NotifyData })
	if i == -1 {
		return events, 0
	}

	m.notifyEvent.Handler(&m.notifyEvent)

	if events == 1 {
		return -1, sys.EINTR
	}
	copy(list[i:], list[i+1:])
	return events - 1, 0
}

// processEvent handles one reported event: reading first, then writing. An
// earlier event of the same batch may have closed the connection, and its
// place may even have been taken by a new one; the instance bit tells.
//
// DIVERGES: its own function; in nginx it is the loop at the end of
// ngx_epoll_process_events, and a return is its continue.
//
//nginx:src/event/modules/ngx_epoll_module.c ngx_epoll_process_events
func (cycle *Cycle) processEvent(ee *sys.EpollEvent, flags uint) {
	c, instance := cycle.connectionOf(ee.Data()) // 837-840

	rev := c.Read // 842

	if c.Fd == -1 || rev.instance != instance { // 844
		cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: stale event %p", unsafe.Pointer(c)) // 851
		return                                                                             // 853
	}

	revents := ee.Events // 856

	cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: fd:%d ev:%04X d:%p", c.Fd, revents, ee.Data()) // 858

	if revents&(sys.EPOLLERR|sys.EPOLLHUP) != 0 { // 862
		cycle.Log.Debug(core.LogDebugEvent, 0, "epoll_wait() error on fd:%d ev:%04X", c.Fd, revents) // 863

		// Whichever direction is active must hear of the error.
		revents |= sys.EPOLLIN | sys.EPOLLOUT // 872
	}

	if revents&sys.EPOLLIN != 0 && rev.Active { // 883

		if revents&sys.EPOLLRDHUP != 0 { // 886
			rev.PendingEOF = true // 887
		}

		rev.Ready = true   // 891
		rev.Available = -1 // 892

		if flags&PostEvents != 0 { // 894
			queue := &cycle.PostedEvents // 895
			if rev.Accept {              // 895
				queue = &cycle.PostedAcceptEvents // 895
			}

			PostEvent(rev, queue) // 898

		} else {
			rev.Handler(rev) // 901
		}
	}

	wev := c.Write // 905

	if revents&sys.EPOLLOUT != 0 && wev.Active { // 907

		if c.Fd == -1 || wev.instance != instance { // 909
			cycle.Log.Debug(core.LogDebugEvent, 0, "epoll: stale event %p", unsafe.Pointer(c)) // 916
			return                                                                             // 918
		}

		wev.Ready = true // 921

		if flags&PostEvents != 0 { // 926
			PostEvent(wev, &cycle.PostedEvents) // 927

		} else {
			wev.Handler(wev) // 930
		}
	}
}
