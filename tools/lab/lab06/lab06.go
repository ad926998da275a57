// Package lab06 holds the checks and the measurement of lab 06, exclusive
// wakeups.
package lab06

import (
	"fmt"
	"slices"
	"time"

	"herd/nginxref/event"
	"herd/nginxref/event/eventtest"
	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	AddExclusive        func(k sys.Kernel, ep, fd int, data uint64) sys.Errno
	MoveToEnd           func(k sys.Kernel, ep, fd int, data uint64) sys.Errno
	ReorderAcceptEvents func(cycle *event.Cycle, ls *event.Listening)

	// Part B.
	Accept event.Handler
}

const (
	readFlag    = "epoll_ctl(2) EPOLLEXCLUSIVE, src/event/modules/ngx_epoll_module.c 614-618, nginxref/event/ngx_epoll_module.go AddEvent"
	readReorder = "src/event/ngx_event_accept.c 433-476, nginxref/event/ngx_event_accept.go ReorderAcceptEvents, chapters/09-exclusive-reuseport.md"
	readAccept  = "src/event/ngx_event_accept.c 58-132 and 319-322, nginxref/event/ngx_event_accept.go EventAccept, chapters/14-what-is-still-wrong.md"
)

// Lab returns lab 06 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 6,
		Name:   "lab06-exclusive",
		Title:  "Exclusive wakeups",
		Files:  []string{"exclusive.go", "accept.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "a-connection-wakes-the-first", Points: 10, Read: readFlag, Run: c.wakesTheFirst,
				Sentence: "A connection wakes one worker of those that `AddExclusive` registered, the first that is asleep, and of several none is left in the queue."},
			{Part: "A", Name: "moved-is-last", Points: 10, Read: readFlag, Run: c.movedIsLast,
				Sentence: "After `MoveToEnd` a worker is woken last."},
			{Part: "A", Name: "the-kernel-may-refuse", Points: 10, Read: readFlag, Run: c.kernelRefuses,
				Sentence: "Both return the kernel's error, and what is not deleted is not added."},
			{Part: "A", Name: "one-wakeup-a-connection", Points: 10, Read: readReorder, Run: c.oneWakeup,
				Sentence: "Each connection wakes one worker, and nobody accepts in vain."},
			{Part: "A", Name: "workers-take-turns", Points: 15, Read: readReorder, Run: c.takeTurns,
				Sentence: "A worker moves to the end after the first connection that it accepts and after every 16th from there: 200 connections to 4 workers are 53, 49, 49 and 49."},
			{Part: "A", Name: "and-not-more-often", Points: 10, Read: readReorder, Run: c.notMoreOften,
				Sentence: "Between these it makes no call."},
			{Part: "A", Name: "a-full-worker-goes-last", Points: 10, Read: readReorder, Run: c.fullGoesLast,
				Sentence: "A worker that is nearly full (`cycle.AcceptDisabled > 0`) moves to the end after each accept."},
			{Part: "A", Name: "others-are-left-alone", Points: 5, Read: readReorder, Run: c.othersStay,
				Sentence: "A reuseport listener, which is this worker's own, does not move, nor does any if `cycle.UseExclusiveAccept` is not set."},
			{Part: "B", Name: "multi-accept-is-no-defeat", Points: 8, Read: readAccept, Run: c.fairMulti,
				Sentence: "With `multi_accept` on, after 8 N connections, one by one, the busiest worker has at most twice as many as the idlest."},
			{Part: "B", Name: "fair-soon", Points: 4, Read: readReorder, Run: c.fairSoon,
				Sentence: "The same holds with it off."},
			{Part: "B", Name: "at-a-price", Points: 4, Read: readReorder, Run: c.price,
				Sentence: "The price is at most one call of `epoll_ctl` per connection."},
			{Part: "B", Name: "disarmed-stays-disarmed", Points: 4, Read: readAccept, Run: c.disarmed,
				Sentence: "A worker that ran out of descriptors has no registration to move: it gets it back when its timer expires."},
		},
	}
}

