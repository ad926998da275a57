// Package lab08 holds the checks and the measurement of lab 08: passing
// descriptors.
package lab08

import (
	"fmt"

	"herd/nginxref/core"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/fdpass"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	Dispatch func(d *fdpass.Dispatcher) core.Status
	Receive  func(kernel sys.Kernel, channel int, got func(s int)) core.Status

	// Part B.
	Least   func(d *fdpass.Dispatcher, open func(worker int) int) core.Status
	Restart func(kernel sys.Kernel, masterEnd, workerEnd int) (newMasterEnd, newWorkerEnd int)
}

const (
	readNode  = "chapters/10-fd-passing.md"
	readUnix  = "unix(7), SCM_RIGHTS; src/os/unix/ngx_channel.c 13-92 and 95-193; nginxref/process/ngx_channel.go"
	readLeast = "chapters/10-fd-passing.md, what round robin does not know"
)

// Lab returns lab 08 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 8,
		Name:   "lab08-fdpass",
		Title:  "Passing descriptors",
		Files:  []string{"dispatch.go", "least.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "the-shares-are-exact", Points: 10, Read: readNode, Run: c.exactShares,
				Sentence: "The connections go to the workers in turn: 200 over four workers are 50 each."},
			{Part: "A", Name: "the-master-keeps-no-descriptor", Points: 15, Read: readUnix, Run: c.noLeak,
				Sentence: "The master closes its own descriptor of a connection once it is sent."},
			{Part: "A", Name: "a-dead-worker-is-passed-over", Points: 15, Read: readNode, Run: c.deadWorker,
				Sentence: "If a worker has died, the same connection goes to the next, and the dead one is not asked again."},
			{Part: "A", Name: "a-full-channel-loses-nothing", Points: 15, Read: readNode, Run: c.fullChannel,
				Sentence: "If all channels are full the connection stays pending, and nothing more is accepted until it is sent."},
			{Part: "A", Name: "one-message-one-descriptor", Points: 10, Read: readUnix, Run: c.oneByOne,
				Sentence: "Connections that were sent back to back arrive one by one, none lost and none merged."},
			{Part: "A", Name: "a-message-without-descriptor-is-an-error", Points: 10, Read: readUnix, Run: c.noDescriptor,
				Sentence: "A message without its descriptor, and the end of the channel, are errors, not connections."},
			{Part: "B", Name: "the-least-busy-worker-gets-it", Points: 10, Read: readLeast, Run: c.least,
				Sentence: "A connection goes to the worker with the fewest open connections that can take it; of equal ones, the first."},
			{Part: "B", Name: "a-restart-loses-nothing", Points: 15, Read: readLeast, Run: c.restart,
				Sentence: "Connections that wait in the channel of a worker that dies are served by its successor."},
		},
	}
}

type checks struct{ f Functions }

// cluster is a master and its workers on the deterministic kernel. The master
// runs when the scenario has it dispatch.
type cluster struct {
	w        *fake.World
	f        *Functions
	listener *fake.Listener
	master   *fake.Process
	d        *fdpass.Dispatcher
	ends     []int // the master's copies of the workers' ends, if it keeps them
	workers  []*fake.Process
	served   []int
	clients  []*fake.Client
}

// start starts n workers. Those that are lazy do not look at their channel.
func (c *checks) start(w *fake.World, n int, lazy, keep bool) *cluster {
	cl := &cluster{w: w, f: &c.f, listener: w.Listen(), served: make([]int, n)}
	files := []fake.File{cl.listener}
	for range n {
		a, b := w.Socketpair()
		files = append(files, a, b)
	}
	cl.master = w.Process("master", files...)
	var channels []int
	for i := range n {
		channel, end := cl.master.Fd(files[1+2*i]), cl.master.Fd(files[2+2*i])
		cl.master.SetNonblock(channel, true)
		cl.master.SetNonblock(end, true)
		channels = append(channels, channel)
		cl.ends = append(cl.ends, end)
		cl.workers = append(cl.workers, cl.fork(i, end, lazy))
		if !keep {
			cl.master.Close(end)
		}
	}
	cl.d = fdpass.New(cl.master, cl.master.Fd(cl.listener), channels)
	w.Settle()
	return cl
}

// fork starts worker i on its end of the channel.
func (cl *cluster) fork(i, end int, lazy bool) *fake.Process {
	return cl.master.Fork(fmt.Sprintf("worker %d", i), func(p *fake.Process) {
		if lazy {
			p.Sleep(1 << 60)
		}
		ep, _ := p.EpollCreate()
		p.EpollCtl(ep, sys.EPOLL_CTL_ADD, end, sys.MakeEpollEvent(sys.EPOLLIN, 0))
		list := make([]sys.EpollEvent, 1)
		for {
			p.EpollWait(ep, list, -1)
			status := cl.f.Receive(p, end, func(s int) {
				cl.served[i]++
				p.Close(s)
			})
			if status == core.Error {
				return
			}
		}
	}, end)
}

// connect makes n connections and has the master dispatch each at once.
func (cl *cluster) connect(n int, dispatch func() core.Status) (last core.Status) {
	for range n {
		cl.clients = append(cl.clients, cl.w.Connect(cl.listener))
		cl.master.Do(func() { last = dispatch() })
	}
	return last
}

func (cl *cluster) dispatch() core.Status { return cl.f.Dispatch(cl.d) }

// unserved counts the clients whose connection nobody has closed in order.
func (cl *cluster) unserved() (n int) {
	for _, client := range cl.clients {
		client.Read()
		if !client.EOF() || client.Reset() {
			n++
		}
	}
	return n
}

