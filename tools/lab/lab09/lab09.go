// Package lab09 holds the checks and the measurement of lab 09, the master.
package lab09

import (
	"fmt"
	"slices"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	Reap      func(m *Master)
	Respawn   func(m *Master) (live int)
	Terminate func(m *Master, alarm bool)

	// Part B.
	LeaseTrylock func(kernel sys.Kernel, lease *Lease, msec uint64) bool
	LeaseUnlock  func(kernel sys.Kernel, lease *Lease)
}

// Lease is a lock in shared memory that ends by itself: one word. 0 is free;
// otherwise it tells who holds it and until when, in the student's own way.
type Lease struct{ Word sys.Atomic }

const (
	readReap      = "src/os/unix/ngx_process.c 471-566 (ngx_process_get_status), nginxref/process/ngx_process.go processGetStatus"
	readRespawn   = "src/os/unix/ngx_process_cycle.c 533-652 (ngx_reap_children), nginxref/process/ngx_process_cycle.go reapChildren"
	readTerminate = "src/os/unix/ngx_process_cycle.c 139-205 (ngx_master_process_cycle), nginxref/process/ngx_process_cycle.go MasterProcessCycle"
	readLease     = "chapters/14-what-is-still-wrong.md, the stopped holder"
)

// Lab returns lab 09 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 9,
		Name:   "lab09-master",
		Title:  "The master",
		Files:  []string{"master.go", "lease.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "one-signal-many-deaths", Points: 15, Read: readReap, Run: c.manyDeaths,
				Sentence: "Sixteen children end, and one SIGCHLD comes: all sixteen are waited for."},
			{Part: "A", Name: "no-child-is-no-error", Points: 5, Read: readReap, Run: c.noChild,
				Sentence: "A SIGCHLD with nobody to wait for is no error."},
			{Part: "A", Name: "the-dead-holder-loses-the-lock", Points: 15, Read: readReap, Run: c.deadHolder,
				Sentence: "The accept mutex is forced out of the hands of the dead, and of nobody else."},
			{Part: "A", Name: "each-is-replaced-in-its-slot", Points: 10, Read: readRespawn, Run: c.sameSlot,
				Sentence: "A worker that ended is started again in its slot, and the others are left alone."},
			{Part: "A", Name: "fatal-is-not-repeated", Points: 10, Read: readRespawn, Run: c.fatal,
				Sentence: "A worker that exits with code 2 is not started again, and its slot is free."},
			{Part: "A", Name: "nobody-is-replaced-while-stopping", Points: 5, Read: readRespawn, Run: c.stopping,
				Sentence: "While the master stops, nobody is started again."},
			{Part: "A", Name: "only-the-alarm-doubles", Points: 15, Read: readTerminate, Run: c.onlyTheAlarm,
				Sentence: "The workers get SIGTERM, and again whenever the timer goes off after 50, 100, 200, ... ms; beyond 1000 ms they get SIGKILL. Other signals that wake the master change nothing."},
			{Part: "B", Name: "a-lease-excludes", Points: 10, Read: readLease, Run: c.leaseExcludes,
				Sentence: "However the workers are scheduled, while a lease lasts only one holds it."},
			{Part: "B", Name: "a-stopped-holder-does-not-freeze", Points: 10, Read: readLease, Run: c.stoppedHolder,
				Sentence: "When the holder is stopped, another worker accepts once the lease is over."},
			{Part: "B", Name: "a-late-unlock-harms-nobody", Points: 5, Read: readLease, Run: c.lateUnlock,
				Sentence: "A holder that comes back after its lease does not unlock its successor."},
		},
	}
}

type checks struct{ f Functions }

// host plays the system for the checks of part A and keeps what was asked.
type host struct {
	t      *lab.T
	ended  []child // not yet waited for
	others int     // children that still run
	next   int     // process id
	asked  []string
}

type child struct{ pid, code int }

func (h *host) Wait() (pid, code int, ok bool) {
	if len(h.ended) == 0 {
		h.t.Step("wait: %d children run, none has ended", h.others)
		return 0, 0, h.others > 0
	}
	c := h.ended[0]
	h.ended = h.ended[1:]
	h.t.Step("wait: %d has ended with code %d", c.pid, c.code)
	return c.pid, c.code, true
}

func (h *host) Spawn(slot int) int {
	h.next++
	h.others++
	h.ask("spawn slot %d as %d", slot, h.next)
	return h.next
}