type checks struct{ f Functions }

// data is what a worker's registration hands back.
const data = 7

// watcher is a worker with an epoll set and no event core.
type watcher struct {
	*fake.Process
	ep, listener int
	got          uint64 // data of its last event
}

// watchers starts n workers that register with AddExclusive in this order, and
// lets them fall asleep.
func (c *checks) watchers(w *fake.World, s0 *fake.Listener, n int) (all []*watcher) {
	for i := range n {
		wk := &watcher{}
		wk.Process = w.Start(fmt.Sprintf("worker %d", i+1), func(p *fake.Process) {
			wk.listener = p.Fd(s0)
			wk.ep, _ = p.EpollCreate()
			err := c.f.AddExclusive(p, wk.ep, wk.listener, data)
			if err != 0 {
				w.Broken("the kernel takes the registration", "AddExclusive returned: "+err.Error())
			}
			wk.run()
		}, s0)
		all = append(all, wk)
		w.Settle()
	}
	return all
}

// run accepts one connection for each event.
func (wk *watcher) run() {
	list := make([]sys.EpollEvent, 1)
	var addr sys.Sockaddr
	for {
		if n, _ := wk.EpollWait(wk.ep, list, -1); n == 1 {
			wk.got = list[0].Data()
			if conn, err := wk.Accept4(wk.listener, &addr); err == 0 {
				wk.Close(conn)
			}
		}
	}
}

// wakes makes a connection and expects it to wake wk and no other.
func wakes(w *fake.World, s0 *fake.Listener, wk *watcher) {
	before, own := w.Total(), wk.Counts
	w.Connect(s0)
	w.Settle()
	w.Expect("the connection wakes one worker", w.Total().Since(before).Wakeups, 1)
	w.Expect("it is "+wk.Name, wk.Counts.Since(own).Accepted, 1)
}

func (c *checks) wakesTheFirst(t *lab.T) {
	t.Run(func(w *fake.World) {
		s0 := w.Listen()
		all := c.watchers(w, s0, 4)
		wakes(w, s0, all[0])
		wakes(w, s0, all[0])
		w.Expect("the event carries the registration's data", all[0].got, uint64(data))
		all[0].Kill()
		wakes(w, s0, all[1])
		all[1].Kill()
		w.ConnectN(s0, 5)
		w.Settle()
		w.Expect("of several connections none is left in the queue", s0.Queued(), 0)
	})
}

func (c *checks) movedIsLast(t *lab.T) {
	t.Run(func(w *fake.World) {
		s0 := w.Listen()
		mover := &watcher{}
		mover.Process = w.Start("worker 0", func(p *fake.Process) {
			mover.listener = p.Fd(s0)
			mover.ep, _ = p.EpollCreate()
			c.f.AddExclusive(p, mover.ep, mover.listener, data)
			p.Sleep(time.Second)
			if err := c.f.MoveToEnd(p, mover.ep, mover.listener, data); err != 0 {
				w.Broken("the kernel takes the registration back, and again", "MoveToEnd returned: "+err.Error())
			}
			mover.run()
		}, s0)
		w.Settle()
		all := c.watchers(w, s0, 2)
		w.Note("scenario", "one second later worker 0 moves to the end")
		w.Advance(time.Second)
		wakes(w, s0, all[0])
		all[0].Kill()
		wakes(w, s0, all[1])
		all[1].Kill()
		wakes(w, s0, mover)
		w.Expect("the event carries the registration's data", mover.got, uint64(data))
	})
}

