package fdpass_test

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys/fake"
	"herd/tools/fdpass"
)

// cluster is a master and its workers on the deterministic kernel.
type cluster struct {
	w        *fake.World
	listener *fake.Listener
	master   *fake.Process
	d        *fdpass.Dispatcher
	workers  []*fake.Process
	served   []int
}

// newCluster starts n workers that receive and close, unless idle is set.
func newCluster(w *fake.World, n int, idle bool) *cluster {
	c := &cluster{w: w, listener: w.Listen(), served: make([]int, n)}
	var ends []fake.File
	files := []fake.File{c.listener}
	for range n {
		a, b := w.Socketpair()
		files = append(files, a)
		ends = append(ends, b)
	}
	c.master = w.Process("master", files...)
	var channels []int
	for i := range n {
		fd := c.master.Fd(files[1+i])
		c.master.SetNonblock(fd, true)
		channels = append(channels, fd)
	}
	c.d = fdpass.New(c.master, c.master.Fd(c.listener), channels)
	for i, end := range ends {
		main := func(p *fake.Process) {
			if idle {
				p.Sleep(1 << 60)
			}
			p.SetNonblock(p.Fd(end), false) // no loop here: it sleeps in recvmsg
			fdpass.Receive(p, p.Fd(end), func(s int) {
				c.served[i]++
				p.Close(s)
			})
		}
		c.workers = append(c.workers, w.Start("worker", main, end))
	}
	return c
}

// dispatch has the master pass on n connections.
func (c *cluster) dispatch(n int) (last core.Status) {
	for range n {
		c.w.Connect(c.listener)
		c.master.Do(func() { last = c.d.Dispatch() })
		c.w.Settle()
	}
	return last
}

// CASES A10: round robin is exact.
func TestSharesAreExact(t *testing.T) {
	fake.Run(func(w *fake.World) {
		c := newCluster(w, 4, false)
		w.Settle()
		c.dispatch(200)
		w.Expect("each of four workers serves a quarter of 200", c.served, []int{50, 50, 50, 50})
	}, fake.Options{}).Check(t)
}

// The leak that Node once had: the master's own descriptor of a connection.
func TestMasterKeepsNoDescriptor(t *testing.T) {
	fake.Run(func(w *fake.World) {
		c := newCluster(w, 2, false)
		w.Settle()
		before := c.master.Open()
		c.dispatch(1000)
		w.Expect("the master has no more descriptors than before", c.master.Open(), before)
	}, fake.Options{}).Check(t)
}

// CASES D18: a worker dies, and the next connection is meant for it.
func TestDeadWorkerIsPassedOver(t *testing.T) {
	fake.Run(func(w *fake.World) {
		c := newCluster(w, 2, false)
		w.Settle()
		c.workers[0].Kill()
		w.Settle()
		w.Expect("the connection goes to the living worker", c.dispatch(1), core.OK)
		w.Expect("the living worker serves it", c.served, []int{0, 1})
		c.workers[1].Kill()
		w.Settle()
		w.Expect("without workers there is an error", c.dispatch(1), core.Error)
	}, fake.Options{}).Check(t)
}

// CASES D22: workers that do not read fill their channels; what waits is in
// the listener's queue, and the master owns one descriptor at the most.
func TestFullChannelsHoldTheRestBack(t *testing.T) {
	fake.Run(func(w *fake.World) {
		c := newCluster(w, 2, true)
		w.Settle()
		before := c.master.Open()
		status := core.OK
		for i := 0; status == core.OK && i < 100_000; i++ {
			w.Connect(c.listener)
			c.master.Do(func() { status = c.d.Dispatch() })
		}
		w.Expect("a full channel is not an error", status, core.Again)
		w.Expect("one connection is pending", c.master.Open(), before+1)
		for _, p := range c.workers {
			p.Kill()
		}
		w.Settle()
		c.master.Do(func() { c.d.Dispatch() })
		w.Expect("nothing is kept when the workers are gone", c.master.Open() < before, true)
	}, fake.Options{}).Check(t)
}

// CASES D21: a message whose descriptor was cut off is an error, not a
// connection without one.
func TestMessageWithoutDescriptorIsAnError(t *testing.T) {
	fake.Run(func(w *fake.World) {
		a, b := w.Socketpair()
		sender := w.Process("sender", a)
		receiver := w.Process("receiver", b)
		var status core.Status
		sender.Do(func() { sender.Write(sender.Fd(a), []byte("c")) })
		receiver.SetNonblock(receiver.Fd(b), true)
		receiver.Do(func() {
			status = fdpass.Receive(receiver, receiver.Fd(b), func(int) { w.Broken("got must not be called", "") })
		})
		w.Expect("bytes without a descriptor are an error", status, core.Error)
		sender.Do(func() { sender.Close(sender.Fd(a)) })
		receiver.Do(func() { status = fdpass.Receive(receiver, receiver.Fd(b), func(int) {}) })
		w.Expect("so is the end", status, core.Error)
	}, fake.Options{}).Check(t)
}
