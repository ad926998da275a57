package shmtx_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys/fake"
)

// group is processes on the deterministic kernel that lock and unlock. Their
// critical section holds a call, so that another process can come inside.
type group struct {
	w      *fake.World
	shared shmtx.Shared
	file   fake.File
	master *fake.Process   // runs no code of its own
	inside []*fake.Process // that came into the critical section
	done   int             // processes that came to their end
}

func newGroup(w *fake.World) *group {
	g := &group{w: w, file: w.File("lock")}
	g.master = w.Process("master", g.file)
	w.Name(&g.shared.Lock, "lock")
	w.Name(&g.shared.Wait, "wait")
	w.Name(&g.shared.Sem.Value, "semaphore")
	w.Always("one process at a time has the lock", func() string {
		g.inside = slices.DeleteFunc(g.inside, (*fake.Process).Dead)
		if len(g.inside) > 1 {
			return fmt.Sprint(g.inside, " have it")
		}
		return ""
	})
	return g
}

func log(p *fake.Process) *core.Log {
	return &core.Log{Level: core.LogErr, File: core.NewOpenFile("", io.Discard, core.NewTimes(p), p.Pid)}
}

// atomic is p's handle on the mutex in shared memory, on one processor.
func (g *group) atomic(p *fake.Process) shmtx.Mutex {
	mtx := &shmtx.Atomic{Kernel: p, Log: log(p), Ncpu: 1}
	mtx.Create(&g.shared)
	return mtx
}

// spinning is the same on two processors.
func (g *group) spinning(p *fake.Process) shmtx.Mutex {
	mtx := g.atomic(p).(*shmtx.Atomic)
	mtx.Ncpu, mtx.Spin = 2, 4
	return mtx
}

// record is p's handle on the file lock.
func (g *group) record(p *fake.Process) shmtx.Mutex {
	return &shmtx.File{Kernel: p, Log: log(p), Fd: p.Fd(g.file), Name: "lock"}
}

// start starts a process that locks and unlocks a number of times.
func (g *group) start(name string, times int, handle func(*fake.Process) shmtx.Mutex) *fake.Process {
	return g.w.Start(name, func(p *fake.Process) {
		mtx := handle(p)
		for range times {
			mtx.Lock()
			g.inside = append(g.inside, p)
			p.SchedYield()
			g.inside = nil
			mtx.Unlock()
		}
		g.done++
	}, g.file)
}

// Whatever the order in which the processes run, one at a time has the lock,
// nobody sleeps for ever, and the waiters' counter ends at 0, or at -1 with
// one post left over for each (CASES B07).
func TestLockInEveryInterleaving(t *testing.T) {
	for _, c := range []struct {
		name                         string
		handle                       func(*group, *fake.Process) shmtx.Mutex
		processes, times, departures int
	}{
		{"atomic", (*group).atomic, 2, 2, 4},
		{"atomic", (*group).atomic, 3, 1, 3},
		{"atomic, spinning", (*group).spinning, 2, 1, 3},
		{"file", (*group).record, 3, 2, 3},
	} {
		t.Run(fmt.Sprintf("%s, %d processes", c.name, c.processes), func(t *testing.T) {
			slept := false
			r := fake.Explore(func(w *fake.World) {
				g := newGroup(w)
				for i := range c.processes {
					g.start(fmt.Sprint("p", i), c.times, func(p *fake.Process) shmtx.Mutex { return c.handle(g, p) })
				}
				w.Settle()
				w.Expect("all come to their end", g.done, c.processes)
				wait, posts := int64(g.shared.Wait.Load()), int64(g.shared.Sem.Value.Load())
				w.Expect("no waiter is owed a post", wait+posts, int64(0))
				w.Expect("posts are bounded by the processes", posts <= int64(c.processes), true)
				slept = slept || w.Total().Sleeps > 0
			}, fake.Options{Departures: c.departures})
			r.Check(t)
			if !slept {
				t.Errorf("nobody sleeps for the lock in %d schedules", r.Schedules)
			}
		})
	}
}

// A process dies at any call of its lock or unlock. The file lock goes to the
// next. The atomic lock is forced by the master, and a waiter may need one more
// unlock, by anybody. There is one moment that nginx has no cure for: who dies
// between taking a waiter off the counter and waking it takes the wakeup along.
func TestDeathInEveryInterleaving(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle func(*group, *fake.Process) shmtx.Mutex
		calls  int // at which it may die
	}{{"atomic", (*group).atomic, 14}, {"file", (*group).record, 4}} {
		t.Run(c.name, func(t *testing.T) {
			lost := 0
			fake.Explore(func(w *fake.World) {
				g := newGroup(w)
				handle := func(p *fake.Process) shmtx.Mutex { return c.handle(g, p) }
				victim := g.start("victim", 2, handle)
				victim.KillAt(fake.AnyCall, 1+w.Choose(c.calls))
				other := g.start("other", 1, handle)
				w.Settle()
				if c.name == "atomic" {
					g.master.Do(func() { handle(g.master).ForceUnlock(victim.Pid) })
					g.start("later", 1, handle)
					w.Settle()
				}
				w.Expect("the lock is free", g.master.Do(func() { handle(g.master).Lock() }), true)
				if c.name == "atomic" && other.Asleep() {
					lost++
					w.Expect("no unlock will wake the other", g.shared.Wait.Load(), uint64(0))
					return
				}
				w.Expect("the other comes to its end", other.Dead(), true)
			}, fake.Options{Departures: 2}).Check(t)
			if (lost > 0) != (c.name == "atomic") {
				t.Errorf("the wakeup was lost in %d schedules", lost)
			}
		})
	}
}