// kernelRefuses has epoll_ctl fail at each of the calls.
func (c *checks) kernelRefuses(t *lab.T) {
	t.Run(func(w *fake.World) {
		s0 := w.Listen()
		p := w.Process("worker 1", s0)
		ep := -1
		p.Do(func() { ep, _ = p.EpollCreate() })
		refused := func(name string, f func(sys.Kernel, int, int, uint64) sys.Errno, nth int) {
			var err sys.Errno
			p.Fail(fake.EpollCtl, nth, sys.ENOSYS)
			p.Do(func() { err = f(p, ep, p.Fd(s0), data) })
			w.Expect(name+" returns the kernel's error", err, sys.ENOSYS)
		}
		refused("AddExclusive", c.f.AddExclusive, 1)
		p.Do(func() { c.f.AddExclusive(p, ep, p.Fd(s0), data) })
		before := p.Counts
		refused("MoveToEnd", c.f.MoveToEnd, 1)
		w.Expect("nothing is added after a deletion that failed", p.Counts.Since(before).CtlAdds, 0)
		refused("MoveToEnd", c.f.MoveToEnd, 2)
	})
}

// partA puts the student's function in place.
func (f *Functions) partA(cycle *event.Cycle) {
	cycle.Actions.ReorderAcceptEvents = f.ReorderAcceptEvents
}

// fleet starts n workers that are registered exclusively, with the student's
// part A.
func (c *checks) fleet(w *fake.World, n int) *eventtest.Fleet {
	f := eventtest.New(w, eventtest.Conf{
		Workers: n,
		Event:   event.EventConf{ExclusiveAccept: true},
		Change:  func(wk *eventtest.Worker) { c.f.partA(wk.Cycle) },
	})
	w.Settle()
	return f
}

// oneByOne makes n connections, each when all workers are asleep.
func oneByOne(w *fake.World, f *eventtest.Fleet, n int) {
	for range n {
		w.Connect(f.Listener)
		w.Settle()
	}
}

// shares returns how many connections the workers have, the most first.
func shares(f *eventtest.Fleet) []int {
	list := f.Shares()
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// moving is oneByOne; after each connection every worker must have moved as
// often as due says of one that has had so many.
func moving(w *fake.World, f *eventtest.Fleet, n int, rule string, due func(had int) int) {
	for range n {
		oneByOne(w, f, 1)
		for _, wk := range f.Workers {
			had := int(wk.Slot.Accepted)
			w.Expect(fmt.Sprintf("%s: %s has had %d, and has moved so often", rule, wk.Name, had), int(wk.Slot.CtlDels), due(had))
		}
	}
}

// first16 is how often a worker moves after its first connection and every
// 16th from there.
func first16(had int) int { return (had + 15) / 16 }

func (c *checks) oneWakeup(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 8)
		for range 50 {
			before := w.Total()
			oneByOne(w, f, 1)
			w.Expect("a connection wakes one of 8", w.Total().Since(before).Wakeups, 1)
		}
		w.Expect("nobody accepts in vain", w.Total().AcceptAgain, 0)
	})
}

func (c *checks) takeTurns(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4)
		oneByOne(w, f, 4)
		w.Expect("the first four connections are one each", shares(f), []int{1, 1, 1, 1})
		oneByOne(w, f, 21)
		w.Expect("after 25 connections: one each, then blocks of 16", shares(f), []int{17, 6, 1, 1})
		oneByOne(w, f, 175)
		w.Expect("after 200 connections", shares(f), []int{53, 49, 49, 49})
	})
}

func (c *checks) notMoreOften(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 4)
		moving(w, f, 200, "a worker moves after its connections 1, 17, 33 and 49", first16)
	})
}

// fullGoesLast fills two workers of 64 connections: from the 57th on, fewer
// than an eighth are free.
func (c *checks) fullGoesLast(t *lab.T) {
	t.Run(func(w *fake.World) {
		f := eventtest.New(w, eventtest.Conf{
			Workers:     2,
			Connections: 64,
			Event:       event.EventConf{ExclusiveAccept: true},
			Change: func(wk *eventtest.Worker) {
				c.f.partA(wk.Cycle)
				wk.Cycle.Listening[0].Handler = func(*event.Connection) {} // stays open
			},
		})
		w.Settle()
		rule := "a worker moves after its connections 1, 17, 33 and 49, and after each from the 57th on"
		moving(w, f, 2*63, rule, func(had int) int { return first16(had) + max(0, had-56) })
		w.Expect("both are full", shares(f), []int{63, 63})
	})
}

