// Package lab00 holds the checks and the measurement of lab 00, the herd.
package lab00

import (
	"fmt"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// Loop is the life of a worker: it takes connections off listener's queue and
// has each of them served, for ever.
type Loop func(k sys.Kernel, listener int, serve func(conn int))

// Tally is what a worker has counted of its own life.
type Tally struct {
	Wakeups int // how often it was woken
	Returns int // how often epoll_wait returned to it with an event
	Silent  int // how often it was woken, found nothing and slept again
	Eagain  int // how often it accepted in vain
}

func (t Tally) String() string {
	return fmt.Sprintf("%d wakeups, %d returns, %d silent, %d EAGAIN", t.Wakeups, t.Returns, t.Silent, t.Eagain)
}

// Functions are what the student writes.
type Functions struct {
	LevelTriggered Loop
	EdgeTriggered  Loop
	Blocking       Loop

	// Part B.
	Counted func(k sys.Kernel, listener int, serve func(conn int), t *Tally)
}

const (
	readHerd   = "chapters/04-herd.md"
	readEpoll  = "chapters/02-readiness.md, epoll(7): level-triggered and edge-triggered"
	readAccept = "accept(2), nginxref/event/ngx_event_accept.go EventAccept and acceptFailed"
	readCount  = "chapters/13-measuring.md, nginxref/stat/kernel.go EpollWait"
)

// Lab returns lab 00 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 0,
		Name:   "lab00-herd",
		Title:  "The herd",
		Files:  []string{"herd.go", "count.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "level-serves-every-connection", Points: 15, Read: readEpoll, Run: c.levelServes,
				Sentence: "The level-triggered worker serves every connection, and goes on after a call that failed."},
			{Part: "A", Name: "level-takes-one-a-turn", Points: 10, Read: readEpoll, Run: c.levelTakesOne,
				Sentence: "It accepts once for each return of `EpollWait`: what it leaves in the queue, it or another worker is told of again."},
			{Part: "A", Name: "level-wakes-all", Points: 10, Read: readHerd, Run: c.levelWakesAll,
				Sentence: "Each connection wakes all sleeping level-triggered workers, and all but one of them in vain."},
			{Part: "A", Name: "edge-serves-every-connection", Points: 10, Read: readEpoll, Run: c.edgeServes,
				Sentence: "The edge-triggered worker serves every connection, also of several that come at once: only EAGAIN tells it that the queue is empty."},
			{Part: "A", Name: "edge-is-told-once", Points: 10, Read: readEpoll, Run: c.edgeToldOnce,
				Sentence: "It is registered with `sys.EPOLLIN|sys.EPOLLET`, and pays one EAGAIN for each return of `EpollWait`."},
			{Part: "A", Name: "edge-wakes-all", Points: 10, Read: readHerd, Run: c.edgeWakesAll,
				Sentence: "Each connection wakes all sleeping edge-triggered workers too."},
			{Part: "A", Name: "blocking-serves-every-connection", Points: 5, Read: readAccept, Run: c.blockingServes,
				Sentence: "The blocking worker serves every connection, and goes on after a call that failed."},
			{Part: "A", Name: "blocking-wakes-one", Points: 10, Read: readHerd, Run: c.blockingWakesOne,
				Sentence: "Each connection wakes one blocking worker, and they take turns: 200 connections to 8 workers are 25 each."},
			{Part: "B", Name: "no-wakeup-is-missed", Points: 10, Read: readCount, Run: c.countsWakeups,
				Sentence: "`Wakeups` counts every wakeup of the worker, also those that did not make `EpollWait` return."},
			{Part: "B", Name: "silent-ones-are-told-apart", Points: 10, Read: readCount, Run: c.countsAll,
				Sentence: "However the workers are scheduled, `Returns`, `Silent` and `Eagain` are what the kernel counts: a return without a sleep is no wakeup, a signal is no event, and only EAGAIN is an accept in vain."},
		},
	}
}

type checks struct{ f Functions }

// worker is a process that runs a student's loop.
type worker struct {
	*fake.Process
	bits   uint32 // that it registered the listener with
	served int
	tally  Tally // part B: what it says of itself
}

// EpollCtl notes what the kernel is asked to watch for.
func (wk *worker) EpollCtl(ep, op, fd int, ev sys.EpollEvent) sys.Errno {
	wk.bits = ev.Events
	return wk.Process.EpollCtl(ep, op, fd, ev)
}

func (wk *worker) serve(conn int) {
	if _, err := wk.Send(conn, []byte("hello\n")); err != 0 {
		wk.World().Broken("serve gets a connection", fmt.Sprintf("%s serves %d, which is none: its accept4 has failed", wk.Name, conn))
	}
	wk.Close(conn)
	wk.served++
}

// fleet is some workers on one listener.
type fleet struct {
	w       *fake.World
	s0      *fake.Listener
	workers []*worker
}

// start starts n workers and lets them fall asleep.
func start(w *fake.World, s0 *fake.Listener, n int, loop Loop) *fleet {
	f := &fleet{w: w, s0: s0}
	for i := range n {
		wk := &worker{}
		wk.Process = w.Start(fmt.Sprintf("worker %d", i+1), func(*fake.Process) {
			loop(wk, wk.Fd(s0), wk.serve)
		}, s0)
		f.workers = append(f.workers, wk)
	}
	w.Settle()
	return f
}

func (f *fleet) served() (n int) {
	for _, wk := range f.workers {
		n += wk.served
	}
	return n
}

