package eventtest

import (
	"testing"
	"time"

	"herd/nginxref/event"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// turnCalls is how many calls a worker makes in a turn in which it accepts,
// from accept4 to the next epoll_wait.
const turnCalls = 10

// killed is a fleet of which the holder of the mutex was killed at one of the
// calls of a turn in which it accepts: Explore tries them all.
func killed(w *fake.World) *Fleet {
	f := New(w, Conf{Workers: 2, Event: mutex})
	w.Settle()
	for _, holder := range f.Workers {
		if f.Zone.AcceptMutex.Lock.Load() == uint64(holder.Pid) {
			holder.KillAt(fake.AnyCall, 1+w.Choose(turnCalls))
		}
	}
	w.Connect(f.Listener)
	w.Settle()
	w.Expect("one is dead", f.Workers[0].Dead() != f.Workers[1].Dead(), true)
	w.Connect(f.Listener)
	return f
}

// CASES B01: the mutex of a worker that dies, at whatever call, is forced out
// of its hands, and its successor or a sibling accepts what is queued.
func TestDeadHolderIsForcedToUnlock(t *testing.T) {
	r := fake.Explore(func(w *fake.World) {
		f := killed(w)
		f.oneWaitsRegistered()
		if f.Reap() == nil {
			w.Broken("the master finds the dead worker", "it does not")
		}
		w.Advance(500 * time.Millisecond)
		w.Expect("nobody waits in the queue", f.Listener.Queued(), 0)
		f.quiet()
	}, fake.Options{Departures: 1})
	r.Check(t)
	if r.Schedules < turnCalls {
		t.Errorf("%d schedules, want one at least for each call", r.Schedules)
	}
}

// Without it the dead worker's pid stays in the lock word, if it died between
// lock and unlock, and nobody accepts any more.
func TestDeadHolderFreezesAcceptingUntilForced(t *testing.T) {
	r := fake.Explore(func(w *fake.World) {
		f := killed(w)
		w.Until("somebody accepts", func() bool { return f.Listener.Queued() == 0 })
	}, fake.Options{})
	if r.Failure == nil {
		t.Fatal("it does not")
	}
	if want := "somebody accepts"; r.Failure.Rule != want {
		t.Errorf("%v\nwant the rule %q", r.Failure, want)
	}
}

// FACTS.md: a holder that is stopped is a total outage; EXCLUSIVE and the herd
// do not notice.
func TestStoppedHolderIsAnOutage(t *testing.T) {
	for _, c := range []struct {
		name   string
		conf   event.EventConf
		served int // of 5 connections in 10 s
	}{{"mutex", mutex, 0}, {"exclusive", exclusive, 5}, {"herd", herd, 5}} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(w *fake.World) {
				f := New(w, Conf{Workers: 4, Event: c.conf})
				w.Settle()
				f.Workers[0].Stop()
				got := f.paced(5, 2*time.Second)
				w.Expect("served", got.Accepted, c.served)
				f.Workers[0].Continue()
				w.Until("all are served", func() bool { return f.Listener.Queued() == 0 })
			})
		})
	}
}

// CASES B05 and FACTS.md: at EMFILE a worker without the mutex tries again
// after accept_mutex_delay. With it, nobody does: each worker skips the next
// trylock, and with it the limit of its wait.
func TestRunningOutOfDescriptors(t *testing.T) {
	emfile := func(f *Fleet) {
		for _, w := range f.Workers {
			w.Fail(fake.Accept4, 1, sys.EMFILE) // once: then descriptors are free
		}
	}
	run(t, func(w *fake.World) {
		f := New(w, Conf{Workers: 2, Event: herd})
		emfile(f)
		w.Connect(f.Listener)
		w.Advance(499 * time.Millisecond)
		w.Expect("not yet", f.Listener.Queued(), 1)
		w.Advance(time.Millisecond)
		w.Expect("accepted at the second try", f.Listener.Queued(), 0)
		w.Expect("one wakeup each for the connection and for the timer", w.Total().Wakeups <= 4, true)
	})
	says := fake.Run(func(w *fake.World) {
		f := New(w, Conf{Workers: 2, Event: mutex})
		emfile(f)
		w.Connect(f.Listener)
		w.Until("it is accepted", func() bool { return f.Listener.Queued() == 0 })
	}, fake.Options{}).Failure
	if says == nil || says.Rule != "it is accepted" {
		t.Errorf("nginx's weakness is gone: %v", says)
	}
}

// EXCLUSIVE has woken one worker, and that one is out of descriptors: nobody
// tells the others, and the connection waits for its timer. It is then
// registered as with the accept mutex, without EXCLUSIVE. Until its next move
// each connection wakes it, and another one besides.
func TestOutOfDescriptorsWithExclusive(t *testing.T) {
	run(t, func(w *fake.World) {
		f := New(w, Conf{Workers: 4, Event: exclusive})
		f.paced(4, 2*time.Millisecond) // one each: the next move comes after 16 more

		f.Workers[0].Fail(fake.Accept4, 1, sys.EMFILE)
		f.paced(1, 499*time.Millisecond)
		w.Expect("three workers sleep, and it waits", f.Listener.Queued(), 1)
		w.Advance(time.Millisecond)
		w.Expect("accepted", f.Listener.Queued(), 0)

		w.Expect("15 connections wake two workers each", f.paced(15, 2*time.Millisecond).Wakeups, 30)
		w.Expect("and the ones after the move one", f.paced(15, 2*time.Millisecond).Wakeups, 15)
	})
}

// A worker whose table is full leaves its accept before it comes to the move.
// Once it is the first in the wait queue it stays there, and turns away
// whoever finds it asleep, although the other worker holds nobody.
func TestFullWorkerIsNeverMoved(t *testing.T) {
	run(t, func(w *fake.World) {
		f := New(w, Conf{Workers: 2, Event: exclusive, Change: func(w *Worker) {
			if w.Cycle.Worker == 0 {
				w.Cycle.Listening[0].Handler = func(*event.Connection) {} // its clients stay
			}
		}})
		f.paced(32, 2*time.Millisecond)
		w.Expect("15 fill the first one's table, the 17th moves the second one", f.Shares(), []int{15, 17})
		f.quiet()
		f.paced(100, 2*time.Millisecond)
		w.Expect("the first one takes all", f.Shares(), []int{115, 17})
		w.Expect("and turns them away", len(f.Workers[0].Alerts), 100)
	})
}

// An interrupted wait is no error, and forgets nothing.
func TestInterruptedWait(t *testing.T) {
	for _, conf := range []event.EventConf{herd, mutex, exclusive} {
		run(t, func(w *fake.World) {
			f := New(w, Conf{Workers: 2, Event: conf})
			w.Settle()
			for _, wk := range f.Workers {
				wk.Interrupt()
			}
			w.Connect(f.Listener)
			w.Settle()
			w.Expect("accepted", w.Total().Accepted, 1)
			w.Expect("EINTR is counted", f.Workers[0].Slot.ReturnsSignal+f.Workers[1].Slot.ReturnsSignal, uint64(2))
			f.quiet()
		})
	}
}
