// Package lab03 holds the checks and the measurement of lab 03, the accept
// mutex.
package lab03

import (
	"fmt"
	"syscall"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	TrylockAcceptMutex  func(cycle *event.Cycle) core.Status
	EnableAcceptEvents  func(cycle *event.Cycle) core.Status
	DisableAcceptEvents func(cycle *event.Cycle, all bool) core.Status

	// Part B.
	Turn func(cycle *event.Cycle)
}

// partA puts the functions of part A in place of the reference's.
func (f *Functions) partA(cycle *event.Cycle) {
	cycle.Actions.TrylockAcceptMutex = f.TrylockAcceptMutex
	cycle.Actions.EnableAcceptEvents = f.EnableAcceptEvents
	cycle.Actions.DisableAcceptEvents = f.DisableAcceptEvents
}

// partB puts the student's turn in place too. Part A is the reference's: the
// parts do not depend on each other.
func (f *Functions) partB(cycle *event.Cycle) {
	cycle.Actions.ProcessEventsAndTimers = f.Turn
}

const (
	readTrylock = "src/event/ngx_event_accept.c 325-365, nginxref/event/ngx_event_accept.go TrylockAcceptMutex, chapters/06-accept-mutex.md"
	readEnable  = "src/event/ngx_event_accept.c 368-430, nginxref/event/ngx_event_accept.go EnableAcceptEvents"
	readTurn    = "src/event/ngx_event.c 193-260, nginxref/event/ngx_event.go ProcessEventsAndTimers, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 03 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 3,
		Name:   "lab03-acceptmutex",
		Title:  "The accept mutex",
		Files:  []string{"acceptmutex.go", "turn.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "the-winner-registers-once", Points: 10, Read: readTrylock, Run: c.winnerRegistersOnce,
				Sentence: "A worker that wins the lock registers its listeners, unless they are registered already."},
			{Part: "A", Name: "the-loser-unregisters", Points: 10, Read: readTrylock, Run: c.loserUnregisters,
				Sentence: "A worker whose listeners are registered and that loses the lock unregisters them and forgets that it held it."},
			{Part: "A", Name: "a-loser-that-held-nothing-does-nothing", Points: 5, Read: readTrylock, Run: c.loserDoesNothing,
				Sentence: "A worker that loses the lock and holds no registration makes no system call."},
			{Part: "A", Name: "a-failed-registration-gives-the-lock-back", Points: 10, Read: readTrylock, Run: c.failedRegistration,
				Sentence: "If the registration fails the lock is given back and the error is returned."},
			{Part: "A", Name: "reuseport-listeners-stay", Points: 5, Read: readEnable, Run: c.reuseportStays,
				Sentence: "A worker's own reuseport socket stays registered unless all are to go."},
			{Part: "A", Name: "nobody-accepts-in-vain", Points: 20, Read: readTrylock, Run: c.nobodyAcceptsInVain,
				Sentence: "However the workers are scheduled, at most one accepts, and none finds the queue empty."},
			{Part: "A", Name: "one-wakeup-a-connection", Points: 10, Read: readTrylock, Run: c.oneWakeup,
				Sentence: "A connection wakes the worker that holds the lock and no other; the others wake to poll."},
			{Part: "A", Name: "a-killed-holder-is-survived", Points: 10, Read: readTrylock, Run: c.killedHolder,
				Sentence: "When the holder is killed, wherever it is, another worker serves."},
			{Part: "B", Name: "two-are-never-registered", Points: 10, Read: readTurn, Run: c.neverTwo,
				Sentence: "A worker that is too full to try for the lock does not stay registered while another holds it, and another that has room accepts in its place."},
			{Part: "B", Name: "no-freeze-after-emfile", Points: 10, Read: readTurn, Run: c.noFreeze,
				Sentence: "Workers that ran out of descriptors accept again, without outside help, once there are some."},
		},
	}
}

type checks struct{ f Functions }

// fleet starts n workers with the accept mutex and the student's part A.
func (c *checks) fleet(w *fake.World, n int) *eventtest.Fleet {
	return eventtest.New(w, eventtest.Conf{
		Workers: n,
		Event:   event.EventConf{AcceptMutex: true},
		Change:  func(wk *eventtest.Worker) { c.f.partA(wk.Cycle) },
	})
}

