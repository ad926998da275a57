package main

import (
	"testing"

	"herd/nginxref/event"
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab06"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab06.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab06.Lab(f)
}

// add registers with bits.
func add(bits uint32) func(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
	return func(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
		return k.EpollCtl(ep, sys.EPOLL_CTL_ADD, fd, sys.MakeEpollEvent(bits, data))
	}
}

// move takes c's registration back and makes it anew with flags.
func move(c *event.Connection, flags uint32) {
	c.Cycle.DelEvent(c.Read, event.ReadEvent, event.DisableEvent)
	c.Cycle.AddEvent(c.Read, event.ReadEvent, flags)
}

// reorder is ReorderAcceptEvents that moves when it is due, and looks at
// nothing else.
func reorder(due func(accepts int, cycle *event.Cycle) bool) func(*event.Cycle, *event.Listening) {
	return func(cycle *event.Cycle, ls *event.Listening) {
		if !cycle.UseExclusiveAccept || ls.Reuseport {
			return
		}
		ls.Connection.Requests++
		if due(ls.Connection.Requests, cycle) {
			move(ls.Connection, event.ExclusiveEvent)
		}
	}
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "EPOLLRDHUP beside EPOLLEXCLUSIVE",
			KilledBy: "A/a-connection-wakes-the-first",
			Lab: wrong(func(f *lab06.Functions) {
				f.AddExclusive = add(sys.EPOLLIN | sys.EPOLLRDHUP | sys.EPOLLEXCLUSIVE)
			}),
		},
		{
			Name:     "EPOLLONESHOT in place of EPOLLEXCLUSIVE",
			KilledBy: "A/a-connection-wakes-the-first",
			Lab:      wrong(func(f *lab06.Functions) { f.AddExclusive = add(sys.EPOLLIN | sys.EPOLLONESHOT) }),
		},
		{
			Name:     "not exclusive",
			KilledBy: "A/a-connection-wakes-the-first",
			Lab:      wrong(func(f *lab06.Functions) { f.AddExclusive = add(sys.EPOLLIN) }),
		},
		{
			Name:     "edge-triggered: all but one of several are left in the queue",
			KilledBy: "A/a-connection-wakes-the-first",
			Lab: wrong(func(f *lab06.Functions) {
				f.AddExclusive = add(sys.EPOLLIN | sys.EPOLLET | sys.EPOLLEXCLUSIVE)
			}),
		},
		{
			Name:     "EPOLL_CTL_MOD to move",
			KilledBy: "A/moved-is-last",
			Lab: wrong(func(f *lab06.Functions) {
				f.MoveToEnd = func(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
					return k.EpollCtl(ep, sys.EPOLL_CTL_MOD, fd, sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLEXCLUSIVE, data))
				}
			}),
		},
		{
			Name:     "a failed deletion is passed over",
			KilledBy: "A/the-kernel-may-refuse",
			Lab: wrong(func(f *lab06.Functions) {
				f.MoveToEnd = func(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
					k.EpollCtl(ep, sys.EPOLL_CTL_DEL, fd, sys.EpollEvent{})
					return AddExclusive(k, ep, fd, data)
				}
			}),
		},
		{
			Name:     "a move forgets EPOLLEXCLUSIVE",
			KilledBy: "A/one-wakeup-a-connection",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = func(cycle *event.Cycle, ls *event.Listening) {
					ls.Connection.Requests++
					if ls.Connection.Requests%16 == 1 {
						move(ls.Connection, 0)
					}
				}
			}),
		},
		{
			Name:     "registered once",
			KilledBy: "A/workers-take-turns",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) {}
			}),
		},
		{
			Name:     "a move after the 16th accept, not after the 1st",
			KilledBy: "A/workers-take-turns",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = reorder(func(accepts int, cycle *event.Cycle) bool {
					return accepts%16 == 0 || cycle.AcceptDisabled > 0
				})
			}),
		},
		{
			Name:     "a move after each accept",
			KilledBy: "A/and-not-more-often",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = reorder(func(int, *event.Cycle) bool { return true })
			}),
		},
		{
			Name:     "a full worker waits for its turn to move",
			KilledBy: "A/a-full-worker-goes-last",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = reorder(func(accepts int, _ *event.Cycle) bool { return accepts%16 == 1 })
			}),
		},
		{
			Name:     "reuseport listeners move too",
			KilledBy: "A/others-are-left-alone",
			Lab: wrong(func(f *lab06.Functions) {
				f.ReorderAcceptEvents = func(cycle *event.Cycle, ls *event.Listening) {
					reuseport := ls.Reuseport
					ls.Reuseport = false
					event.ReorderAcceptEvents(cycle, ls)
					ls.Reuseport = reuseport
				}
			}),
		},
		{
			Name:     "nginx's accept, which multi_accept defeats",
			KilledBy: "B/multi-accept-is-no-defeat",
			Lab: wrong(func(f *lab06.Functions) {
				f.Accept = func(ev *event.Event) {
					event.EventAccept(ev)
					if ev.Available == 0 {
						event.ReorderAcceptEvents(ev.Data.Cycle, ev.Data.Listening)
					}
				}
			}),
		},
		{
			Name:     "blocks of 16, with multi_accept too",
			KilledBy: "B/fair-soon",
			Lab: wrong(func(f *lab06.Functions) {
				f.Accept = func(ev *event.Event) {
					event.EventAccept(ev)
					if ev.Data.Read.Active {
						event.ReorderAcceptEvents(ev.Data.Cycle, ev.Data.Listening)
					}
				}
			}),
		},
		{
			Name:     "a move after each turn",
			KilledBy: "B/at-a-price",
			Lab: wrong(func(f *lab06.Functions) {
				f.Accept = func(ev *event.Event) {
					event.EventAccept(ev)
					if ev.Data.Read.Active {
						move(ev.Data, event.ExclusiveEvent)
					}
				}
			}),
		},
		{
			Name:     "a move although nothing is registered",
			KilledBy: "B/disarmed-stays-disarmed",
			Lab: wrong(func(f *lab06.Functions) {
				f.Accept = func(ev *event.Event) {
					event.EventAccept(ev)
					ev.Data.Requests++
					if ev.Data.Requests%3 == 2 {
						move(ev.Data, event.ExclusiveEvent)
					}
				}
			}),
		},
	})
}
