package event

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// rivals returns two started workers that have a listener in common, which
// the accept mutex guards.
//
//	t0    t1
//	 |     |
//	e0    e1     the mutex decides whether s0 is in e0 or in e1
//	  \  /
//	   s0
func rivals(t testing.TB, configure func(*worker)) (w0, w1 *worker, ls *Listening) {
	t.Helper()
	ws := workers(t, 2)
	w0, w1 = ws[0], ws[1]
	for _, w := range ws {
		w.Event.AcceptMutex = true
		configure(w)
	}
	ls = w0.listen()
	w1.inherit(ls)
	w0.start()
	w1.start()
	return w0, w1, ls
}

// holder returns the pid in the lock word, 0 if the lock is free.
func (w *worker) holder() int { return int(w.Zone.AcceptMutex.Lock.Load()) }

// The table of TrylockAcceptMutex, row by row.
func TestTrylockAcceptMutexTable(t *testing.T) {
	for _, c := range []struct {
		held, won bool
		ops       []int // what is asked of the kernel for the listener
		log       string
	}{
		{held: false, won: true, ops: []int{sys.EPOLL_CTL_ADD}, log: "accept mutex locked"},
		{held: true, won: true, ops: nil, log: "accept mutex locked"},
		{held: false, won: false, ops: nil, log: "accept mutex lock failed: 0"},
		{held: true, won: false, ops: []int{sys.EPOLL_CTL_DEL}, log: "accept mutex lock failed: 1"},
	} {
		t.Run(fmt.Sprintf("held %v, won %v", c.held, c.won), func(t *testing.T) {
			w0, w1, ls := rivals(t, func(*worker) {})
			if c.held { // from the turn before; unlocked since
				w0.mustBe(core.OK, TrylockAcceptMutex(w0.Cycle))
				w0.AcceptMutex.Unlock()
			}
			if !c.won {
				w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle))
			}
			w0.kernel.ctls, w0.lines = nil, nil
			walks := 0 // over the listeners
			w0.Actions.EnableAcceptEvents = func(cycle *Cycle) core.Status { walks++; return EnableAcceptEvents(cycle) }
			w0.Actions.DisableAcceptEvents = func(cycle *Cycle, all bool) core.Status { walks++; return DisableAcceptEvents(cycle, all) }

			w0.mustBe(core.OK, TrylockAcceptMutex(w0.Cycle))
			if w0.AcceptMutexHeld != c.won {
				t.Errorf("held %v afterwards, want %v", w0.AcceptMutexHeld, c.won)
			}
			if armed := w0.interest(ls.Fd) == "IN|RDHUP"; armed != c.won {
				t.Errorf("the kernel has %s for the listener, held is %v", w0.interest(ls.Fd), c.won)
			}
			holder := w1.kernel.pid
			if c.won {
				holder = w0.kernel.pid
			}
			if w0.holder() != holder {
				t.Errorf("the lock word holds %d, want %d", w0.holder(), holder)
			}
			var ops []int
			for _, call := range w0.kernel.ctls {
				ops = append(ops, call.Op)
			}
			if !slices.Equal(ops, c.ops) || walks != len(c.ops) {
				t.Errorf("operations %v in %d walks over the listeners, want %v", ops, walks, c.ops)
			}
			if w0.logged("[debug] "+c.log) != 1 {
				t.Errorf("no %q in %q", c.log, w0.lines)
			}
		})
	}
}

