package fake

import (
	"fmt"
	"net/netip"
	"slices"

	"herd/nginxref/sys"
)

// Listener is a listening socket. Its connections are complete when Connect
// returns, and wait in the queue until a process accepts them.
type Listener struct {
	Name    string // "s0", "s1" and so on
	Addr    netip.AddrPort
	Backlog int // the queue holds one more

	w     *World
	d     *description
	queue []*tcpEnd
	wq    waitQueue
	group *group // nil without SO_REUSEPORT
}

// group is the sockets that share an address by SO_REUSEPORT.
type group struct {
	members []*Listener
	next    int // number of the next connection
}

// Listen makes a non-blocking listener, with nginx's backlog of 511.
func (w *World) Listen() *Listener { return w.listen(w.listeners) }

// ListenReuseport makes n listeners of one address, as SO_REUSEPORT allows. A
// connection to any of them goes to the one that World.Hash says.
func (w *World) ListenReuseport(n int) []*Listener {
	g := &group{}
	port := w.listeners
	for range n {
		l := w.listen(port)
		l.group = g
		g.members = append(g.members, l)
	}
	return slices.Clone(g.members)
}

func (w *World) listen(port int) *Listener {
	l := &Listener{
		Name:    fmt.Sprintf("s%d", w.listeners),
		Addr:    netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(8080+port)),
		Backlog: 511,
		w:       w,
	}
	l.d = &description{object: l, name: l.Name, nonblock: true}
	w.listeners++
	return l
}

// Blocking has accept4 sleep while the queue is empty.
func (l *Listener) Blocking() *Listener {
	l.d.nonblock = false
	return l
}

// Queued returns how many connections wait to be accepted.
func (l *Listener) Queued() int { return len(l.queue) }

// Closed reports whether the last descriptor of it is closed.
func (l *Listener) Closed() bool { return l.d.released }

func (l *Listener) open() *description { return l.d }

func (l *Listener) poll() uint32 {
	if len(l.queue) > 0 {
		return sys.EPOLLIN
	}
	return 0
}

func (l *Listener) waiters() *waitQueue { return &l.wq }

// release closes the socket. Its queue is lost unless tcp_migrate_req moves it
// to another socket of the group.
func (l *Listener) release() {
	if g := l.group; g != nil {
		i := slices.Index(g.members, l)
		last := len(g.members) - 1
		g.members[i] = g.members[last] // as Linux closes the gap
		g.members = g.members[:last]
	}
	for _, end := range l.queue {
		if l.w.MigrateReq {
			if to := l.pick(end.client.Number); to != nil && to.enqueue(end) {
				continue
			}
		}
		end.closed = true
		end.sendReset()
	}
	l.queue = nil
}

// pick returns the socket that the n-th connection to l's address goes to, or
// nil if nobody listens.
func (l *Listener) pick(n int) *Listener {
	if l.group == nil {
		if l.d.released {
			return nil
		}
		return l
	}
	m := l.group.members
	if len(m) == 0 {
		return nil
	}
	if hash := l.w.Hash; hash != nil {
		return m[uint64(hash(n))*uint64(len(m))>>32] // reciprocal_scale
	}
	l.group.next++
	return m[(l.group.next-1)%len(m)]
}

// enqueue adds a complete connection, unless the queue is full.
func (l *Listener) enqueue(end *tcpEnd) bool {
	if len(l.queue) > l.Backlog {
		return false
	}
	end.client.Listener = l
	l.queue = append(l.queue, end)
	l.wq.wake(sys.EPOLLIN)
	return true
}

func (p *Process) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	s, err := -1, p.begin(Accept4, false)
	if err == 0 {
		s, err = p.accept4(fd, sa)
	}
	switch err {
	case 0:
		p.Counts.Accepted++
	case sys.EAGAIN:
		p.Counts.AcceptAgain++
	case sys.EMFILE, sys.ENFILE:
		p.Counts.AcceptMfile++
	default:
		p.Counts.AcceptOther++
	}
	p.end(func() string { return fmt.Sprintf("accept4(%s) = %s", p.fdName(fd), p.fdRet(s, err)) })
	return s, err
}

// accept4 needs a free descriptor before it looks at the queue: EMFILE leaves
// the connection where it is.
func (p *Process) accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	d := p.description(fd)
	if d == nil {
		return -1, ebadf
	}
	slot := p.freeFd()
	if slot < 0 {
		return -1, sys.EMFILE
	}
	l, ok := d.object.(*Listener)
	if !ok {
		return -1, notListening(d)
	}
	for len(l.queue) == 0 {
		if d.nonblock {
			return -1, sys.EAGAIN
		}
		p.note(func() string { return fmt.Sprintf("accept4(%s) sleeps", p.fdName(fd)) })
		if p.sleepOn(&l.wq, &waiter{exclusive: true}) == interrupted {
			return -1, sys.EINTR
		}
	}
	end := l.queue[0]
	l.queue = l.queue[1:]
	c := end.client
	c.AcceptedBy, c.AcceptedAt = p, p.w.Now()
	p.installAt(slot, &description{object: end, name: c.Name, nonblock: true})
	*sa = sys.TCPSockaddr(c.Addr)
	return slot, 0
}

// notListening returns why accept4 refuses d.
func notListening(d *description) sys.Errno {
	if _, ok := d.object.(socket); ok {
		return sys.EINVAL
	}
	return enotsock
}
