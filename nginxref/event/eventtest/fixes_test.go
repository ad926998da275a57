package eventtest

import (
	"strings"
	"testing"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys/fake"
)

// lockOnly takes the accept mutex apart: every worker keeps its listener
// registered, the holder alone accepts, the others ignore the event.
func lockOnly(w *Worker) {
	w.Cycle.Actions.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
		cycle.AcceptMutexHeld = cycle.AcceptMutex.Trylock()
		return cycle.Actions.EnableAcceptEvents(cycle)
	}
	w.Cycle.Actions.Accept = func(ev *event.Event) {
		if ev.Data.Cycle.AcceptMutexHeld {
			event.EventAccept(ev)
		}
	}
}

// The lock alone removes every erroneous accept and not one wakeup, and the
// level-triggered losers spin (FACTS.md).
func TestLockOnlyWakesAllAndNobodyAcceptsInVain(t *testing.T) {
	for _, n := range []int{2, 8} {
		run(t, func(w *fake.World) {
			f := New(w, Conf{Workers: n, Event: mutex, Change: lockOnly})
			f.noEAGAIN()
			w.Settle()
			for range 10 {
				before := w.Total()
				w.Connect(f.Listener)
				w.Settle()
				got := w.Total().Since(before)
				w.Expect("wakeups", got.Wakeups, n)
				w.Expect("accepted", got.Accepted, 1)
				w.Expect("the losers spin", got.ReturnsEvents > 10*(n-1), true)
			}
		})
	}
	fake.Explore(func(w *fake.World) {
		f := New(w, Conf{Workers: 2, Event: mutex, Change: lockOnly})
		f.noEAGAIN()
		f.clients(2)
		w.Advance(time.Second)
		w.Expect("all are accepted", w.Total().Accepted, 2)
	}, fake.Options{Departures: 2, Slice: 6}).Check(t)
}

// CASES A03, and what multi_accept makes of it: its loop leaves through EAGAIN
// and never comes to the re-adding.
func TestSharesOfExclusive(t *testing.T) {
	noReadd := func(w *Worker) {
		w.Cycle.Actions.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) {}
	}
	multi := event.EventConf{ExclusiveAccept: true, MultiAccept: true}
	for _, c := range []struct {
		name   string
		conf   Conf
		n      int
		shares []int
		vain   int
	}{
		{"nginx, 25 connections", Conf{Workers: 4, Event: exclusive}, 25, []int{17, 6, 1, 1}, 0},
		{"nginx", Conf{Workers: 4, Event: exclusive}, 200, []int{53, 49, 49, 49}, 0},
		{"without re-adding", Conf{Workers: 4, Event: exclusive, Change: noReadd}, 200, []int{200, 0, 0, 0}, 0},
		{"multi_accept", Conf{Workers: 4, Event: multi}, 200, []int{200, 0, 0, 0}, 200},
		{"accept mutex", Conf{Workers: 4, Event: mutex}, 200, []int{200, 0, 0, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(w *fake.World) {
				f := New(w, c.conf)
				got := f.paced(c.n, 2*time.Millisecond)
				w.Expect("shares", f.Shares(), c.shares)
				w.Expect("EAGAIN", got.AcceptAgain, c.vain)
				if c.conf.Event.ExclusiveAccept {
					w.Expect("a connection wakes one", got.Wakeups, c.n)
				}
			})
		})
	}
}

// Whoever runs when, EXCLUSIVE forgets no connection.
func TestExclusiveInEveryInterleaving(t *testing.T) {
	fake.Explore(func(w *fake.World) {
		f := New(w, Conf{Workers: 3, Event: exclusive})
		f.clients(3)
		w.Settle()
		w.Expect("all are accepted", w.Total().Accepted, 3)
		f.quiet()
	}, fake.Options{Departures: 2}).Check(t)
}

// CASES B06: a worker's own listener is served whether or not the worker has
// the mutex, which it does not need.
func TestReuseportListenersAreServedWithoutTheMutex(t *testing.T) {
	for _, conf := range []event.EventConf{herd, mutex} {
		run(t, func(w *fake.World) {
			f := New(w, Conf{Workers: 4, Reuseport: true, Event: conf})
			w.Settle()
			before := w.Total()
			for range 40 {
				w.Connect(f.Listener)
				w.Settle()
			}
			w.Expect("shares", f.Shares(), []int{10, 10, 10, 10})
			w.Expect("a connection wakes one", w.Total().Since(before).Wakeups, 40)
			f.quiet()
		})
	}
}

// Wrong versions of the accept mutex. The schedule that shows it is a short
// one; the same scenario holds for nginx's own in every one of them.
func TestExploringFindsWrongMutexes(t *testing.T) {
	scenario := func(change func(*Worker)) func(w *fake.World) {
		return func(w *fake.World) {
			f := New(w, Conf{Workers: 2, Event: mutex, Change: change})
			f.oneWaitsRegistered()
			f.noEAGAIN()
			f.clients(2)
			w.Advance(time.Second)
			w.Expect("all are accepted", w.Total().Accepted, 2)
		}
	}
	o := fake.Options{Departures: 2}
	fake.Explore(scenario(nil), o).Check(t)
	for name, change := range map[string]func(w *Worker){
		// CASES B04: the flag also says that the listener is registered.
		"held is cleared at the unlock": func(w *Worker) {
			w.Cycle.AcceptMutex = &clearing{w.Cycle.AcceptMutex, w.Cycle}
		},
		"the loser stays registered": func(w *Worker) {
			w.Cycle.Actions.DisableAcceptEvents = func(*event.Cycle, bool) core.Status { return core.OK }
		},
		"the lock is let go before the wait": func(w *Worker) {
			w.Cycle.Actions.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
				status := event.TrylockAcceptMutex(cycle)
				cycle.AcceptMutex.Unlock()
				return status
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := fake.Explore(scenario(change), o)
			if r.Failure == nil {
				t.Fatalf("%d schedules find nothing wrong", r.Schedules)
			}
			if want := "only one worker waits for connections"; r.Failure.Rule != want {
				t.Errorf("%v\nwant the rule %q", r.Failure, want)
			}
			if last := r.Failure.Steps[r.Failure.Step-1].What; !strings.HasSuffix(last, "sleeps") {
				t.Errorf("the first wrong step is %q, want the wait", last)
			}
		})
	}
}

// clearing clears held at the unlock.
type clearing struct {
	shmtx.Mutex
	cycle *event.Cycle
}

func (m *clearing) Unlock() {
	m.Mutex.Unlock()
	m.cycle.AcceptMutexHeld = false
}