// CASES B04: lock, unlock, another worker locks, trylock fails. To clear the
// held flag at the unlock would leave the listener registered in both.
func TestB04ListenerLeavesTheSetWhenAnotherWorkerHasTheLock(t *testing.T) {
	w0, w1, ls := rivals(t, func(w *worker) { w.Event.AcceptMutexDelay = 1 })

	w0.wake()
	w0.ProcessEventsAndTimers()
	if !w0.AcceptMutexHeld || w0.holder() != 0 || w0.interest(ls.Fd) != "IN|RDHUP" {
		t.Fatalf("after its turn: held %v, the word holds %d, the kernel has %s",
			w0.AcceptMutexHeld, w0.holder(), w0.interest(ls.Fd))
	}
	w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle)) // w1 is in its turn
	w0.ProcessEventsAndTimers()
	if w0.AcceptMutexHeld || w0.interest(ls.Fd) != "-" || w1.interest(ls.Fd) != "IN|RDHUP" {
		t.Errorf("after the lost trylock: held %v, the kernel has %s and %s",
			w0.AcceptMutexHeld, w0.interest(ls.Fd), w1.interest(ls.Fd))
	}
	if w0.holder() != w1.kernel.pid {
		t.Errorf("the word holds %d: the loser's turn unlocked it", w0.holder())
	}
}

// wake makes the next wait of the worker return at once.
func (w *worker) wake() {
	var h Handler = func(*Event) {}
	w.mustBe(core.OK, w.Notify(&h))
}

// CASES B19: the shared word is 0 between turns of the holder, in the eyes of
// the other, who can win it then; and the connection goes to whoever holds it.
func TestB19LockIsFreeBetweenTurns(t *testing.T) {
	w0, w1, ls := rivals(t, func(w *worker) { w.Event.AcceptMutexDelay = 1 })
	for i := range 6 {
		holder, loser := w0, w1
		if i%2 == 1 {
			holder, loser = w1, w0
		}
		dial(t, ls, 1)
		holder.ProcessEventsAndTimers()
		if len(holder.accepted) != i/2+1 {
			t.Fatalf("turn %d: the holder accepted %d", i, len(holder.accepted))
		}
		if got := loser.holder(); got != 0 {
			t.Fatalf("turn %d: the word holds %d after the holder's turn", i, got)
		}
	}
	for _, w := range []*worker{w0, w1} {
		if slices.ContainsFunc(w.kernel.accepts, func(e sys.Errno) bool { return e != 0 }) {
			t.Errorf("erroneous accepts: %v", w.kernel.accepts)
		}
	}
}

// While a worker is in its turn nobody else has the listener registered, so
// one connection is one wakeup and one accept, however the turns alternate.
func TestMutexMovesTheListenerAndLeavesNoErroneousAccept(t *testing.T) {
	w0, w1, ls := rivals(t, func(w *worker) { w.Event.AcceptMutexDelay = 0 })
	ws := []*worker{w0, w1}
	for i := range 40 {
		w := ws[(i/3)%2]
		dial(t, ls, 1)
		w.turnsUntil(func() bool { return len(w0.accepted)+len(w1.accepted) == i+1 })
		for _, c := range w.accepted[len(w.accepted)-1:] {
			w.CloseConnection(c)
		}
		for _, other := range ws {
			if registered := other.interest(ls.Fd) != "-"; registered != other.AcceptMutexHeld {
				t.Fatalf("connection %d: registered %v, held %v", i, registered, other.AcceptMutexHeld)
			}
		}
	}
	for _, w := range ws {
		if w.Counters.AcceptAgain != 0 || w.Counters.Accepted == 0 {
			t.Errorf("worker %d: %d accepted, %d EAGAIN", w.Worker, w.Counters.Accepted, w.Counters.AcceptAgain)
		}
		if w.Counters.LockTries < w.Counters.LockWins || w.Counters.LockWins == 0 {
			t.Errorf("worker %d: %d tries, %d wins", w.Worker, w.Counters.LockTries, w.Counters.LockWins)
		}
	}
}

