// Package lab01 holds the checks and the measurement of lab 01, a mutex in
// shared memory.
package lab01

import (
	"fmt"
	"time"

	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
	"herd/tools/lab/room"
)

// Functions are what the student writes.
type Functions struct {
	Trylock     func(k sys.Kernel, m *shmtx.Shared) bool
	Lock        func(k sys.Kernel, m *shmtx.Shared)
	Unlock      func(k sys.Kernel, m *shmtx.Shared)
	ForceUnlock func(k sys.Kernel, m *shmtx.Shared, pid int) bool

	// Part B.
	SturdyLock   func(k sys.Kernel, m *shmtx.Shared)
	SturdyUnlock func(k sys.Kernel, m *shmtx.Shared)
	Bury         func(k sys.Kernel, m *shmtx.Shared, pid int) bool
}

const (
	readTry    = "src/core/ngx_shmtx.c 62-66, nginxref/shmtx/ngx_shmtx.go, the table above Shared, chapters/05-shared-lock.md"
	readLock   = "src/core/ngx_shmtx.c 69-133, nginxref/shmtx/ngx_shmtx.go Lock, chapters/05-shared-lock.md"
	readUnlock = "src/core/ngx_shmtx.c 136-195, nginxref/shmtx/ngx_shmtx.go Unlock and wakeup"
	readDeath  = "nginxref/shmtx/ngx_shmtx.go ForceUnlock, futex(2), chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 01 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 1,
		Name:   "lab01-shmtx",
		Title:  "A mutex in shared memory",
		Files:  []string{"mutex.go", "sturdy.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "trylock-takes-a-free-lock-only", Points: 10, Read: readTry, Run: c.trylock,
				Sentence: "`Trylock` takes a free lock by writing the process's id into the word, and leaves a taken one alone."},
			{Part: "A", Name: "only-the-holder-unlocks", Points: 10, Read: readUnlock, Run: c.onlyTheHolder,
				Sentence: "`Unlock` writes 0 into the shared word if this process holds the lock, and does nothing if another does."},
			{Part: "A", Name: "one-at-a-time", Points: 15, Read: readLock, Run: c.oneAtATime,
				Sentence: "However the processes are scheduled, at most one is inside."},
			{Part: "A", Name: "nobody-sleeps-for-ever", Points: 15, Read: readLock, Run: c.nobodySleeps,
				Sentence: "However the processes are scheduled, each gets its turn: none sleeps while the lock is free."},
			{Part: "A", Name: "a-waiter-sleeps", Points: 10, Read: readLock, Run: c.waiterSleeps,
				Sentence: "`Lock` sleeps while another process is inside, and a signal does not let it in."},
			{Part: "A", Name: "posts-and-waiters-balance", Points: 10, Read: readLock, Run: c.balance,
				Sentence: "The semaphore's value is never above the number of processes; when all are done, `Wait` and it add up to 0."},
			{Part: "A", Name: "a-dead-holder-is-survived", Points: 10, Read: readUnlock, Run: c.deadHolder,
				Sentence: "`ForceUnlock` frees the lock if the dead process held it, wakes a waiter, and reports whether it did."},
			{Part: "B", Name: "the-woken-may-die", Points: 8, Read: readDeath, Run: c.wokenDies,
				Sentence: "If a waiter is killed after it was woken and before it has the lock, another one gets in once the master has called `Bury`."},
			{Part: "B", Name: "any-death-is-survived", Points: 7, Read: readDeath, Run: c.anyDeath,
				Sentence: "Whichever process is killed, wherever it is, the others get their turns, one at a time."},
			{Part: "B", Name: "deaths-leave-no-debt", Points: 5, Read: readDeath, Run: c.noDebt,
				Sentence: "After a hundred deaths, a waiter makes no more calls than before."},
		},
	}
}

type checks struct{ f Functions }