func (h *host) Terminate(pid int) { h.ask("SIGTERM to %d", pid) }
func (h *host) Kill(pid int)      { h.ask("SIGKILL to %d", pid) }
func (h *host) Alarm(msec int)    { h.ask("alarm in %d ms", msec) }

func (h *host) ask(format string, args ...any) {
	h.asked = append(h.asked, fmt.Sprintf(format, args...))
	h.t.Step(format, args...)
}

// take returns what was asked since the last take.
func (h *host) take() []string {
	asked := h.asked
	h.asked = nil
	return asked
}

// mutex notes who is forced out of it.
type mutex struct {
	shmtx.Mutex
	holder int
	forced []int
}

func (m *mutex) ForceUnlock(pid int) bool {
	m.forced = append(m.forced, pid)
	if m.holder != pid {
		return false
	}
	m.holder = 0
	return true
}

// newMaster returns a master of n workers with process ids 101, 102, ...
func newMaster(t *lab.T, n int) (*Master, *host, *mutex) {
	h := &host{t: t, others: n, next: 100 + n}
	mtx := &mutex{}
	m := &Master{Host: h, Mutex: mtx}
	for i := range n {
		m.Slots = append(m.Slots, Slot{Pid: 101 + i, Respawn: true})
	}
	return m, h, mtx
}

// end has children end.
func (h *host) end(code int, pids ...int) {
	for _, pid := range pids {
		h.t.Step("%d ends with code %d", pid, code)
		h.ended = append(h.ended, child{pid, code})
		h.others--
	}
}

// reap, respawn and terminate call the student's functions, as steps.
func (c *checks) reap(t *lab.T, m *Master) {
	t.Step("Reap is called")
	c.f.Reap(m)
}

func (c *checks) respawn(t *lab.T, m *Master) (live int) {
	t.Step("Respawn is called")
	live = c.f.Respawn(m)
	t.Step("Respawn returns %d", live)
	return live
}

func (c *checks) terminate(t *lab.T, m *Master, alarm bool) {
	t.Step("Terminate is called, alarm %v", alarm)
	c.f.Terminate(m, alarm)
}

// manyDeaths holds CASES D15.
func (c *checks) manyDeaths(t *lab.T) {
	m, h, _ := newMaster(t, 16)
	for i := range 16 {
		h.end(0, 101+i)
	}
	t.Step("one SIGCHLD comes")
	c.reap(t, m)
	for i := range m.Slots {
		t.Expect(m.Slots[i].Exited, "slot %d has not been noted as exited", i)
	}
	t.Expect(len(h.ended) == 0, "%d children are left as zombies", len(h.ended))
}

func (c *checks) noChild(t *lab.T) {
	m, _, _ := newMaster(t, 0)
	t.Step("SIGCHLD comes, and there are no children")
	c.reap(t, m)
	m, h, _ := newMaster(t, 2)
	t.Step("SIGCHLD comes, and both children still run")
	c.reap(t, m)
	t.Expect(!m.Slots[0].Exited && !m.Slots[1].Exited, "a child that runs was noted as exited")
	h.end(0, 999, 101)
	t.Step("SIGCHLD comes; 999 is a child that no slot knows")
	c.reap(t, m)
	t.Expect(m.Slots[0].Exited && !m.Slots[1].Exited, "a child that no slot knows must not hide the others")
}

// deadHolder holds CASES B01 and B18.
func (c *checks) deadHolder(t *lab.T) {
	m, h, mtx := newMaster(t, 3)
	mtx.holder = 102
	t.Step("102 holds the accept mutex")
	h.end(0, 101)
	c.reap(t, m)
	t.Expect(mtx.holder == 102, "the lock was taken from a living worker")
	t.Expect(slices.Contains(mtx.forced, 101), "nobody asked whether the dead one held the lock")
	h.end(0, 102)
	c.reap(t, m)
	t.Expect(mtx.holder == 0, "the dead holder still has the lock: nobody will accept any more")
}

// sameSlot holds CASES D35.
func (c *checks) sameSlot(t *lab.T) {
	m, h, _ := newMaster(t, 4)
	h.end(0, 102, 104)
	c.reap(t, m)
	live := c.respawn(t, m)
	t.Expect(live == 4, "%d workers are said to live, want 4", live)
	want := []string{"spawn slot 1 as 105", "spawn slot 3 as 106"}
	t.Expect(slices.Equal(h.asked, want), "asked for %q, want %q", h.asked, want)
	t.Expect(m.Slots[1].Pid == 105 && !m.Slots[1].Exited, "slot 1 does not hold the new worker: %+v", m.Slots[1])
	h.take()
	c.respawn(t, m)
	t.Expect(len(h.take()) == 0, "a second call with nobody dead started somebody")
}

