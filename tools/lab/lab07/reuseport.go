package lab07

import (
	"fmt"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

type checks struct{ f Functions }

// master returns the cycle of a master that will have so many workers, with a
// listener.
func master(workers int, reuseport bool) (*event.Cycle, *event.Listening) {
	cycle := event.NewCycle(nil, &core.Log{}, &core.Times{})
	cycle.Conf.WorkerProcesses = workers
	ls := &event.Listening{
		Fd: -1, AddrText: "127.0.0.1:8080", Backlog: 511, Reuseport: reuseport,
		Handler: func(*event.Connection) {},
	}
	cycle.Listening = []*event.Listening{ls}
	return cycle, ls
}

// socketForEach is CASES A11 and C04 before anything is opened: each Listening
// becomes a socket.
func (c *checks) socketForEach(t *lab.T) {
	cycle, first := master(4, true)
	t.Step("the listener of 4 workers is cloned")
	c.f.CloneListening(cycle, first)
	t.Expect(len(cycle.Listening) == 4, "4 workers have 4 listening sockets, not %d", len(cycle.Listening))
	t.Expect(cycle.Listening[0] == first, "the first is the one that was configured")
	for i, ls := range cycle.Listening {
		t.Step("socket %d is of worker %d", i, ls.Worker)
		t.Expect(ls.Worker == i, "socket %d is of worker %d", i, i)
		t.Expect(i == 0 || ls != first, "each socket is a Listening of its own")
		t.Expect(ls.Reuseport && ls.AddrText == first.AddrText && ls.Backlog == first.Backlog && ls.Handler != nil,
			"a clone is like the first")
	}
}

func (c *checks) onlyReuseport(t *lab.T) {
	cycle, shared := master(4, false)
	t.Step("a listener without reuseport is given to CloneListening")
	c.f.CloneListening(cycle, shared)
	t.Expect(len(cycle.Listening) == 1, "it is shared by all workers: no clones")

	cycle, first := master(4, true)
	c.f.CloneListening(cycle, first)
	for i := 1; i < len(cycle.Listening) && i < 4; i++ {
		t.Step("clone %d is given to CloneListening", i)
		c.f.CloneListening(cycle, cycle.Listening[i])
		t.Expect(len(cycle.Listening) == 4, "of a clone there are none")
	}
}

// fleet starts n workers, each with a socket of its own, and the student's
// part A.
func (c *checks) fleet(w *fake.World, n int, conf eventtest.Conf) *eventtest.Fleet {
	conf.Workers = n
	conf.Reuseport = true
	conf.Change = func(wk *eventtest.Worker) {
		open := wk.Cycle.Listening
		c.f.partA(wk.Cycle)
		w.Expect("there is a listening socket for each worker", len(wk.Cycle.Listening), n)
		for i, ls := range wk.Cycle.Listening {
			ls.Fd = open[i].Fd
		}
	}
	f := eventtest.New(w, conf)
	w.Settle()
	return f
}

// served counts the clients whose connection a worker has taken and closed.
func served(clients []*fake.Client) (n int) {
	for _, c := range clients {
		if c.Connected() && c.AcceptedBy != nil {
			if c.Read(); c.EOF() {
				n++
			}
		}
	}
	return n
}

func (c *checks) registersItsOwn(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4, eventtest.Conf{})
		for i, wk := range f.Workers {
			for j, ls := range wk.Cycle.Listening {
				registered := ls.Connection != nil && ls.Connection.Read.Active
				w.Expect(fmt.Sprintf("%s has socket %d registered", wk.Name, j), registered, i == j)
				w.Expect(fmt.Sprintf("%s has a connection for socket %d", wk.Name, j), ls.Connection != nil, i == j)
			}
			w.Expect(wk.Name+" uses one slot of its table", wk.Cycle.ConnectionN-wk.Cycle.FreeConnectionN, 1)
		}
		clients := w.ConnectN(f.Listener, 40)
		w.Settle()
		w.Expect("all are served", served(clients), 40)
		w.Expect("each worker has taken what came to its socket", f.Shares(), []int{10, 10, 10, 10})
	})
}

func (c *checks) oneWakeup(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 8, eventtest.Conf{})
		before := w.Total()
		for i := range 16 {
			w.Connect(f.Listener)
			w.Settle()
			w.Expect("a connection wakes one worker of eight", w.Total().Since(before).Wakeups, i+1)
		}
		w.Expect("nobody accepts in vain", w.Total().AcceptAgain, 0)
	})
}

// busyWorker is CASES C09 by counts.
func (c *checks) busyWorker(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4, eventtest.Conf{})
		f.Workers[1].Stop()
		clients := w.ConnectN(f.Listener, 40)
		w.Settle()
		w.Expect("those of the other three workers are served", served(clients), 30)
		f.Workers[1].Continue()
		w.Settle()
		w.Expect("the rest is served when the worker goes on", served(clients), 40)
	})
}

// successor is CASES D35 with the socket for what stays the same.
func (c *checks) successor(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4, eventtest.Conf{})
		f.Workers[2].Kill()
		clients := w.ConnectN(f.Listener, 40)
		w.Settle()
		w.Expect("those of the killed worker's socket wait: the master has it open", served(clients), 30)
		f.Reap()
		w.Settle()
		w.Expect("its successor serves them", served(clients), 40)
	})
}

// mutexNotAsked is CASES B06.
func (c *checks) mutexNotAsked(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4, eventtest.Conf{Event: event.EventConf{AcceptMutex: true}})
		clients := w.ConnectN(f.Listener, 40)
		w.Settle()
		w.Expect("with the mutex on all are served, and nobody waits for a delay", served(clients), 40)
		w.Expect("each worker has taken what came to its socket", f.Shares(), []int{10, 10, 10, 10})
	})
	for _, mutex := range []bool{false, true} {
		t.Run(func(w *fake.World) { c.shared(w, mutex) })
	}
}

// shared has two workers with one listener for both.
func (c *checks) shared(w *fake.World, mutex bool) {
	f := eventtest.New(w, eventtest.Conf{
		Workers: 2,
		Event:   event.EventConf{AcceptMutex: mutex},
		Change:  func(wk *eventtest.Worker) { wk.Cycle.Modules[0] = c.f.eventModule() },
	})
	w.Settle()
	n := 0
	for _, wk := range f.Workers {
		if wk.Registered() {
			n++
		}
	}
	want := map[bool]int{false: 2, true: 1}[mutex]
	w.Expect(fmt.Sprintf("of a shared listener's workers so many are registered, with the mutex: %v", mutex), n, want)
	clients := w.ConnectN(f.Listener, 3)
	w.Settle()
	w.Expect("a shared listener's clients are served", served(clients), 3)
}

func (c *checks) noSlot(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := eventtest.New(w, eventtest.Conf{
			Workers: 2, Reuseport: true,
			Change: func(wk *eventtest.Worker) {
				wk.Cycle.Modules[0] = c.f.eventModule()
				if wk.Cycle.Worker == 0 {
					wk.Cycle.ConnectionN = 0
				} else {
					wk.Fail(fake.EpollCtl, 2, sys.Errno(28)) // the first is the eventfd's
				}
			},
		})
		w.Settle()
		w.Expect("a worker without a slot for its listener ends with code 2", f.Workers[0].Status, fake.Status{Code: 2})
		w.Expect("so does one that cannot register it", f.Workers[1].Status, fake.Status{Code: 2})
	})
}