// The lock is held for the accepts only: an event of another kind that came
// in the same wait is handled when another worker can have it (B08).
func TestB08LockIsFreeWhenOtherEventsAreHandled(t *testing.T) {
	w0, _, ls := rivals(t, func(*worker) {})
	var at []string
	note := func(what string) { at = append(at, fmt.Sprintf("%s: %d", what, w0.holder())) }
	c, peer := w0.pair()
	w0.mustBe(core.OK, w0.AddEvent(c.Read, ReadEvent, ClearEvent))
	c.Read.Handler = func(*Event) { note("read") }
	w0.Listening[0].Handler = func(*Connection) { note("accept") }
	send(t, peer, "x") // ready before the listener is
	dial(t, ls, 1)
	w0.ProcessEventsAndTimers()
	want := []string{fmt.Sprintf("accept: %d", w0.kernel.pid), "read: 0"}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// CASES B03, which nginx left as it is: a worker that is too full does not
// try the lock, and so does not notice that another has it; its listener
// stays registered, and both accept.
func TestB03FullWorkerStaysRegisteredWhileAnotherHolds(t *testing.T) {
	w0, w1, ls := rivals(t, func(w *worker) { w.Event.AcceptMutexDelay = 1 })
	w0.wake()
	w0.ProcessEventsAndTimers() // wins
	w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle))

	w0.AcceptDisabled = 2
	tries := w0.Counters.LockTries
	for want := 1; want >= 0; want-- {
		w0.wake()
		w0.ProcessEventsAndTimers()
		if w0.AcceptDisabled != want || w0.Counters.LockTries != tries {
			t.Errorf("accept_disabled %d, %d tries; want %d, none", w0.AcceptDisabled, w0.Counters.LockTries-tries, want)
		}
		if !w0.AcceptMutexHeld || w0.interest(ls.Fd) == "-" || w1.interest(ls.Fd) == "-" {
			t.Errorf("held %v, registered as %s and %s: want both",
				w0.AcceptMutexHeld, w0.interest(ls.Fd), w1.interest(ls.Fd))
		}
		if w0.holder() != w1.kernel.pid {
			t.Errorf("the word holds %d: the full worker unlocked another's lock", w0.holder())
		}
	}
	w0.ProcessEventsAndTimers() // tries again, and loses
	if w0.AcceptMutexHeld || w0.interest(ls.Fd) != "-" {
		t.Errorf("held %v, registered as %s", w0.AcceptMutexHeld, w0.interest(ls.Fd))
	}
}

// CASES B05, mutex on: the lock goes to another worker at once, and every
// listener leaves the set, this worker's own ones too.
func TestB05WithoutDescriptorsTheLockIsGivenUp(t *testing.T) {
	ws := workers(t, 2)
	w0 := ws[0]
	w0.Event.AcceptMutex = true
	shared, private := w0.listen(), w0.listen()
	private.Reuseport = true
	w0.start()
	w0.refuse(shared, sys.EMFILE)
	if w0.AcceptMutexHeld || w0.holder() != 0 || w0.AcceptDisabled != 1 {
		t.Errorf("held %v, the word holds %d, accept_disabled %d; want false, 0, 1",
			w0.AcceptMutexHeld, w0.holder(), w0.AcceptDisabled)
	}
	if w0.interest(shared.Fd) != "-" || w0.interest(private.Fd) != "-" {
		t.Errorf("the kernel has %s and %s, want neither", w0.interest(shared.Fd), w0.interest(private.Fd))
	}
	if shared.Connection.Read.TimerSet || w0.FindTimer() != TimerInfinite {
		t.Error("a timer is set")
	}
	if w0.Counters.AcceptMfile != 1 {
		t.Errorf("%d counted", w0.Counters.AcceptMfile)
	}

	// nginx's weakness (FACTS, Faults): the next turn skips the lock and with
	// it the cap on the wait, so a worker with nothing else to do sleeps on
	// when descriptors are free again.
	w0.kernel.waits = nil
	w0.wake()
	w0.ProcessEventsAndTimers()
	if diff := cmp.Diff([]int{-1}, w0.kernel.waits); diff != "" || w0.AcceptDisabled != 0 {
		t.Errorf("accept_disabled %d, waits: -want +got\n%s", w0.AcceptDisabled, diff)
	}
	// Once something wakes it, it competes again, and serves the connection
	// that waits. Its private listener is back as well.
	w0.turnsUntil(func() bool { return len(w0.accepted) == 1 })
	if w0.interest(private.Fd) != "IN|RDHUP" {
		t.Errorf("the kernel has %s for the private listener", w0.interest(private.Fd))
	}
}

