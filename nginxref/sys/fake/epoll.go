package fake

import (
	"fmt"
	"slices"

	"herd/nginxref/sys"
)

// epoll is an epoll instance (struct eventpoll).
type epoll struct {
	items []*epitem
	// list holds the items that may have something to report; whether they do
	// is asked when they are reported (rdllist).
	list []*epitem
	wq   waitQueue // processes in epoll_wait, the latest at the head
}

func (ep *epoll) poll() uint32        { panic("fake: epoll instances in epoll sets are not modelled") }
func (ep *epoll) waiters() *waitQueue { panic("fake: epoll instances in epoll sets are not modelled") }

func (ep *epoll) release() {
	for _, item := range slices.Clone(ep.items) {
		ep.remove(item)
	}
}

// epitem is the registration of one descriptor (struct epitem). It belongs to
// the open file and the number together, and lives as long as the file.
type epitem struct {
	ep     *epoll
	d      *description
	fd     int
	events uint32
	data   uint64
	linked bool // in ep.list
	waiter *waiter
}

const (
	inOut = sys.EPOLLIN | sys.EPOLLOUT
	// always is reported whether asked for or not.
	always = sys.EPOLLERR | sys.EPOLLHUP
	// private bits say how to report, not what. An item with no others is
	// disabled: ONESHOT has spent it.
	private = sys.EPOLLET | sys.EPOLLONESHOT | sys.EPOLLEXCLUSIVE
	// besideExclusive is all that EPOLLEXCLUSIVE tolerates.
	besideExclusive = inOut | always | sys.EPOLLET | sys.EPOLLEXCLUSIVE
)

func (ep *epoll) find(d *description, fd int) *epitem {
	for _, item := range ep.items {
		if item.d == d && item.fd == fd {
			return item
		}
	}
	return nil
}

// ctl is epoll_ctl once the descriptors are known to be good (do_epoll_ctl).
func (ep *epoll) ctl(op, fd int, d *description, events uint32, data uint64) sys.Errno {
	exclusive := events&sys.EPOLLEXCLUSIVE != 0
	if exclusive && (op == sys.EPOLL_CTL_MOD || op == sys.EPOLL_CTL_ADD && events&^uint32(besideExclusive) != 0) {
		return sys.EINVAL
	}
	item := ep.find(d, fd)
	switch op {
	case sys.EPOLL_CTL_ADD:
		if item != nil {
			return eexist
		}
		ep.insert(&epitem{ep: ep, d: d, fd: fd, events: events | always, data: data})
		return 0
	case sys.EPOLL_CTL_DEL:
		if item == nil {
			return enoent
		}
		ep.remove(item)
		return 0
	case sys.EPOLL_CTL_MOD:
		if item == nil {
			return enoent
		}
		if item.events&sys.EPOLLEXCLUSIVE != 0 {
			return sys.EINVAL
		}
		item.events, item.data = events|always, data
		item.look()
		return 0
	}
	return sys.EINVAL
}

// insert registers item (ep_insert).
func (ep *epoll) insert(item *epitem) {
	item.waiter = &waiter{exclusive: item.events&sys.EPOLLEXCLUSIVE != 0, f: item.hear}
	item.d.waiters().add(item.waiter)
	item.d.items = append(item.d.items, item)
	ep.items = append(ep.items, item)
	item.look()
}

// remove takes the registration back (ep_remove).
func (ep *epoll) remove(item *epitem) {
	gone := func(i *epitem) bool { return i == item }
	item.d.waiters().remove(item.waiter)
	item.d.items = slices.DeleteFunc(item.d.items, gone)
	ep.items = slices.DeleteFunc(ep.items, gone)
	ep.list = slices.DeleteFunc(ep.list, gone)
}

// ready returns what there is to report.
func (item *epitem) ready() uint32 { return item.d.poll() & item.events }

// look puts an item on the list if there is something to report already. It
// does so at each ADD and MOD, edge-triggered or not: MOD re-arms.
func (item *epitem) look() {
	if item.ready() != 0 {
		item.link()
		item.ep.wq.wake(0)
	}
}

func (item *epitem) link() {
	if !item.linked {
		item.linked = true
		item.ep.list = append(item.ep.list, item)
	}
}

// hear is called when something happens to the file (ep_poll_callback). It
// reports whether somebody was woken, which ends the walk over exclusive
// registrations. One whose process is not asleep in epoll_wait gets the event
// on its list, and the walk goes on.
func (item *epitem) hear(key uint32) (woken bool) {
	if item.events&^uint32(private) == 0 || key != 0 && key&item.events == 0 {
		return false
	}
	item.link()
	if len(item.ep.wq) == 0 {
		return false
	}
	switch key & inOut {
	case 0:
		woken = true
	case sys.EPOLLIN, sys.EPOLLOUT:
		woken = key&item.events&inOut != 0
	}
	item.ep.wq.wake(0)
	return woken
}