// registered counts the workers whose listener is in their epoll set.
func registered(f *eventtest.Fleet) (n int) {
	for _, wk := range f.Workers {
		if !wk.Dead() && wk.Registered() {
			n++
		}
	}
	return n
}

// mustHold returns the worker that holds the lock. All workers sleep.
func mustHold(f *eventtest.Fleet) *eventtest.Worker {
	h := holder(f)
	if h == nil {
		f.World.Broken("one worker holds the lock while all sleep", "none does: nobody will accept")
	}
	return h
}

// holder returns the worker that the lock word names, or nil.
func holder(f *eventtest.Fleet) *eventtest.Worker {
	pid := int(f.Zone.AcceptMutex.Lock.Load())
	for _, wk := range f.Workers {
		if wk.Pid == pid {
			return wk
		}
	}
	return nil
}

// served reports whether a worker has taken the client's connection and closed
// it.
func served(c *fake.Client) bool {
	c.Read()
	return c.EOF() || c.Reset()
}

// winnerRegistersOnce: three connections, one worker, one epoll_ctl.
func (c *checks) winnerRegistersOnce(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 2)
		w.Settle()
		w.Expect("one worker is registered", registered(f), 1)
		h := mustHold(f)
		w.Expect("the holder of the lock is the one", h.Registered(), true)
		adds := h.Slot.CtlAdds
		for range 3 {
			w.Connect(f.Listener)
			w.Settle()
		}
		w.Expect("turns that win the lock again add nothing", h.Slot.CtlAdds, adds)
		w.Expect("nor do they try: the kernel would refuse", h.Alerts, []string(nil))
		w.Expect("held says that the listeners are registered", h.Cycle.AcceptMutexHeld, true)
	})
}

// loserUnregisters: the holder finds the lock taken at its next try.
func (c *checks) loserUnregisters(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 2)
		w.Settle()
		h := mustHold(f)
		other := f.Workers[0]
		if other == h {
			other = f.Workers[1]
		}
		h.Stop()
		f.Zone.AcceptMutex.Lock.Store(uint64(other.Pid))
		w.Note("scenario", "the other worker takes the lock between two turns of "+h.Name)
		h.Continue()
		h.Interrupt()
		w.Settle()
		w.Expect("the loser's listener is not registered", h.Registered(), false)
		w.Expect("the loser no longer says that it holds the registration", h.Cycle.AcceptMutexHeld, false)
	})
}

// loserDoesNothing: a poll is a try and nothing else.
func (c *checks) loserDoesNothing(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 2)
		w.Settle()
		h := mustHold(f)
		for _, wk := range f.Workers {
			if wk == h {
				continue
			}
			before, tries := wk.Slot.CtlAdds+wk.Slot.CtlDels, wk.Slot.LockTries
			w.Advance(3 * time.Second)
			w.Expect("a loser that polls registers and unregisters nothing", wk.Slot.CtlAdds+wk.Slot.CtlDels, before)
			w.Expect("it polls every accept_mutex_delay, 500 ms, in 3 s", wk.Slot.LockTries-tries, uint64(6))
		}
	})
}

// failedRegistration: the winner's epoll_ctl fails once.
func (c *checks) failedRegistration(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := eventtest.New(w, eventtest.Conf{
			Workers: 2,
			Event:   event.EventConf{AcceptMutex: true},
			Change: func(wk *eventtest.Worker) {
				c.f.partA(wk.Cycle)
				if wk.Cycle.Worker == 0 {
					// The first epoll_ctl registers the eventfd.
					wk.Fail(fake.EpollCtl, 2, syscall.ENOSPC)
				}
			},
		})
		status := []core.Status{}
		trylock := f.Workers[0].Cycle.Actions.TrylockAcceptMutex
		f.Workers[0].Cycle.Actions.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
			s := trylock(cycle)
			status = append(status, s)
			if s == core.Error {
				w.Expect("the lock is not kept after a failed registration",
					int(f.Zone.AcceptMutex.Lock.Load()) == f.Workers[0].Pid, false)
				w.Expect("held is not set after a failed registration", cycle.AcceptMutexHeld, false)
			}
			return s
		}
		w.Settle()
		w.Expect("the failed registration is returned as an error", len(status) > 0 && status[0] == core.Error, true)
		w.Connect(f.Listener)
		w.Settle()
		w.Expect("somebody serves all the same", f.Shares()[0]+f.Shares()[1], 1)
	})
}