// guarded is a room with a mutex.
type guarded struct {
	*room.Room
	m      *shmtx.Shared
	lock   func(k sys.Kernel, m *shmtx.Shared)
	unlock func(k sys.Kernel, m *shmtx.Shared)
	bury   func(k sys.Kernel, m *shmtx.Shared, pid int) bool
}

// newRoom returns a room with part A's mutex.
func (c *checks) newRoom(w *fake.World) *guarded {
	r := &guarded{Room: room.New(w), m: &shmtx.Shared{}, lock: c.f.Lock, unlock: c.f.Unlock, bury: c.f.ForceUnlock}
	w.Name(&r.m.Lock, "Lock")
	w.Name(&r.m.Wait, "Wait")
	w.Name(&r.m.Sem.Value, "Sem.Value")
	return r
}

// newSturdyRoom is newRoom with part B's mutex.
func (c *checks) newSturdyRoom(w *fake.World) *guarded {
	r := c.newRoom(w)
	r.lock, r.unlock, r.bury = c.f.SturdyLock, c.f.SturdyUnlock, c.f.Bury
	return r
}

// visit has p lock, do something inside, and unlock.
func (r *guarded) visit(p *fake.Process, something func()) {
	r.lock(p, r.m)
	r.Visit(p, something)
	r.unlock(p, r.m)
}

// visitors starts n processes that look in: inside, each gives the others a
// chance.
func (r *guarded) visitors(n int) {
	for range n {
		r.Fork(func(p *fake.Process) { r.visit(p, p.SchedYield) })
	}
}

// sitter starts a process that stays inside for a second.
func (r *guarded) sitter() *fake.Process {
	p := r.Fork(func(p *fake.Process) { r.visit(p, func() { p.Sleep(time.Second) }) })
	r.World.Settle()
	return p
}

// reap has the master wait for one dead child and bury it.
func (r *guarded) reap() {
	r.Master.Do(func() {
		if child, err := r.Master.Wait(false); err == 0 && child != nil {
			r.bury(r.Master, r.m, child.Pid)
		}
	})
}

// buries has the master bury its children, as they die, until there are none.
func (r *guarded) buries() {
	r.Master.Begin(func() {
		for {
			child, err := r.Master.Wait(true)
			if err != 0 {
				return
			}
			r.bury(r.Master, r.m, child.Pid)
		}
	})
}

func (c *checks) trylock(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := c.newRoom(w)
		a, b := r.Idle(), r.Idle()
		try := func(p *fake.Process) (won bool) {
			p.Do(func() { won = c.f.Trylock(p, r.m) })
			return won
		}
		w.Expect("a free lock is taken", try(a), true)
		w.Expect("the word holds the id of the holder", int(r.m.Lock.Load()), a.Pid)
		w.Expect("a taken lock is not taken", try(b), false)
		w.Expect("not even by the holder: the lock does not count", try(a), false)
		w.Expect("the word still holds the id of the holder", int(r.m.Lock.Load()), a.Pid)
	})
}

func (c *checks) onlyTheHolder(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := c.newRoom(w)
		a, b := r.Idle(), r.Idle()
		a.Do(func() { c.f.Trylock(a, r.m) })
		b.Do(func() { c.f.Unlock(b, r.m) })
		w.Expect("another process's Unlock does nothing", int(r.m.Lock.Load()), a.Pid)
		a.Do(func() { c.f.Unlock(a, r.m) })
		w.Expect("the holder's Unlock clears the word that all see", int(r.m.Lock.Load()), 0)
		b.Do(func() { c.f.Lock(b, r.m) })
		w.Expect("then another process takes it", int(r.m.Lock.Load()), b.Pid)
	})
}

func (c *checks) oneAtATime(t *lab.T) {
	t.Explore(2, func(w *fake.World) {
		r := c.newRoom(w)
		r.visitors(2)
		r.Fork(func(p *fake.Process) {
			if c.f.Trylock(p, r.m) {
				r.Visit(p, p.SchedYield)
				c.f.Unlock(p, r.m)
			}
		})
		w.Settle()
	})
}