// CASES B05 where the mutex is on but another worker holds it: the word is
// not touched.
func TestB05GivesUpOnlyItsOwnLock(t *testing.T) {
	w0, w1, ls := rivals(t, func(*worker) {})
	w0.wake()
	w0.ProcessEventsAndTimers() // wins and unlocks; registered
	w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle))
	w0.AcceptDisabled = 1 // so that it does not notice
	w0.refuse(w0.Listening[0], sys.EMFILE)
	if w0.holder() != w1.kernel.pid || w0.AcceptMutexHeld || w0.AcceptDisabled != 1 {
		t.Errorf("the word holds %d, held %v, accept_disabled %d", w0.holder(), w0.AcceptMutexHeld, w0.AcceptDisabled)
	}
	if w0.interest(ls.Fd) != "-" {
		t.Errorf("the kernel has %s", w0.interest(ls.Fd))
	}
}

// CASES B06: a private listener is registered from the start, with the mutex
// or without it, and a lost trylock leaves it alone.
//
//	t0        t1
//	 |         |
//	e0        e1
//	 | \     / |
//	s1  \   /  s2    s1, s2: reuseport sockets
//	      s0
func TestB06PrivateListenersServeWithoutTheMutex(t *testing.T) {
	ws := workers(t, 2)
	var private []*Listening
	shared := ws[0].listen()
	ws[1].inherit(shared)
	for i, w := range ws {
		w.Event.AcceptMutex = true
		w.Event.AcceptMutexDelay = 1
		own := w.listen()
		own.Reuseport, own.Worker = true, i
		private = append(private, own)
		w.start()
	}
	w0, w1 := ws[0], ws[1]
	w0.wake()
	w0.ProcessEventsAndTimers() // w0 has had the lock
	w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle))
	w0.ProcessEventsAndTimers() // and has lost it
	if w0.interest(shared.Fd) != "-" || w0.interest(private[0].Fd) != "IN|RDHUP" {
		t.Fatalf("after the lost trylock: %s and %s", w0.interest(shared.Fd), w0.interest(private[0].Fd))
	}
	dial(t, private[0], 1)
	w0.ProcessEventsAndTimers()
	if len(w0.accepted) != 1 {
		t.Error("the loser does not serve its own listener")
	}
	// Winning does not register it a second time.
	w1.AcceptMutex.Unlock()
	w0.kernel.ctls = nil
	w0.wake()
	w0.ProcessEventsAndTimers()
	for _, call := range w0.kernel.ctls {
		if call.Fd == private[0].Fd {
			t.Errorf("calls for the private listener: %v", w0.kernel.ctls)
		}
	}
}

// A worker that cannot register its listeners gives the lock back and ends
// the turn at once.
func TestLockIsGivenBackIfTheListenersCannotBeRegistered(t *testing.T) {
	w0, _, ls := rivals(t, func(*worker) {})
	fd := ls.Fd
	lc := w0.Listening[0].Connection
	lc.Fd = 9999 // no such descriptor
	w0.kernel.waits = nil
	w0.ProcessEventsAndTimers()
	if w0.holder() != 0 || w0.AcceptMutexHeld {
		t.Errorf("the word holds %d, held %v", w0.holder(), w0.AcceptMutexHeld)
	}
	if len(w0.kernel.waits) != 0 {
		t.Error("the turn went on to wait")
	}
	lc.Fd = fd
	w0.wake()
	w0.ProcessEventsAndTimers()
	if !w0.AcceptMutexHeld || w0.interest(fd) == "-" {
		t.Error("the next turn did not win")
	}
}

