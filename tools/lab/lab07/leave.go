package lab07

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// staff is a fleet whose workers do, at the end of a turn, what they have been
// told. Part A is the reference's: the parts do not depend on each other. Every
// worker has inherited all sockets, as nginx's have.
type staff struct {
	*eventtest.Fleet
	f      *Functions
	w      *fake.World
	leaves map[int]bool  // workers that are told to leave
	adopts map[int][]int // whose sockets a worker is told to adopt
	reads  int           // how often a worker has read something
}

// hire starts n workers.
func (c *checks) hire(w *fake.World, n int) *staff {
	s := &staff{f: &c.f, w: w, leaves: map[int]bool{}, adopts: map[int][]int{}}
	s.Fleet = eventtest.New(w, eventtest.Conf{
		Workers:   n,
		Reuseport: true,
		Change: func(wk *eventtest.Worker) {
			wk.Cycle.Actions.ProcessEventsAndTimers = func(cycle *event.Cycle) {
				cycle.ProcessEventsAndTimers()
				s.obey(cycle)
			}
		},
	})
	w.Settle()
	return s
}

// obey does what the worker of cycle was told.
func (s *staff) obey(cycle *event.Cycle) {
	me := cycle.Worker
	for _, worker := range s.adopts[me] {
		s.w.Expect("Adopt returns core.OK", s.f.Adopt(cycle, worker), core.OK)
	}
	delete(s.adopts, me)
	if s.leaves[me] {
		delete(s.leaves, me)
		s.f.Leave(cycle)
	}
}

// shrink has some workers leave and the first adopt their sockets. The master,
// which has begun to run with fewer workers, has closed those already.
func (s *staff) shrink(leaving ...int) {
	s.Master.Do(func() {
		for _, i := range leaving {
			s.Master.Close(s.Master.Fd(s.Listeners[i]))
		}
	})
	s.w.Note("scenario", "the master tells workers to leave, and worker 1 to adopt their sockets")
	s.adopts[0] = leaving
	for _, i := range leaving {
		s.leaves[i] = true
	}
	for _, wk := range s.Workers {
		wk.Interrupt()
	}
}

func (c *checks) queuedIsServed(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.hire(w, 4)
		for _, wk := range s.Workers {
			wk.Stop()
		}
		clients := w.ConnectN(s.Listener, 40)
		s.shrink(1, 2, 3)
		for _, wk := range s.Workers {
			wk.Continue()
		}
		w.Settle()
		w.Expect("of 40 that waited in 4 queues all are served", served(clients), 40)
		clients = w.ConnectN(s.Listener, 40)
		w.Settle()
		w.Expect("and 40 that come after the workers have left", served(clients), 40)
	})
}

// comesMeanwhile has all clients come to the socket of the worker that leaves.
func (c *checks) comesMeanwhile(t *lab.T) {
	t.Explore(2, func(w *fake.World) {
		w.Hash = func(int) uint32 { return 1 << 31 }
		s := c.hire(w, 2)
		clients := w.ConnectN(s.Listener, 1)
		s.shrink(1)
		w.Start("clients", func(*fake.Process) {
			for range 2 {
				clients = append(clients, w.Connect(s.Listener))
			}
		})
		w.Settle()
		w.Expect("three clients are served", served(clients), 3)
		w.Expect("each once", s.Shares()[0]+s.Shares()[1], 3)
	})
}

// stay keeps a client's connection and reads what it sends.
func (s *staff) stay(c *event.Connection) {
	c.Read.Handler = func(*event.Event) {
		var buf [64]byte
		if c.Recv(buf[:]) > 0 {
			s.reads++
		}
	}
	c.Cycle.HandleReadEvent(c.Read)
}

func (c *checks) leftSleeps(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.hire(w, 2)
		leaver := s.Workers[1]
		for _, ls := range leaver.Cycle.Listening {
			ls.Handler = s.stay
		}
		clients := w.ConnectN(s.Listener, 2)
		w.Settle()
		s.shrink(1)
		w.Settle()
		for _, l := range s.Listeners {
			w.Expect("who has left has no descriptor of "+l.Name, leaver.Fd(l), -1)
		}
		before := leaver.Counts
		w.ConnectN(s.Listener, 10)
		w.Settle()
		w.Expect("connections do not wake who has left", leaver.Counts.Since(before).Wakeups, 0)
		clients[1].Send("x")
		w.Settle()
		w.Expect("its client is served on", s.reads, 1)
	})
}

func (c *checks) adoptsOnce(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := c.hire(w, 3)
		s.shrink(1)
		w.Settle()
		s.adopts[0] = []int{1}
		s.Workers[0].Interrupt()
		w.Settle()
		one := s.Workers[0]
		w.Expect("worker 1 uses two slots of its table, for two sockets", one.Cycle.ConnectionN-one.Cycle.FreeConnectionN, 2)
		w.Expect("nothing was logged: the kernel had nothing to refuse", one.Alerts, []string(nil))
		for range 6 {
			before := w.Total()
			w.Connect(s.Listener)
			w.Settle()
			w.Expect("a connection wakes one worker", w.Total().Since(before).Wakeups, 1)
		}
		w.Expect("two of three sockets are worker 1's", s.Shares(), []int{4, 0, 2})
	})
}
