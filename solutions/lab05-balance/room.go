package main

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// RoomTurn returns the turn of one worker.
func RoomTurn() func(cycle *event.Cycle) { return new(room).turn }

// room is what a worker remembers from one turn to the next.
type room struct {
	// alone: all others are crowded too. It is forgotten once the worker has a
	// quarter of its table free.
	alone bool
	// accepted is how many connections all workers had accepted at since, ms.
	accepted uint64
	since    core.Msec
}

// turn is one turn of the worker loop. It differs from nginx's in who takes
// part, and in that every worker without a registration comes back after
// accept_mutex_delay.
func (r *room) turn(cycle *event.Cycle) {
	timer := cycle.FindTimer()
	var flags uint = event.UpdateTime

	if cycle.UseAcceptMutex {
		if r.takePart(cycle) == core.Error {
			return
		}
		if cycle.AcceptMutexHeld {
			flags |= event.PostEvents
		} else {
			timer = min(timer, cycle.AcceptMutexDelay) // TimerInfinite is the largest
		}
	}

	if !cycle.PostedNextEvents.Empty() {
		cycle.MovePostedNext()
		timer = 0
	}

	cycle.ProcessEvents(timer, flags)
	cycle.ProcessPosted(&cycle.PostedAcceptEvents)
	if cycle.AcceptMutexHeld {
		cycle.AcceptMutex.Unlock()
	}
	cycle.ExpireTimers()
	cycle.ProcessPosted(&cycle.PostedEvents)
}

// takePart tries for the lock, or leaves it to others.
//
//	full                           let go
//	crowded, registered            let go; but go on if all are crowded
//	crowded, without registration  try if all are crowded
//	out of descriptors             not now
//	with room                      try
func (r *room) takePart(cycle *event.Cycle) core.Status {
	held := cycle.AcceptMutexHeld
	crowded := cycle.FreeConnectionN < cycle.ConnectionN/8
	if cycle.FreeConnectionN > cycle.ConnectionN/4 {
		r.alone = false
	}

	switch {
	case full(cycle), crowded && held && !r.alone:
		return letGo(cycle)

	case crowded && !held && !r.quiet(cycle):
		return core.OK

	case !crowded && !held && cycle.AcceptDisabled > 0:
		cycle.AcceptDisabled = 0
		return core.OK
	}

	status := cycle.Actions.TrylockAcceptMutex(cycle)
	r.alone = cycle.AcceptMutexHeld && (crowded || r.alone)
	return status
}

// quiet reports whether nobody has accepted anything for a delay. A worker with
// room tries for the lock in each delay: if the lock is free now as well, all
// are crowded.
func (r *room) quiet(cycle *event.Cycle) bool {
	now := cycle.Time.CurrentMsec
	if n := cycle.Kernel.AtomicLoad(&cycle.Zone.Accepted.Word); n != r.accepted {
		r.accepted, r.since = n, now
	}
	return now-r.since >= cycle.AcceptMutexDelay
}

// full reports whether the worker has nowhere to put a connection: no slot is
// free, and no client idle, whose slot GetConnection would take.
func full(cycle *event.Cycle) bool {
	return cycle.FreeConnectionN == 0 && cycle.ReusableConnectionsN == 0
}

// letGo unregisters the listeners: a worker without the lock must not accept.
func letGo(cycle *event.Cycle) core.Status {
	if !cycle.AcceptMutexHeld {
		return core.OK
	}
	if cycle.Actions.DisableAcceptEvents(cycle, false) == core.Error {
		return core.Error
	}
	cycle.AcceptMutexHeld = false
	return core.OK
}