// The same on the way out: the flag stays, so that the next turn tries again
// to unregister.
func TestHeldStaysIfTheListenersCannotBeUnregistered(t *testing.T) {
	w0, w1, ls := rivals(t, func(*worker) {})
	w0.wake()
	w0.ProcessEventsAndTimers()
	w1.mustBe(core.OK, TrylockAcceptMutex(w1.Cycle))
	lc := w0.Listening[0].Connection
	lc.Fd = 9999
	w0.kernel.waits = nil
	w0.ProcessEventsAndTimers()
	if !w0.AcceptMutexHeld || len(w0.kernel.waits) != 0 || w0.holder() != w1.kernel.pid {
		t.Errorf("held %v, waits %v, the word holds %d", w0.AcceptMutexHeld, w0.kernel.waits, w0.holder())
	}
	lc.Fd = ls.Fd
	w0.mustBe(core.OK, TrylockAcceptMutex(w0.Cycle))
	if w0.AcceptMutexHeld || w0.interest(ls.Fd) != "-" {
		t.Errorf("held %v, the kernel has %s", w0.AcceptMutexHeld, w0.interest(ls.Fd))
	}
}

// AcceptEvents is set by nothing on Linux; where it is, the holder registers
// its listeners again.
func TestAcceptEventsMakesTheHolderRegisterAgain(t *testing.T) {
	w0, _, ls := rivals(t, func(*worker) {})
	w0.mustBe(core.OK, TrylockAcceptMutex(w0.Cycle))
	w0.AcceptMutex.Unlock()
	w0.mustBe(core.OK, DisableAcceptEvents(w0.Cycle, true))
	w0.AcceptEvents = true
	w0.mustBe(core.OK, TrylockAcceptMutex(w0.Cycle))
	if w0.AcceptEvents || w0.interest(ls.Fd) != "IN|RDHUP" {
		t.Errorf("AcceptEvents %v, the kernel has %s", w0.AcceptEvents, w0.interest(ls.Fd))
	}
}

// CASES B11: a worker that stops accepting does not compete any more, and has
// not got the lock.
func TestB11WorkerWithoutListenersDoesNotTryTheLock(t *testing.T) {
	ws := workers(t, 2)
	w0, w1 := ws[0], ws[1]
	w0.Event.AcceptMutex = true
	w0.listen()
	w0.start()
	w0.wake()
	w0.ProcessEventsAndTimers()
	if !w0.AcceptMutexHeld {
		t.Fatal("it did not win")
	}
	w0.CloseListeningSockets()
	tries := w0.Counters.LockTries
	w0.wake()
	w0.ProcessEventsAndTimers()
	if w0.Counters.LockTries != tries || w0.holder() != 0 || w0.AcceptMutexHeld {
		t.Errorf("%d tries, the word holds %d, held %v", w0.Counters.LockTries-tries, w0.holder(), w0.AcceptMutexHeld)
	}
	if !w1.AcceptMutex.Trylock() {
		t.Error("the other worker cannot have the lock")
	}
}

// The lock's log lines, as nginx's debug log has them (FACTS).
func TestMutexLogIsNginxs(t *testing.T) {
	w0, w1, ls := rivals(t, func(w *worker) { w.Event.AcceptMutexDelay = 1 })
	turn := func() []string {
		w0.lines = nil
		w0.wake()
		w0.ProcessEventsAndTimers()
		return w0.lines[:3]
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"won", func() {}, []string{
			"[debug] accept mutex locked",
			fmt.Sprintf("[debug] epoll add event: fd:%d op:1 ev:00002001", ls.Fd),
			"[debug] epoll timer: -1"}},
		{"lost while held", func() { w1.AcceptMutex.Trylock() }, []string{
			"[debug] accept mutex lock failed: 1",
			fmt.Sprintf("[debug] epoll del event: fd:%d op:2 ev:00000000", ls.Fd),
			"[debug] epoll timer: 1"}},
	} {
		step.do()
		if diff := cmp.Diff(step.want, turn()); diff != "" {
			t.Errorf("%s: -want +got\n%s", step.name, diff)
		}
	}
	if diff := cmp.Diff([]string{"[debug] accept mutex lock failed: 0", "[debug] epoll timer: 1"}, turn()[:2]); diff != "" {
		t.Errorf("lost while not held: -want +got\n%s", diff)
	}
}