func (c *checks) othersStay(t *lab.T) {
	c.stays(t, "reuseport", func(cycle *event.Cycle) { cycle.Listening[0].Reuseport = true })
	c.stays(t, "not exclusive", func(cycle *event.Cycle) { cycle.UseExclusiveAccept = false })
}

// stays expects no move once change has been made to each worker.
func (c *checks) stays(t *lab.T, what string, change func(cycle *event.Cycle)) {
	t.Run(func(w *fake.World) {
		f := c.fleet(w, 2)
		for _, wk := range f.Workers {
			change(wk.Cycle)
		}
		w.Note("scenario", "the listener is "+what)
		moving(w, f, 20, "nobody moves", func(int) int { return 0 })
	})
}

// fleetB starts n workers with the student's part B. What part A does is not
// done.
func (c *checks) fleetB(w *fake.World, n int, multi bool) *eventtest.Fleet {
	f := eventtest.New(w, eventtest.Conf{
		Workers: n,
		Event:   event.EventConf{ExclusiveAccept: true, MultiAccept: multi},
		Change:  func(wk *eventtest.Worker) { c.f.partB(wk.Cycle) },
	})
	w.Settle()
	return f
}

// partB puts the student's accept in place, and leaves moving to it.
func (f *Functions) partB(cycle *event.Cycle) {
	cycle.Actions.Accept = f.Accept
	cycle.Actions.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) {}
}

// fair makes 8 N connections and compares the shares.
func (c *checks) fair(t *lab.T, multi bool) {
	for _, n := range []int{2, 4, 8} {
		t.Run(func(w *fake.World) {
			f := c.fleetB(w, n, multi)
			oneByOne(w, f, 8*n)
			s := shares(f)
			w.Note("scenario", fmt.Sprintf("the shares are %v", s))
			w.Expect(fmt.Sprintf("%d connections are served", 8*n), total(s), 8*n)
			w.Expect("the busiest has at most twice as many as the idlest", s[0] <= 2*s[n-1], true)
		})
	}
}

func total(shares []int) (n int) {
	for _, s := range shares {
		n += s
	}
	return n
}

func (c *checks) fairMulti(t *lab.T) { c.fair(t, true) }
func (c *checks) fairSoon(t *lab.T)  { c.fair(t, false) }

// price counts the calls, also when connections come five at a time.
func (c *checks) price(t *lab.T) {
	for _, multi := range []bool{false, true} {
		t.Run(func(w *fake.World) {
			f := c.fleetB(w, 4, multi)
			before := w.Total()
			oneByOne(w, f, 50)
			for range 10 {
				w.ConnectN(f.Listener, 5)
				w.Settle()
			}
			d := w.Total().Since(before)
			calls := d.CtlAdds + d.CtlDels + d.CtlMods
			w.Note("scenario", fmt.Sprintf("multi_accept %v: %d calls of epoll_ctl", multi, calls))
			w.Expect("100 connections are served", total(f.Shares()), 100)
			lab.AtMost(w, "they cost at most 100 calls", calls, 100)
		})
	}
}

// disarmed has both workers run out of descriptors, each time after one
// connection more.
func (c *checks) disarmed(t *lab.T) {
	for n := range 20 {
		t.Run(func(w *fake.World) {
			f := c.fleetB(w, 2, false)
			oneByOne(w, f, n)
			for _, wk := range f.Workers {
				wk.Fail(fake.Accept4, 1, sys.EMFILE)
			}
			w.Note("scenario", "the next accept4 of each worker fails with EMFILE; after that there are descriptors")
			w.ConnectN(f.Listener, 2)
			before := w.Total()
			w.Advance(400 * time.Millisecond)
			w.Expect("nothing is registered before the timer expires, after 500 ms", w.Total().Since(before).CtlAdds, 0)
			for _, wk := range f.Workers {
				w.Expect(wk.Name+" asks the kernel nothing that it has to refuse", wk.Alerts, []string(nil))
			}
			w.Advance(time.Second)
			w.Expect("then the connections are served", total(f.Shares()), n+2)
		})
	}
}