// connect makes n connections at once and expects them to be served.
func (f *fleet) connect(n int) {
	want := f.served() + n
	f.w.ConnectN(f.s0, n)
	f.w.Settle()
	rule := "1 connection is served"
	if n > 1 {
		rule = fmt.Sprintf("%d connections are served", n)
	}
	f.w.Expect(rule, f.served()-want+n, n)
}

// serves is what every loop must do.
func (f *fleet) serves() {
	f.connect(1)
	f.connect(5)
	for _, wk := range f.workers {
		wk.Interrupt() // the wait ends with EINTR
	}
	f.connect(1)
	f.w.Note("scenario", "the next accept4 of each worker fails with ECONNABORTED: a client has gone away")
	for _, wk := range f.workers {
		wk.Fail(fake.Accept4, 1, sys.ECONNABORTED)
	}
	f.connect(2)
	for _, wk := range f.workers {
		f.w.Expect(wk.Name+" goes on for ever", wk.Dead(), false)
	}
}

// wakes makes five connections, one after the other, and expects each to wake
// so many workers.
func (f *fleet) wakes(rule string, n int) {
	for range 5 {
		before := f.w.Total()
		f.connect(1)
		f.w.Expect(rule, f.w.Total().Since(before).Wakeups, n)
	}
}

func (c *checks) levelServes(t *lab.T) {
	t.Run(func(w *fake.World) {
		start(w, w.Listen(), 2, c.f.LevelTriggered).serves()
	})
}

func (c *checks) levelTakesOne(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := start(w, w.Listen(), 1, c.f.LevelTriggered)
		f.connect(3)
		w.Expect("three connections are three returns of epoll_wait", w.Total().ReturnsEvents, 3)
		w.Expect("no accept4 finds the queue empty: no other worker is there", w.Total().AcceptAgain, 0)
	})
}

func (c *checks) levelWakesAll(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := start(w, w.Listen(), 8, c.f.LevelTriggered)
		f.wakes("a connection wakes all 8", 8)
		w.Expect("7 of 8 sleep again without having returned, 5 times", w.Total().Silent, 5*7)
	})
}

func (c *checks) edgeServes(t *lab.T) {
	t.Run(func(w *fake.World) {
		start(w, w.Listen(), 2, c.f.EdgeTriggered).serves()
	})
}

func (c *checks) edgeToldOnce(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := start(w, w.Listen(), 1, c.f.EdgeTriggered)
		w.Expect("the listener is registered edge-triggered", f.workers[0].bits&sys.EPOLLET != 0, true)
		f.connect(3)
		f.connect(1)
		w.Expect("three connections at once and one are two returns", w.Total().ReturnsEvents, 2)
		w.Expect("each return ends with one EAGAIN", w.Total().AcceptAgain, 2)
	})
}

func (c *checks) edgeWakesAll(t *lab.T) {
	t.Run(func(w *fake.World) {
		start(w, w.Listen(), 8, c.f.EdgeTriggered).wakes("a connection wakes all 8", 8)
	})
}

func (c *checks) blockingServes(t *lab.T) {
	t.Run(func(w *fake.World) {
		start(w, w.Listen().Blocking(), 2, c.f.Blocking).serves()
	})
}

func (c *checks) blockingWakesOne(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := start(w, w.Listen().Blocking(), 8, c.f.Blocking)
		for range 200 {
			before := w.Total()
			f.connect(1)
			w.Expect("a connection wakes one of 8", w.Total().Since(before).Wakeups, 1)
		}
		for _, wk := range f.workers {
			w.Expect(wk.Name+" has its eighth of 200", wk.served, 25)
		}
	})
}

// counted starts n workers that count.
func (c *checks) counted(w *fake.World, n int) *fleet {
	return start(w, w.Listen(), n, func(k sys.Kernel, listener int, serve func(conn int)) {
		c.f.Counted(k, listener, serve, &k.(*worker).tally)
	})
}

// wake ends the wait of every worker: only then does it learn how often it was
// woken in it.
func (f *fleet) wake() {
	for _, wk := range f.workers {
		wk.Interrupt()
	}
	f.w.Settle()
}

// countsWakeups compares after one connection, which makes a short story, and
// after ten.
func (c *checks) countsWakeups(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.counted(w, 4)
		conns, signals := 0, 0
		for _, n := range []int{1, 9} {
			for range n {
				f.connect(1)
			}
			f.wake()
			conns, signals = conns+n, signals+1
			sum := 0
			for _, wk := range f.workers {
				sum += wk.tally.Wakeups
			}
			rule := fmt.Sprintf("each of 4 workers is woken by each connection and each signal: %d and %d so far", conns, signals)
			w.Expect(rule, sum, 4*(conns+signals))
		}
	})
}

// countsAll compares each worker's tally with the kernel's account of it.
func (c *checks) countsAll(t *lab.T) {
	t.Explore(1, func(w *fake.World) {
		f := c.counted(w, 3)
		f.workers[0].Fail(fake.Accept4, 1, sys.ECONNABORTED)
		f.connect(1)
		f.connect(3)
		f.wake()
		for _, wk := range f.workers {
			k := wk.Counts
			w.Expect(wk.Name+" counts what the kernel counts", wk.tally,
				Tally{Wakeups: k.Wakeups, Returns: k.ReturnsEvents, Silent: k.Silent, Eagain: k.AcceptAgain})
		}
	})
}
