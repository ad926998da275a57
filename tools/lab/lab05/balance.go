package lab05

import (
	"slices"
	"time"

	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

type checks struct{ f Functions }

// service is some workers whose connections stay open until the client leaves,
// and those clients.
type service struct {
	*eventtest.Fleet
	w       *fake.World
	clients []*fake.Client
	reads   int // how often a worker has read something
}

// start starts workers with a table of so many connections, one of which the
// listener takes. change puts the student's functions into them.
func start(w *fake.World, workers, connections int, change func(*event.Cycle)) *service {
	s := &service{w: w}
	s.Fleet = eventtest.New(w, eventtest.Conf{
		Workers:     workers,
		Connections: connections,
		Event:       event.EventConf{AcceptMutex: true},
		Change: func(wk *eventtest.Worker) {
			change(wk.Cycle)
			wk.Cycle.Listening[0].Handler = s.accept
		},
	})
	w.Settle()
	return s
}

// accept is the handler of an accepted connection.
func (s *service) accept(c *event.Connection) {
	cycle := c.Cycle
	c.Read.Handler = func(*event.Event) {
		var buf [64]byte
		if c.Recv(buf[:]) > 0 {
			s.reads++
			return
		}
		cycle.CloseConnection(c)
	}
	cycle.HandleReadEvent(c.Read)
}

// connect makes n connections, one every gap.
func (s *service) connect(n int, gap time.Duration) {
	for range n {
		s.clients = append(s.clients, s.w.Connect(s.Listener))
		s.w.Advance(gap)
	}
}

// refused counts the clients whose connection a worker has closed.
func (s *service) refused() (n int) {
	for _, c := range s.clients {
		if c.Read(); c.EOF() || c.Reset() {
			n++
		}
	}
	return n
}

// accepted counts the connections that were taken off the queue.
func (s *service) accepted() (n int) {
	for _, share := range s.Shares() {
		n += share
	}
	return n
}

// eighth is a table: connections, free, and what Disabled makes of them.
func (c *checks) eighth(t *lab.T) {
	for _, x := range []struct{ connections, free, want int }{
		{512, 512, -448}, {512, 65, -1}, {512, 64, 0}, {512, 63, 1}, {512, 0, 64},
		{100, 12, 0}, {100, 11, 1}, {100, 0, 12}, {16, 2, 0}, {16, 1, 1}, {7, 0, 0},
	} {
		got := c.f.Disabled(x.connections, x.free)
		t.Step("%d of %d connections are free: Disabled says %d", x.free, x.connections, got)
		t.Expect(got == x.want, "%d/8 - %d is %d", x.connections, x.free, x.want)
	}
}

// crowd makes the first worker crowded for so many turns.
func (s *service) crowd(turns int) *eventtest.Worker {
	h := s.Workers[0]
	h.Cycle.AcceptDisabled = turns
	s.w.Note("scenario", h.Name+" is crowded: AcceptDisabled is set")
	return h
}

func (c *checks) doesNotTry(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 2, 32, c.f.partA)
		h := s.crowd(3)
		for _, want := range []struct {
			tries    uint64
			disabled int
		}{{0, 2}, {0, 1}, {0, 0}, {1, 0}, {1, 0}} {
			before := h.Slot.LockTries
			h.Interrupt()
			w.Settle()
			w.Expect("three turns do not try for the lock, and the next ones do", h.Slot.LockTries-before, want.tries)
			w.Expect("each turn that does not try takes 1 off AcceptDisabled", h.Cycle.AcceptDisabled, want.disabled)
		}
	})
}

func (c *checks) servesItsClients(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 2, 32, c.f.partA)
		s.connect(1, 0)
		s.crowd(3)
		s.clients[0].Send("x")
		w.Settle()
		s.clients[0].Send("y")
		w.Settle()
		w.Expect("what the client has sent is read", s.reads, 2)
	})
}

// sevenEighths: 28 of 32, and the accept that finds three slots free.
func (c *checks) sevenEighths(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 4, 32, c.f.partA)
		s.connect(64, 600*time.Millisecond)
		lab.AtMost(w, "no worker takes more than seven eighths of its table and two, 30", slices.Max(s.Shares()), 28+2)
		w.Expect("all are accepted", s.accepted(), 64)
		w.Expect("nobody is refused", s.refused(), 0)
	})
}

func (c *checks) withRoom(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 8, 32, c.f.partA)
		for range 5 {
			before := w.Total()
			s.connect(1, 0)
			w.Expect("a connection wakes one worker of eight", w.Total().Since(before).Wakeups, 1)
		}
		before := w.Total()
		w.Advance(10 * time.Second)
		w.Expect("seven workers try twice a second", w.Total().Since(before).Wakeups, 7*20)
	})
}
