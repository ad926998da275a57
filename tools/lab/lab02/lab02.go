// Package lab02 holds the checks and the measurement of lab 02, a file lock as
// the mutex.
package lab02

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
	"herd/tools/lab/room"
)

// Functions are what the student writes. fd is the lock file's descriptor,
// which all processes have inherited.
type Functions struct {
	Open        func(name string) (fd int, err error)
	Trylock     func(k sys.Kernel, fd int) bool
	Lock        func(k sys.Kernel, fd int)
	Unlock      func(k sys.Kernel, fd int)
	ForceUnlock func(k sys.Kernel, fd, pid int) bool

	// Part B. same reports whether a descriptor is one of the lock file.
	NewGuard func(k sys.Kernel, fd int, same func(fd int) bool) Guard
}

// Guard is a file lock that a signal and a close do not break.
type Guard interface {
	Trylock() bool
	Lock()
	Unlock()
	// Close closes any descriptor of the process, now or later.
	Close(fd int) sys.Errno
}

const (
	readOpen  = "src/core/ngx_shmtx.c 200-232, nginxref/shmtx/ngx_shmtx_fd.go Create"
	readLock  = "fcntl(2) F_SETLK, src/core/ngx_shmtx.c 245-302, nginxref/shmtx/ngx_shmtx_fd.go, chapters/05-shared-lock.md"
	readFlaws = "fcntl(2) F_SETLKW and its remarks on close, the list above File in nginxref/shmtx/ngx_shmtx_fd.go, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 02 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 2,
		Name:   "lab02-filelock",
		Title:  "A file lock as the mutex",
		Files:  []string{"filelock.go", "guard.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "open-leaves-no-name", Points: 10, Read: readOpen, Run: c.open,
				Sentence: "`Open` makes the file and deletes its name at once, so that nothing is left behind however the processes end; its descriptor is close-on-exec."},
			{Part: "A", Name: "trylock-does-not-wait", Points: 10, Read: readLock, Run: c.trylock,
				Sentence: "`Trylock` takes the lock if no other process has it, and returns at once in any case."},
			{Part: "A", Name: "one-at-a-time", Points: 15, Read: readLock, Run: c.oneAtATime,
				Sentence: "However the processes are scheduled, at most one is inside."},
			{Part: "A", Name: "a-waiter-sleeps", Points: 10, Read: readLock, Run: c.waiterSleeps,
				Sentence: "`Lock` sleeps while another process has the lock, and each process gets its turn."},
			{Part: "A", Name: "a-child-does-not-inherit-it", Points: 10, Read: readLock, Run: c.notInherited,
				Sentence: "A child inherits the descriptor, and not the lock: it does not get in while its parent has it, and neither its `Unlock` nor its death lets anybody in."},
			{Part: "A", Name: "a-dead-holder-holds-nothing", Points: 10, Read: readLock, Run: c.deadHolder,
				Sentence: "When the holder is killed a waiter gets in before anybody else hears of it: `ForceUnlock` has nothing to do, and says so."},
			{Part: "A", Name: "no-master-is-needed", Points: 15, Read: readLock, Run: c.noMaster,
				Sentence: "As the accept mutex: nobody accepts in vain, and when the holder is killed another worker serves, with no master to help."},
			{Part: "B", Name: "a-signal-lets-nobody-in", Points: 6, Read: readFlaws, Run: c.signal,
				Sentence: "A signal ends the wait inside `Lock`, but not `Lock`."},
			{Part: "B", Name: "closing-keeps-the-lock", Points: 8, Read: readFlaws, Run: c.closingKeeps,
				Sentence: "While the process has the lock, `Close` of another descriptor of the same file does not let anybody in."},
			{Part: "B", Name: "all-is-closed-in-the-end", Points: 6, Read: readFlaws, Run: c.closesInTheEnd,
				Sentence: "What `Close` has put off is closed when the lock is let go; without the lock, and for any other file, `Close` puts nothing off."},
		},
	}
}

type checks struct{ f Functions }

// mutex is the student's, as the event core calls it.
type mutex struct {
	f  *Functions
	k  sys.Kernel
	fd int
}

var _ shmtx.Mutex = (*mutex)(nil)

func (m *mutex) Trylock() bool            { return m.f.Trylock(m.k, m.fd) }
func (m *mutex) Lock()                    { m.f.Lock(m.k, m.fd) }
func (m *mutex) Unlock()                  { m.f.Unlock(m.k, m.fd) }
func (m *mutex) ForceUnlock(pid int) bool { return m.f.ForceUnlock(m.k, m.fd, pid) }

// guarded is a room with a lock file, which every process has on descriptor fd.
type guarded struct {
	*room.Room
	fd int
}

func newRoom(w *fake.World) *guarded {
	file := w.File("lock file")
	r := room.New(w, file)
	return &guarded{r, r.Master.Fd(file)}
}

// locker is the part of a lock that a visit needs.
type locker interface {
	Lock()
	Unlock()
}

// visit has p lock, do something inside, and unlock.
func (r *guarded) visit(p *fake.Process, lock locker, something func()) {
	lock.Lock()
	r.Visit(p, something)
	lock.Unlock()
}

// visitor starts a process that looks in twice. Inside, it gives the others a
// chance.
func (c *checks) visitor(r *guarded) *fake.Process {
	return r.Fork(func(p *fake.Process) {
		for range 2 {
			r.visit(p, c.lock(p, r), p.SchedYield)
		}
	})
}

