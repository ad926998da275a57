package lab02

import (
	"syscall"
	"time"

	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// careful is a process with a guard, and what it has opened beside.
type careful struct {
	*fake.Process
	Guard
	lock map[int]bool // the descriptors of the lock file
}

// guard gives p, which has the lock file on fd, a guard.
func (c *checks) guard(p *fake.Process, r *guarded) *careful {
	g := &careful{Process: p, lock: map[int]bool{r.fd: true}}
	g.Guard = c.f.NewGuard(p, r.fd, func(fd int) bool { return g.lock[fd] })
	return g
}

// reopen opens the lock file once more, as a library might that does not know
// that it is one.
func (g *careful) reopen(r *guarded) (fd int) {
	g.Process.Do(func() { fd, _ = g.Reopen(r.fd) })
	g.lock[fd] = true
	return fd
}

// close has the guard close fd, and reports whether it is closed.
func (g *careful) close(fd int) bool {
	g.Process.Do(func() { g.Guard.Close(fd) })
	return g.closed(fd)
}

// closed reports whether fd is closed.
func (g *careful) closed(fd int) (closed bool) {
	g.Process.Do(func() {
		_, err := g.Nread(fd)
		closed = err == syscall.EBADF
	})
	return closed
}

func (c *checks) signal(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := newRoom(w)
		lock := func(p *fake.Process) locker { return c.guard(p, r).Guard }
		r.Fork(func(p *fake.Process) {
			r.visit(p, lock(p), func() { p.Sleep(time.Second) })
		})
		w.Settle()
		waiter := r.Fork(func(p *fake.Process) { r.visit(p, lock(p), p.SchedYield) })
		w.Settle()
		for range 3 {
			waiter.Interrupt()
			w.Settle()
		}
		w.Expect("the waiter sleeps", waiter.Asleep(), true)
		w.Advance(2 * time.Second)
		r.Done(waiter)
	})
}

// holding has a guard take the lock, and returns it with another process.
func (c *checks) holding(w *fake.World) (r *guarded, g *careful, other *fake.Process) {
	r = newRoom(w)
	g = c.guard(r.Idle(), r)
	other = r.Idle()
	g.Process.Do(func() { g.Trylock() })
	w.Expect("the lock is taken", r.free(other), false)
	return r, g, other
}

// free reports whether the kernel would give p the lock. p does not keep it.
func (r *guarded) free(p *fake.Process) (free bool) {
	p.Do(func() {
		free = p.FcntlLock(r.fd, true, false) == 0
		p.FcntlLock(r.fd, false, false)
	})
	return free
}

func (c *checks) closingKeeps(t *lab.T) {
	t.Run(func(w *fake.World) {
		r, g, other := c.holding(w)
		g.close(g.reopen(r))
		w.Expect("a descriptor of the lock file is closed, and the lock is not lost", r.free(other), false)

		var copied int
		g.Process.Do(func() { copied, _ = g.Dup(r.fd) })
		g.lock[copied] = true
		g.close(copied)
		w.Expect("a copy of the lock's own descriptor is closed, and the lock is not lost", r.free(other), false)

		g.Process.Do(g.Unlock)
		w.Expect("Unlock frees it", r.free(other), true)
		locked := g.Process.Do(g.Lock)
		w.Expect("the guard can lock again", locked && !r.free(other), true)
	})
}

func (c *checks) closesInTheEnd(t *lab.T) {
	t.Run(func(w *fake.World) {
		r, g, other := c.holding(w)
		var own int
		g.Process.Do(func() { own, _ = g.Eventfd() })
		w.Expect("a descriptor of something else is closed at once", g.close(own), true)

		a, b := g.reopen(r), g.reopen(r)
		g.close(a)
		g.close(b)
		g.Process.Do(g.Unlock)
		w.Expect("Unlock closes what was put off", g.closed(a) && g.closed(b), true)
		w.Expect("and not the lock's own descriptor", g.closed(r.fd), false)

		w.Expect("without the lock it is closed at once", g.close(g.reopen(r)), true)
		other.Do(func() { other.FcntlLock(r.fd, true, false) })
		g.Process.Do(func() { g.Trylock() })
		w.Expect("so it is after a Trylock that failed", g.close(g.reopen(r)), true)
	})
}