// exactShares holds CASES A10.
func (c *checks) exactShares(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 4, false, false)
		for range 200 {
			w.Expect("a connection that was passed on is OK", cl.connect(1, cl.dispatch), core.OK)
			w.Settle()
		}
		w.Expect("each worker has a quarter", cl.served, []int{50, 50, 50, 50})
		cl.master.Do(func() { w.Expect("with nobody waiting, Dispatch says so", cl.dispatch(), core.Again) })
	})
}

// noLeak counts the master's descriptors.
func (c *checks) noLeak(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 2, false, false)
		before := cl.master.Open()
		for range 50 {
			cl.connect(1, cl.dispatch)
			w.Settle()
			w.Expect("the master has as many descriptors as before", cl.master.Open(), before)
		}
		w.Expect("every client is served", cl.unserved(), 0)
	})
}

// deadWorker holds CASES D18.
func (c *checks) deadWorker(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 3, false, false)
		cl.workers[0].Kill()
		w.Settle()
		w.Expect("the connection that was the dead worker's is passed on", cl.connect(1, cl.dispatch), core.OK)
		w.Settle()
		w.Expect("the next worker serves it", cl.served, []int{0, 1, 0})
		cl.connect(4, cl.dispatch)
		w.Settle()
		w.Expect("the living workers take turns", cl.served, []int{0, 3, 2})
		w.Expect("the dead worker's channel is given up", cl.d.Channels[0], -1)
		cl.workers[1].Kill()
		cl.workers[2].Kill()
		w.Settle()
		w.Expect("with all workers dead it is an error", cl.connect(1, cl.dispatch), core.Error)
	})
}

// fullChannel holds CASES D22.
func (c *checks) fullChannel(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 2, true, false)
		before := cl.master.Open()
		status, passed := core.OK, 0
		for ; status == core.OK && passed < 10_000; passed++ {
			status = cl.connect(1, cl.dispatch)
		}
		w.Expect("full channels are no error", status, core.Again)
		w.Expect("one connection is the master's", cl.master.Open(), before+1)
		for range 3 {
			w.Connect(cl.listener)
			cl.master.Do(func() { cl.dispatch() })
		}
		w.Expect("no more are accepted while one is pending", cl.listener.Queued(), 3)
		w.Expect("and it is still one", cl.master.Open(), before+1)
	})
}

// oneByOne holds CASES D20: the worker reads when ten have been sent.
func (c *checks) oneByOne(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 1, false, false)
		cl.workers[0].Stop()
		cl.connect(10, cl.dispatch)
		w.Note("scenario", "ten connections wait in the channel")
		cl.workers[0].Continue()
		w.Settle()
		w.Expect("ten connections were received", cl.served, []int{10})
		w.Expect("every client is served", cl.unserved(), 0)
	})
}

// noDescriptor holds CASES D21.
func (c *checks) noDescriptor(t *lab.T) {
	t.Run(func(w *fake.World) {
		a, b := w.Socketpair()
		sender, receiver := w.Process("sender", a), w.Process("receiver", b)
		receiver.SetNonblock(receiver.Fd(b), true)
		receive := func() (status core.Status) {
			receiver.Do(func() {
				status = c.f.Receive(receiver, receiver.Fd(b), func(int) {
					w.Broken("got is called for connections only", "it was called without one")
				})
			})
			return status
		}
		w.Expect("an empty channel is no error", receive(), core.Again)
		sender.Do(func() { sender.Write(sender.Fd(a), []byte("x")) })
		w.Expect("a message without descriptor is an error", receive(), core.Error)
		sender.Do(func() { sender.Close(sender.Fd(a)) })
		w.Expect("the end of the channel is an error", receive(), core.Error)
	})
}

// least gives the workers unequal loads.
func (c *checks) least(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 3, false, false)
		open := []int{4, 2, 2}
		least := func() core.Status {
			return c.f.Least(cl.d, func(worker int) int { return open[worker] })
		}
		for _, want := range []int{1, 2, 1, 2, 0} {
			before := cl.served[want]
			w.Expect("the connection is passed on", cl.connect(1, least), core.OK)
			w.Settle()
			w.Expect(fmt.Sprintf("worker %d, with %v open, gets it", want, open), cl.served[want], before+1)
			open[want]++
		}
		cl.workers[1].Kill()
		w.Settle()
		open = []int{5, 0, 1}
		served := cl.served[2]
		w.Expect("a dead worker is passed over", cl.connect(1, least), core.OK)
		w.Settle()
		w.Expect("the least busy of the living gets it", cl.served[2], served+1)
	})
}

// restart kills a worker that has connections waiting in its channel.
func (c *checks) restart(t *lab.T) {
	t.Run(func(w *fake.World) {
		cl := c.start(w, 1, true, true)
		cl.connect(10, func() core.Status { return cl.d.Dispatch() })
		w.Note("scenario", "ten connections wait in the worker's channel, and it dies")
		cl.workers[0].Kill()
		w.Settle()
		cl.master.Do(func() {
			channel, end := c.f.Restart(cl.master, cl.d.Channels[0], cl.ends[0])
			cl.d.Channels[0], cl.ends[0] = channel, end
		})
		cl.fork(0, cl.ends[0], false)
		w.Settle()
		w.Expect("the successor serves all ten", cl.served, []int{10})
		w.Expect("no client is reset", cl.unserved(), 0)
		cl.connect(1, func() core.Status { return cl.d.Dispatch() })
		w.Settle()
		w.Expect("and those that come later", cl.served, []int{11})
	})
}