// fatal holds CASES D14.
func (c *checks) fatal(t *lab.T) {
	m, h, _ := newMaster(t, 3)
	h.end(FatalCode, 102)
	c.reap(t, m)
	live := c.respawn(t, m)
	t.Expect(len(h.take()) == 0, "a worker that cannot start was started again")
	t.Expect(live == 2, "%d workers are said to live, want 2", live)
	t.Expect(m.Slots[1].Pid == 0, "the slot is not free: %+v", m.Slots[1])
	h.end(0, 101)
	c.reap(t, m)
	c.respawn(t, m)
	t.Expect(slices.Equal(h.asked, []string{"spawn slot 0 as 104"}), "the others are affected: %q", h.asked)
}

func (c *checks) stopping(t *lab.T) {
	m, h, _ := newMaster(t, 2)
	m.Stopping = true
	h.end(0, 101)
	c.reap(t, m)
	live := c.respawn(t, m)
	t.Expect(len(h.take()) == 0, "a worker was started while the master stops")
	t.Expect(live == 1, "%d workers are said to live, want 1", live)
}

// onlyTheAlarm holds CASES D01: fifteen of sixteen leave at once, and each wakes
// the master.
func (c *checks) onlyTheAlarm(t *lab.T) {
	m, h, _ := newMaster(t, 2)
	m.Stopping = true
	t.Step("the master is told to stop")
	c.terminate(t, m, false)
	want := []string{"alarm in 50 ms", "SIGTERM to 101", "SIGTERM to 102"}
	t.Expect(same(h.take(), want), "the first time: want %q", want)

	h.end(0, 101)
	c.reap(t, m)
	c.respawn(t, m)
	t.Step("SIGCHLD woke the master")
	c.terminate(t, m, false)
	t.Expect(m.Delay == FirstDelay, "a signal that is not the alarm changed the delay to %d", m.Delay)
	t.Expect(len(h.take()) == 0, "a signal that is not the alarm changes nothing")

	for delay := 2 * FirstDelay; delay <= 2*LastDelay; delay *= 2 {
		t.Step("the alarm goes off")
		c.terminate(t, m, true)
		signal := "SIGTERM to 102"
		if delay > LastDelay {
			signal = "SIGKILL to 102"
		}
		want := []string{fmt.Sprintf("alarm in %d ms", delay), signal}
		t.Expect(same(h.take(), want), "after the alarm: want %q", want)
	}
}

// same reports whether two lists hold the same, in any order.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// leaseMsec is the lease that the checks use.
const leaseMsec = 100

// atomics is a process that changes the lease, as the others do, by calls of
// the kernel alone: between two of them another may come.
type atomics struct {
	*fake.Process
	lease *Lease
	left  *uint64 // what the last call of any process has left in the word
}

func (k *atomics) AtomicCmpSet(word *sys.Atomic, old, set uint64) bool {
	k.look()
	done := k.Process.AtomicCmpSet(word, old, set)
	*k.left = k.lease.Word.Load()
	return done
}

func (k *atomics) AtomicFetchAdd(word *sys.Atomic, delta int64) uint64 {
	k.look()
	before := k.Process.AtomicFetchAdd(word, delta)
	*k.left = k.lease.Word.Load()
	return before
}

// look breaks a rule if the word was changed without a call.
func (k *atomics) look() {
	if k.lease.Word.Load() != *k.left {
		k.World().Broken("the lease is changed with kernel.AtomicCmpSet",
			k.Name+" has changed it without, and so without looking whether another has meanwhile")
	}
}

// leaseExcludes has two processes take turns, under every schedule.
func (c *checks) leaseExcludes(t *lab.T) {
	t.Explore(3, func(w *fake.World) {
		var lease Lease
		var left uint64
		inside := 0
		w.Name(&lease.Word, "lease")
		w.Always("only one holds the lease", func() string {
			if inside > 1 {
				return fmt.Sprintf("%d hold it", inside)
			}
			return ""
		})
		for i := range 2 {
			w.Start(fmt.Sprintf("worker %d", i+1), func(p *fake.Process) {
				k := &atomics{p, &lease, &left}
				for range 2 {
					won := c.f.LeaseTrylock(k, &lease, leaseMsec)
					k.look()
					if won {
						inside++
						p.SchedYield()
						inside--
						c.f.LeaseUnlock(k, &lease)
						k.look()
					}
				}
			})
		}
		w.Settle()
		w.Expect("in the end nobody holds it", lease.Word.Load(), uint64(0))
	})
}

