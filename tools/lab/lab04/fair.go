package lab04

import (
	"time"

	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// accepting starts two workers that accept as the student's part B does.
func (c *checks) accepting(w *fake.World) *service {
	return start(w, func(a *event.Actions) { a.Accept = c.f.FairAccept })
}

// burstStarvesNobody is CASES E08, in counts: not how long the others wait, but
// for how many.
func (c *checks) burstStarvesNobody(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.accepting(w)
		clients := w.ConnectN(s.Listener, 4)
		w.Settle()
		s.read = func(wk *eventtest.Worker, _ *event.Connection) {
			lab.AtMost(w, "at most Batch, 16, new connections come before a client that waits", int(wk.Slot.Accepted)-4, Batch)
		}
		s.hold(s.holder(), func() {
			w.ConnectN(s.Listener, 6*Batch)
			for _, client := range clients {
				client.Send("x")
			}
		})
		w.Expect("the clients are served", s.reads, 4)
		w.Expect("and the burst is accepted", s.Shares()[0]+s.Shares()[1], 4+6*Batch)
	})
}

func (c *checks) fewTurns(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.accepting(w)
		before := w.Total()
		s.hold(s.holder(), func() { w.ConnectN(s.Listener, 6*Batch) })
		d := w.Total().Since(before)
		w.Expect("the burst is accepted", d.Accepted, 6*Batch)
		lab.AtMost(w, "in one return of epoll_wait for each Batch, of which there are 6, and one more at most", d.ReturnsEvents, 6+1)
	})
}

func (c *checks) failedAccept(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.accepting(w)
		w.Connect(s.Listener)
		w.Settle()
		lab.AtMost(w, "a connection that comes alone costs one EAGAIN at most", w.Total().AcceptAgain, 1)

		before := w.Total()
		s.hold(s.holder(), func() {
			s.holder().Fail(fake.Accept4, 2, sys.EMFILE)
			w.ConnectN(s.Listener, 5)
		})
		d := w.Total().Since(before)
		w.Expect("of five, one is accepted before EMFILE and none after it", []int{d.Accepted, d.AcceptMfile}, []int{1, 1})
	})
}

// restless has the first client's connection post itself so often, or until
// the check has seen enough, and calls each on every run.
func (s *service) restless(times int, each func(wk *eventtest.Worker, run int)) (runs *int) {
	runs = new(int)
	s.accepted = func(wk *eventtest.Worker, c *event.Connection) {
		s.accepted = nil
		c.Read.Handler = func(ev *event.Event) {
			*runs++
			each(wk, *runs)
			if *runs < times {
				event.PostEvent(ev, &wk.Cycle.PostedEvents)
			}
		}
		event.PostEvent(c.Read, &wk.Cycle.PostedEvents)
	}
	return runs
}

// letsOthersRun is CASES E07 with a handler that never has enough.
func (c *checks) letsOthersRun(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, func(a *event.Actions) { a.ProcessEventsAndTimers = c.f.FairTurn })
		var client *fake.Client
		sent, served := 10, 0
		runs := s.restless(200, func(_ *eventtest.Worker, run int) {
			if run == sent {
				client.Send("x")
			}
			w.Expect("another client waits for two runs at most", served == 0 && run > sent+2, false)
		})
		s.read = func(*eventtest.Worker, *event.Connection) { served = *runs }
		s.hold(s.holder(), func() {
			w.Connect(s.Listener)
			client = w.Connect(s.Listener)
		})
		w.Expect("the handler has run as often as it wanted", *runs, 200)
	})
}

func (c *checks) notSleptOn(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, func(a *event.Actions) { a.ProcessEventsAndTimers = c.f.FairTurn })
		var at, slept int
		runs := s.restless(20, func(wk *eventtest.Worker, run int) {
			if run > 1 {
				w.Expect("the kernel is asked once between two runs", waits(wk)-at, 1)
				w.Expect("the worker does not sleep between two runs", wk.Counts.Sleeps, slept)
			}
			at, slept = waits(wk), wk.Counts.Sleeps
		})
		w.Connect(s.Listener)
		w.Settle()
		w.Expect("the handler has run as often as it wanted", *runs, 20)

		var ran time.Duration
		s.accepted = func(wk *eventtest.Worker, conn *event.Connection) {
			conn.Read.Handler = func(*event.Event) { ran = w.Now() }
			conn.Write.Handler = func(*event.Event) { event.PostEvent(conn.Read, &wk.Cycle.PostedEvents) }
			wk.Cycle.AddTimer(conn.Write, 100)
		}
		due := w.Now() + 100*time.Millisecond
		w.Connect(s.Listener)
		w.Advance(time.Second)
		w.Expect("what a timer's handler has posted runs at once", ran, due)
	})
}
