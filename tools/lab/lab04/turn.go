package lab04

import (
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// service is some workers and what their handlers do. An accepted connection
// stays open; the checks say what happens to it and to what its client sends.
type service struct {
	*eventtest.Fleet
	w *fake.World

	// accepted and read are called in the worker's handlers; nil does nothing.
	accepted func(wk *eventtest.Worker, c *event.Connection)
	read     func(wk *eventtest.Worker, c *event.Connection)
	reads    int
}

// start starts two workers with the accept mutex; change puts the student's
// functions into them.
func start(w *fake.World, change func(actions *event.Actions)) *service {
	s := &service{w: w}
	s.Fleet = eventtest.New(w, eventtest.Conf{
		Workers:     2,
		Connections: 256,
		Event:       event.EventConf{AcceptMutex: true},
		Change: func(wk *eventtest.Worker) {
			change(&wk.Cycle.Actions)
			wk.Cycle.Listening[0].Handler = func(c *event.Connection) { s.accept(wk, c) }
		},
	})
	w.Settle()
	return s
}

// partA starts two workers with the student's turn.
func (c *checks) partA(w *fake.World) *service {
	return start(w, func(a *event.Actions) { a.ProcessEventsAndTimers = c.f.Turn })
}

// accept is the handler of an accepted connection.
func (s *service) accept(wk *eventtest.Worker, c *event.Connection) {
	c.Read.Handler = func(*event.Event) {
		var buf [64]byte
		if c.Recv(buf[:]) <= 0 {
			return
		}
		s.reads++
		wk.Note("reads what a client sent")
		if s.read != nil {
			s.read(wk, c)
		}
	}
	wk.Cycle.HandleReadEvent(c.Read)
	if s.accepted != nil {
		s.accepted(wk, c)
	}
}

// has reports whether wk has the accept mutex now.
func (s *service) has(wk *eventtest.Worker) bool {
	return s.Zone.AcceptMutex.Lock.Load() == uint64(wk.Pid)
}

// holder returns the worker that has the accept mutex.
func (s *service) holder() *eventtest.Worker {
	for _, wk := range s.Workers {
		if s.has(wk) {
			return wk
		}
	}
	s.w.Broken("a worker that waits for connections has the lock", "none has")
	return nil
}

// without expects that wk does what without having the lock.
func (s *service) without(wk *eventtest.Worker, what string) {
	if s.has(wk) {
		s.w.Broken(what+" runs after the unlock", wk.Name+" still has the lock")
	}
}

// waits returns how often wk has come back from epoll_wait.
func waits(wk *eventtest.Worker) int {
	return wk.Counts.ReturnsEvents + wk.Counts.ReturnsTimeout + wk.Counts.ReturnsSignal
}

// hold stops wk, lets things happen, and has it find all of them at once.
func (s *service) hold(wk *eventtest.Worker, things func()) {
	wk.Stop()
	things()
	wk.Continue()
	s.w.Settle()
}

// nextTurn is CASES E06: an event that puts itself off, four times.
func (c *checks) nextTurn(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		runs := 0
		s.accepted = func(wk *eventtest.Worker, conn *event.Connection) {
			before, slept := waits(wk), wk.Counts.Sleeps
			conn.Read.Handler = func(ev *event.Event) {
				runs++
				wk.Note("the event that was put off runs")
				w.Expect("the kernel was asked once before it ran", waits(wk)-before, 1)
				w.Expect("the worker did not sleep before it ran", wk.Counts.Sleeps, slept)
				w.Expect("an event of the next turn is Ready, with an unknown number of bytes", ev.Ready && ev.Available == -1, true)
				if before = waits(wk); runs < 5 {
					event.PostEvent(ev, &wk.Cycle.PostedNextEvents)
				}
			}
			event.PostEvent(conn.Read, &wk.Cycle.PostedNextEvents)
		}
		w.Connect(s.Listener)
		w.Settle()
		w.Expect("the event that puts itself off, until it has run five times, did so", runs, 5)
		c.movesAll(w)
	})
}

// movesAll expects that MovePostedNext moves all events, in order, behind those
// that are posted already.
func (c *checks) movesAll(w *fake.World) {
	cycle := event.NewCycle(nil, &core.Log{}, &core.Times{})
	cycle.PostedNextEvents.Init()
	cycle.PostedEvents.Init()
	now, first, second := &event.Event{Log: cycle.Log}, &event.Event{Log: cycle.Log}, &event.Event{Log: cycle.Log}
	event.PostEvent(first, &cycle.PostedNextEvents)
	event.PostEvent(second, &cycle.PostedNextEvents)
	event.PostEvent(now, &cycle.PostedEvents)
	c.f.MovePostedNext(cycle)
	w.Expect("the queue of the next turn is empty after MovePostedNext", cycle.PostedNextEvents.Empty(), true)
	for _, ev := range []*event.Event{now, first, second} {
		head := cycle.PostedEvents.Head()
		w.Expect("what was put off comes after what was posted, in order",
			!cycle.PostedEvents.Empty() && event.EventOfQueue(head) == ev, true)
		event.DeletePostedEvent(ev)
	}
}