// reuseportStays: disabling without all leaves a worker's own socket alone.
func (c *checks) reuseportStays(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 2)
		w.Settle()
		h := mustHold(f)
		h.Cycle.Listening[0].Reuseport = true
		h.Stop()
		f.Zone.AcceptMutex.Lock.Store(1)
		w.Note("scenario", h.Name+"'s listener is its own; another process takes the lock")
		h.Continue()
		h.Interrupt()
		w.Settle()
		w.Expect("a worker's own reuseport socket stays registered", h.Registered(), true)
	})
}

// nobodyAcceptsInVain explores the schedules of two workers and two
// connections.
func (c *checks) nobodyAcceptsInVain(t *lab.T) {
	t.Explore(2, func(w *fake.World) {
		f := c.fleet(w, 2)
		w.Always("nobody accepts in vain", func() string {
			if n := w.Total().AcceptAgain; n > 0 {
				return fmt.Sprintf("%d accept4 found the queue empty", n)
			}
			return ""
		})
		w.Settle()
		w.Connect(f.Listener)
		w.Connect(f.Listener)
		w.Settle()
		w.Expect("both connections are served", f.Shares()[0]+f.Shares()[1], 2)
		w.Advance(2 * time.Second)
		lab.AtMost(w, "at most one is registered when all sleep", registered(f), 1)
	})
}

// oneWakeup counts as the herd tool does.
func (c *checks) oneWakeup(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 8)
		w.Settle()
		for range 5 {
			before := w.Total()
			w.Connect(f.Listener)
			w.Settle()
			w.Expect("a connection wakes one worker of eight", w.Total().Since(before).Wakeups, 1)
		}
		before := w.Total()
		w.Advance(10 * time.Second)
		w.Expect("seven workers poll twice a second", w.Total().Since(before).Wakeups, 7*20)
	})
}

// killedHolder kills the holder at each of its calls in turn.
func (c *checks) killedHolder(t *lab.T) {
	for _, call := range []fake.Call{fake.EpollWait, fake.Accept4, fake.AtomicCmpSet, fake.EpollCtl} {
		t.Step("the worker that holds the lock is killed in %s", call)
		t.Run(func(w *fake.World) {
			f := c.fleet(w, 2)
			w.Settle()
			h := mustHold(f)
			h.KillAt(call, 1)
			w.Connect(f.Listener)
			w.Settle()
			h.Kill()
			f.Reap()
			w.Settle()
			client := w.Connect(f.Listener)
			w.Advance(time.Second)
			w.Expect("the connection after the kill is served", served(client), true)
		})
	}
}

// neverTwo fills the holder: it may not try for the lock any more, and must
// not go on accepting beside its successor.
func (c *checks) neverTwo(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.full(w)
		w.Always("at most one worker is registered while another may accept", func() string {
			for _, wk := range f.Workers {
				if wk.Asleep() && wk.Registered() && holder(f) != nil && holder(f) != wk {
					return wk.Name + " sleeps registered, and " + holder(f).Name + " holds the lock"
				}
			}
			return ""
		})
		for range 40 {
			w.Connect(f.Listener)
			w.Advance(time.Second)
			w.Expect("the other one accepts within a second: it has room", f.Listener.Queued(), 0)
		}
	})
}

// full starts two workers whose connections stay open, with the student's
// turn.
func (c *checks) full(w *fake.World) *eventtest.Fleet {
	return eventtest.New(w, eventtest.Conf{
		Workers:     2,
		Connections: 32,
		Event:       event.EventConf{AcceptMutex: true},
		Change: func(wk *eventtest.Worker) {
			c.f.partB(wk.Cycle)
			for _, ls := range wk.Cycle.Listening {
				ls.Handler = func(*event.Connection) {} // stays open
			}
		},
	})
}

// noFreeze has every worker run out of descriptors, then frees them.
func (c *checks) noFreeze(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := eventtest.New(w, eventtest.Conf{
			Workers: 2,
			Event:   event.EventConf{AcceptMutex: true},
			Change: func(wk *eventtest.Worker) {
				c.f.partB(wk.Cycle)
				wk.Fail(fake.Accept4, 1, sys.EMFILE)
			},
		})
		w.Settle()
		client := w.Connect(f.Listener)
		w.Note("scenario", "each worker's first accept4 fails with EMFILE; after that there are descriptors")
		w.Advance(5 * time.Second)
		w.Expect("the waiting connection is served once there are descriptors", served(client), true)
	})
}