// sitter starts a process that stays inside for a second, and then lives on:
// its end would let go of the lock too.
func (c *checks) sitter(r *guarded) *fake.Process {
	p := r.Fork(func(p *fake.Process) {
		r.visit(p, c.lock(p, r), func() { p.Sleep(time.Second) })
		p.Sleep(time.Hour)
	})
	r.World.Settle()
	return p
}

// lock returns p's handle on part A's lock.
func (c *checks) lock(p *fake.Process, r *guarded) *mutex { return &mutex{&c.f, p, r.fd} }

// try has an idle process try once.
func (c *checks) try(p *fake.Process, r *guarded) (won bool) {
	returned := p.Do(func() { won = c.f.Trylock(p, r.fd) })
	r.World.Expect(p.Name+" does not sleep in Trylock", returned, true)
	return won
}

func (c *checks) open(t *lab.T) {
	dir := t.TempDir()
	t.Step("Open makes %s", filepath.Join(dir, "lock"))
	fd, err := c.f.Open(filepath.Join(dir, "lock"))
	t.Expect(err == nil, "it succeeds: %v", err)
	t.Cleanup(func() { unix.Close(fd) })

	t.Step("descriptor %d is looked at", fd)
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	t.Expect(err == nil, "it is open: %v", err)
	t.Expect(flags&unix.FD_CLOEXEC != 0, "a new program that this process starts does not get it")
	n, err := unix.Write(fd, []byte{0})
	t.Expect(n == 1, "it can be written to, as a write lock demands: %v", err)

	t.Step("the directory is listed")
	left, err := os.ReadDir(dir)
	t.Expect(err == nil && len(left) == 0, "no name is left in it: %v", left)

	t.Step("Open is to make a file in a directory that does not exist")
	_, err = c.f.Open(filepath.Join(dir, "missing", "lock"))
	t.Expect(err != nil, "it returns an error")
}

func (c *checks) trylock(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := newRoom(w)
		a, b := r.Idle(), r.Idle()
		w.Expect("a free lock is taken", c.try(a, r), true)
		w.Expect("a taken lock is not taken", c.try(b, r), false)
		w.Expect("the holder has it anyway: to the kernel it is one lock", c.try(a, r), true)
		a.Do(func() { c.f.Unlock(a, r.fd) })
		w.Expect("one Unlock frees it", c.try(b, r), true)
	})
}

func (c *checks) oneAtATime(t *lab.T) {
	t.Explore(2, func(w *fake.World) {
		r := newRoom(w)
		c.visitor(r)
		c.visitor(r)
		r.Fork(func(p *fake.Process) {
			if m := c.lock(p, r); m.Trylock() {
				r.Visit(p, p.SchedYield)
				m.Unlock()
			}
		})
		w.Settle()
	})
}

func (c *checks) waiterSleeps(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := newRoom(w)
		c.sitter(r)
		a, b := c.visitor(r), c.visitor(r)
		w.Settle()
		w.Expect("both waiters sleep", a.Asleep() && b.Asleep(), true)
		w.Advance(2 * time.Second)
		r.Done(a, b)
	})
}

// notInherited has the holder fork.
func (c *checks) notInherited(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := newRoom(w)
		parent := r.Idle()
		w.Expect("the parent takes the lock", c.try(parent, r), true)
		child := parent.Fork("its child", func(p *fake.Process) {
			if c.f.Trylock(p, r.fd) {
				w.Broken("the child has no lock", "its Trylock succeeded")
			}
			c.f.Unlock(p, r.fd)
		}, r.fd)
		w.Settle()
		w.Expect("the child has tried, unlocked and ended", child.Dead(), true)
		w.Expect("the lock is still the parent's", c.try(r.Idle(), r), false)
	})
}

// deadHolder kills the holder while another one waits.
func (c *checks) deadHolder(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := newRoom(w)
		holder := c.sitter(r)
		waiter := c.visitor(r)
		w.Settle()
		holder.Kill()
		w.Settle()
		r.Done(waiter)
		freed := true
		r.Master.Do(func() { freed = c.f.ForceUnlock(r.Master, r.fd, holder.Pid) })
		w.Expect("the master has freed nothing", freed, false)
		w.Expect("and holds nothing", c.try(r.Idle(), r), true)
	})
}

// noMaster runs the event core with the student's lock, and never reaps.
func (c *checks) noMaster(t *lab.T) {
	t.Run(func(w *fake.World) {
		file := w.File("lock file")
		f := eventtest.New(w, eventtest.Conf{
			Workers: 4,
			Event:   event.EventConf{AcceptMutex: true},
			Files:   []fake.File{file},
			Change: func(wk *eventtest.Worker) {
				wk.Cycle.AcceptMutex = &mutex{&c.f, wk.Process, wk.Fd(file)}
			},
		})
		w.Settle()
		for range 3 {
			w.Connect(f.Listener)
			w.Settle()
			c.killRegistered(w, f)
			w.Advance(600 * time.Millisecond)
		}
		client := w.Connect(f.Listener)
		w.Settle()
		client.Read()
		w.Expect("the last worker serves", client.EOF(), true)
		w.Expect("nobody has accepted in vain", w.Total().AcceptAgain, 0)
	})
}

// killRegistered kills the one worker that waits for connections.
func (c *checks) killRegistered(w *fake.World, f *eventtest.Fleet) {
	var found []*eventtest.Worker
	for _, wk := range f.Workers {
		if !wk.Dead() && wk.Registered() {
			found = append(found, wk)
		}
	}
	w.Expect("one worker is registered", len(found), 1)
	found[0].Kill()
}