func (c *checks) nobodySleeps(t *lab.T) {
	t.Explore(2, func(w *fake.World) {
		r := c.newRoom(w)
		r.visitors(3)
		w.Settle()
		r.Done(r.People...)
	})
}

func (c *checks) waiterSleeps(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := c.newRoom(w)
		r.sitter()
		r.visitors(1)
		w.Settle()
		waiter := r.People[1]
		w.Expect("the waiter sleeps", waiter.Asleep(), true)
		waiter.Interrupt()
		w.Settle()
		w.Expect("it sleeps on after a signal", waiter.Asleep(), true)
		w.Advance(2 * time.Second)
		r.Done(r.People...)
	})
}

func (c *checks) balance(t *lab.T) {
	const n = 3
	t.Explore(2, func(w *fake.World) {
		r := c.newRoom(w)
		w.Always("the semaphore's value is at most the number of processes", func() string {
			if v := r.m.Sem.Value.Load(); v > n {
				return fmt.Sprintf("it is %d", v)
			}
			return ""
		})
		r.visitors(n)
		w.Settle()
		r.Done(r.People...)
		w.Expect("Wait and the semaphore's value add up to 0", int(r.m.Wait.Load())+int(r.m.Sem.Value.Load()), 0)
	})
}

// deadHolder kills the holder while two others wait.
func (c *checks) deadHolder(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := c.newRoom(w)
		holder := r.sitter()
		r.visitors(2)
		w.Settle()

		force := func(pid int) (freed bool) {
			r.Master.Do(func() { freed = c.f.ForceUnlock(r.Master, r.m, pid) })
			return freed
		}
		w.Expect("a process that does not hold the lock is not what it is freed from", force(r.People[1].Pid), false)
		w.Expect("the holder still has it", int(r.m.Lock.Load()), holder.Pid)
		holder.Kill()
		w.Expect("the dead holder is", force(holder.Pid), true)
		r.Done(r.People...)
		w.Expect("a dead process that holds nothing any more is not", force(holder.Pid), false)
	})
}

// wokenDies lets the holder go and kills the waiter that is woken, at each of
// the calls that it then makes.
func (c *checks) wokenDies(t *lab.T) {
	for n := 1; n <= 6; n++ {
		t.Run(func(w *fake.World) {
			r := c.newSturdyRoom(w)
			r.sitter()
			r.visitors(2)
			w.Settle()
			r.People[1].KillAt(fake.AnyCall, n)
			w.Note("scenario", fmt.Sprintf("process 2 is going to be killed at its call number %d after it is woken", n))
			r.buries()
			w.Advance(2 * time.Second)
			r.Done(r.People...)
		})
	}
}

// anyDeath kills each process at each of its calls, under each schedule.
func (c *checks) anyDeath(t *lab.T) {
	t.Explore(1, func(w *fake.World) {
		r := c.newSturdyRoom(w)
		r.visitors(3)
		r.People[w.Choose(3)].KillAt(fake.AnyCall, 1+w.Choose(14))
		r.buries()
		w.Settle()
		r.Done(r.People...)
	})
}

// noDebt compares how a lock is handed over before and after a hundred deaths.
func (c *checks) noDebt(t *lab.T) {
	t.Run(func(w *fake.World) {
		r := c.newSturdyRoom(w)
		before := r.handOver()
		for range 100 {
			r.Fork(func(p *fake.Process) { p.Sleep(time.Hour) })
			w.Settle()
			r.People[len(r.People)-1].Kill()
			r.reap()
		}
		after := r.handOver()
		w.Expect("a waiter sleeps as often after 100 deaths", after.Sleeps, before.Sleeps)
		w.Expect("and makes as many calls", after.Calls, before.Calls)
	})
}

// handOver has one process wait for the lock while another is inside, and
// returns what it did.
func (r *guarded) handOver() fake.Counts {
	first := len(r.People)
	r.sitter()
	r.visitors(1)
	r.World.Advance(2 * time.Second)
	r.Done(r.People...)
	return r.People[first+1].Counts
}