// report moves what there is to report from the list to out and returns how
// many events that are (ep_send_events). Level-triggered items go back to the
// tail of the list, to be looked at again in the next call.
func (ep *epoll) report(out []sys.EpollEvent) (n int) {
	list := ep.list
	var again []*epitem
	for len(list) > 0 && n < len(out) {
		item := list[0]
		list = list[1:]
		item.linked = false
		bits := item.ready()
		if bits == 0 {
			continue
		}
		out[n] = sys.MakeEpollEvent(bits, item.data)
		n++
		switch {
		case item.events&sys.EPOLLONESHOT != 0:
			item.events &= private
		case item.events&sys.EPOLLET == 0:
			item.linked = true
			again = append(again, item)
		}
	}
	ep.list = append(list, again...)
	if len(ep.list) > 0 {
		ep.wq.wake(0) // another process may share the set
	}
	return n
}

func (p *Process) EpollCreate() (int, sys.Errno) {
	fd, err := -1, p.begin(EpollCreate, true)
	if err == 0 {
		fd, err = p.install(&description{object: &epoll{}, name: "epoll"})
	}
	p.end(func() string { return fmt.Sprintf("epoll_create1() = %s", ret(fd, err)) })
	return fd, err
}

func (p *Process) EpollCtl(epfd, op, fd int, ev sys.EpollEvent) sys.Errno {
	err := p.begin(EpollCtl, p.local(fd))
	if err == 0 {
		err = p.epollCtl(epfd, op, fd, ev)
	}
	if err == 0 {
		*[...]*int{&p.Counts.CtlAdds, &p.Counts.CtlDels, &p.Counts.CtlMods}[op-1]++
	}
	p.end(func() string {
		return fmt.Sprintf("epoll_ctl(%s, %s, %s, %s) = %s", p.fdName(epfd), opName(op), p.fdName(fd), bitNames(ev.Events), ret(0, err))
	})
	return err
}

func (p *Process) epollCtl(epfd, op, fd int, ev sys.EpollEvent) sys.Errno {
	e, d := p.description(epfd), p.description(fd)
	if e == nil || d == nil {
		return ebadf
	}
	if _, regular := d.object.(*inode); regular {
		return eperm
	}
	ep, ok := e.object.(*epoll)
	if !ok || e == d {
		return sys.EINVAL
	}
	return ep.ctl(op, fd, d, ev.Events, ev.Data())
}

func (p *Process) EpollWait(epfd int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	n, err := -1, p.begin(EpollWait, false)
	if err == 0 {
		n, err = p.epollWait(epfd, list, msec)
	}
	switch {
	case err == sys.EINTR:
		p.Counts.ReturnsSignal++
	case err == 0 && n == 0:
		p.Counts.ReturnsTimeout++
	case err == 0:
		p.Counts.ReturnsEvents++
	}
	p.end(func() string {
		return fmt.Sprintf("epoll_wait(%s, %s) = %s%s", p.fdName(epfd), msecName(msec), ret(n, err), p.eventNames(epfd, list[:max(n, 0)]))
	})
	return n, err
}

// epollWait is ep_poll: a process that was woken looks again, and sleeps again
// if another one was faster.
func (p *Process) epollWait(epfd int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	e := p.description(epfd)
	if e == nil {
		return -1, ebadf
	}
	ep, ok := e.object.(*epoll)
	if !ok || len(list) == 0 {
		return -1, sys.EINVAL
	}
	deadline := never
	if msec >= 0 {
		deadline = p.w.now + uint64(msec)*1e6
	}
	for slept := false; ; slept = true {
		if n := ep.report(list); n > 0 || msec == 0 {
			return n, 0
		}
		if slept {
			p.Counts.Silent++
			p.note(func() string {
				return fmt.Sprintf("epoll_wait(%s) wakes, finds nothing and sleeps again", p.fdName(epfd))
			})
		} else {
			p.note(func() string { return fmt.Sprintf("epoll_wait(%s, %s) sleeps", p.fdName(epfd), msecName(msec)) })
		}
		ep.wq.addHead(p.waiting(&ep.wq, &waiter{exclusive: true}))
		switch p.sleep(deadline) {
		case timedOut:
			return 0, 0
		case interrupted, continued:
			return -1, sys.EINTR
		}
	}
}

// EpollWaitCounted fills w as Linux would: the sleeps are the voluntary
// context switches. Computing takes no time here, so there is no CPU time.
func (p *Process) EpollWaitCounted(epfd int, list []sys.EpollEvent, msec int, w *sys.Wait) (int, sys.Errno) {
	w.SleepsBefore = uint64(p.Counts.Sleeps)
	w.Inside = 1
	n, err := p.EpollWait(epfd, list, msec)
	w.Inside = 0
	w.SleepsAfter = uint64(p.Counts.Sleeps)
	return n, err
}
