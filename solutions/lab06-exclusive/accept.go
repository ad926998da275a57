package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// block is how many connections a worker accepts before it moves to the end:
// two calls of epoll_ctl for so many connections.
const block = 4

// Accept accepts as nginx does, and then moves to the end if that has filled a
// block. It does so however the accept ended: with multi_accept it ends with
// EAGAIN, and never comes to where nginx moves.
func Accept(ev *event.Event) {
	c := ev.Data
	cycle := c.Cycle

	before := cycle.Counters.Accepted
	event.EventAccept(ev)
	blocks := c.Requests / block
	c.Requests += int(cycle.Counters.Accepted - before)

	// After EMFILE nothing is registered; the timer will see to it.
	if c.Requests/block == blocks || !c.Read.Active {
		return
	}
	if cycle.DelEvent(c.Read, event.ReadEvent, event.DisableEvent) == core.Error {
		return
	}
	cycle.AddEvent(c.Read, event.ReadEvent, event.ExclusiveEvent)
}