func (c *checks) acceptsHoldTheLock(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		clients := w.ConnectN(s.Listener, 2)
		w.Settle()
		s.accepted = func(wk *eventtest.Worker, _ *event.Connection) {
			if !s.has(wk) {
				w.Broken("a worker that accepts has the lock", wk.Name+" has not")
			}
			w.Expect("it has read nothing before", s.reads, 0)
		}
		s.hold(s.holder(), func() {
			clients[0].Send("x")
			clients[1].Send("y")
			w.Connect(s.Listener)
		})
		w.Expect("the third connection is accepted", s.Shares()[0]+s.Shares()[1], 3)
		w.Expect("both clients are served", s.reads, 2)

		s.hold(s.holder(), func() {
			s.Zone.AcceptMutex.Lock.Store(1)
			w.Note("scenario", "another process takes the lock, for good")
		})
		w.Connect(s.Listener)
		w.Settle()
	})
}

// onlyAccepts is CASES B08, with the clients that are there already and with
// timers: counted is what runs under the lock, nothing is timed.
func (c *checks) onlyAccepts(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		started, expired := 0, 0
		s.accepted = func(wk *eventtest.Worker, conn *event.Connection) {
			read := conn.Read.Handler
			conn.Write.Handler = func(ev *event.Event) {
				if ev.Timedout {
					s.without(wk, "a timer's handler")
					expired++
					return
				}
				s.without(wk, "what the accept handler has posted")
				started++
				wk.Cycle.AddTimer(ev, 100)
			}
			event.PostEvent(conn.Write, &wk.Cycle.PostedEvents)
			conn.Read.Handler = func(ev *event.Event) {
				s.without(wk, "a client's handler")
				read(ev)
			}
		}
		clients := w.ConnectN(s.Listener, 3)
		w.Settle()
		s.hold(s.holder(), func() {
			for _, client := range clients {
				client.Send("x")
			}
			w.Connect(s.Listener)
		})
		w.Advance(time.Second)
		w.Expect("four connections were begun, three served, four timers went off",
			[]int{started, s.reads, expired}, []int{4, 3, 4})
	})
}

// lockGoesBack is CASES B19 as the worker itself sees it: a lock that was not
// given back cannot be won again.
func (c *checks) lockGoesBack(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		h := s.holder()
		for range 3 {
			wins := h.Slot.LockWins
			h.Interrupt()
			w.Settle()
			w.Expect("after a turn that accepted nothing the lock can be won again", h.Slot.LockWins, wins+1)
		}
		client := w.Connect(s.Listener)
		w.Settle()
		w.Expect("the next connection is accepted", client.AcceptedBy != nil, true)
		w.Expect("its listener was registered all the while", h.Slot.CtlDels, uint64(0))
	})
}

// doneBeforeTheWait is CASES D27.
func (c *checks) doneBeforeTheWait(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		done := 0
		s.accepted = func(wk *eventtest.Worker, conn *event.Connection) {
			at := 0
			conn.Read.Handler = func(*event.Event) {
				w.Expect("what a timer's handler has posted runs before the next wait", waits(wk), at)
				done++
			}
			conn.Write.Handler = func(*event.Event) {
				at = waits(wk)
				event.PostEvent(conn.Read, &wk.Cycle.PostedEvents)
			}
			wk.Cycle.AddTimer(conn.Write, 100)
		}
		w.Connect(s.Listener)
		w.Advance(time.Second)
		w.Expect("what the timer's handler has posted ran", done, 1)
	})
}

func (c *checks) comesBack(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.partA(w)
		client := w.Connect(s.Listener)
		w.Settle()
		h := s.holder()
		h.Stop()
		s.Zone.AcceptMutex.Lock.Store(1)
		w.Note("scenario", "another process takes the lock, for good")
		h.Continue()
		w.Settle()
		for _, wk := range s.Workers {
			before := wk.Slot.LockTries
			w.Advance(5 * time.Second)
			w.Expect(wk.Name+" tries every 500 ms", wk.Slot.LockTries-before, uint64(10))
		}
		client.Send("x")
		w.Settle()
		w.Expect("its client is served all the same", s.reads, 1)
		s.failedTry(h)
		s.disabled(h)
	})
}

// failedTry expects that h does not wait in a turn whose try has failed.
func (s *service) failedTry(h *eventtest.Worker) {
	tries, at := 0, 0
	trylock := h.Cycle.Actions.TrylockAcceptMutex
	h.Cycle.Actions.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
		if tries++; tries == 1 {
			at = waits(h)
			return core.Error
		}
		s.w.Expect("after a try that failed the worker does not wait", waits(h), at)
		h.Cycle.Actions.TrylockAcceptMutex = trylock
		return trylock(cycle)
	}
	h.Interrupt()
	s.w.Settle()
	s.w.Expect("it tries again", tries, 2)
}

// disabled expects that h does not try for the lock in two turns, and then
// does.
func (s *service) disabled(h *eventtest.Worker) {
	h.Cycle.AcceptDisabled = 2
	s.w.Note("scenario", h.Name+" is crowded: AcceptDisabled is 2")
	for _, tries := range []uint64{0, 0, 1} {
		before := h.Slot.LockTries
		h.Interrupt()
		s.w.Settle()
		s.w.Expect("two turns without a try count AcceptDisabled down", h.Slot.LockTries-before, tries)
	}
}