// leaseMutex is the accept mutex made of a lease.
type leaseMutex struct {
	f      *Functions
	kernel sys.Kernel
	lease  *Lease
	msec   uint64
}

func (m *leaseMutex) Trylock() bool        { return m.f.LeaseTrylock(m.kernel, m.lease, m.msec) }
func (m *leaseMutex) Lock()                { panic("the accept mutex is only tried") }
func (m *leaseMutex) Unlock()              { m.f.LeaseUnlock(m.kernel, m.lease) }
func (m *leaseMutex) ForceUnlock(int) bool { return false } // it ends by itself

// lease makes the accept mutex of a worker a lease, and has a worker that
// holds it wake in time to renew it: each turn tries for the lock.
func (f *Functions) lease(cycle *event.Cycle, lease *Lease, msec core.Msec) {
	cycle.AcceptMutex = &leaseMutex{f, cycle.Kernel, lease, uint64(msec)}

	renew := &event.Event{Log: cycle.Log, Handler: func(*event.Event) {}}
	turn := cycle.Actions.ProcessEventsAndTimers
	cycle.Actions.ProcessEventsAndTimers = func(cycle *event.Cycle) {
		if !renew.TimerSet && cycle.AcceptMutexHeld {
			cycle.AddTimer(renew, msec/2)
		}
		turn(cycle)
	}
}

// fleet starts workers whose accept mutex is a lease.
func (c *checks) fleet(w *fake.World, lease *Lease) *eventtest.Fleet {
	w.Name(&lease.Word, "lease")
	return eventtest.New(w, eventtest.Conf{
		Workers: 2,
		Event:   event.EventConf{AcceptMutex: true, AcceptMutexDelay: leaseMsec},
		Change:  func(wk *eventtest.Worker) { c.f.lease(wk.Cycle, lease, leaseMsec) },
	})
}

// stoppedHolder holds FACTS: with nginx's lock, SIGSTOP of the holder is a
// total outage.
func (c *checks) stoppedHolder(t *lab.T) {
	t.Run(func(w *fake.World) {
		var lease Lease
		f := c.fleet(w, &lease)
		w.Settle()
		i := slices.IndexFunc(f.Workers, (*eventtest.Worker).Registered)
		w.Expect("somebody holds the lease", i != -1, true)
		f.Workers[i].Stop()
		client := w.Connect(f.Listener)
		w.Advance(5 * leaseMsec * time.Millisecond)
		client.Read()
		w.Expect("another worker serves while the holder is stopped", client.EOF(), true)

		f.Workers[i].Continue()
		w.Advance(5 * leaseMsec * time.Millisecond)
		registered := 0
		for _, wk := range f.Workers {
			if wk.Registered() {
				registered++
			}
		}
		w.Expect("when it goes on, one worker is registered", registered, 1)
		client = w.Connect(f.Listener)
		w.Advance(5 * leaseMsec * time.Millisecond)
		client.Read()
		w.Expect("and connections are served", client.EOF(), true)
	})
}

// lateUnlock: a holder comes back after another has taken its lease over.
func (c *checks) lateUnlock(t *lab.T) {
	t.Run(func(w *fake.World) {
		var lease Lease
		w.Name(&lease.Word, "lease")
		first, second := w.Process("first"), w.Process("second")
		try := func(p *fake.Process) (won bool) {
			p.Do(func() { won = c.f.LeaseTrylock(p, &lease, leaseMsec) })
			return won
		}
		w.Expect("the first gets the lease", try(first), true)
		w.Expect("the second does not", try(second), false)
		w.Advance((leaseMsec - 1) * time.Millisecond)
		w.Expect("nor just before it ends", try(second), false)
		w.Advance(2 * time.Millisecond)
		w.Expect("once it is over, the second gets it", try(second), true)
		first.Do(func() { c.f.LeaseUnlock(first, &lease) })
		w.Expect("the first's late unlock does not free it", try(first), false)
		second.Do(func() { c.f.LeaseUnlock(second, &lease) })
		w.Expect("the second's unlock does", try(first), true)
		w.Expect("the holder renews its own lease", try(first), true)
	})
}
