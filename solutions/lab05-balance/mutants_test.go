package main

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/lab/lab05"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab05.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab05.Lab(f)
}

// before returns the lab with a turn that is nginx's after do, which sees to
// AcceptDisabled.
func before(do func(cycle *event.Cycle)) *lab.Lab {
	return wrong(func(f *lab05.Functions) {
		f.Turn = func(cycle *event.Cycle) {
			do(cycle)
			cycle.ProcessEventsAndTimers()
		}
	})
}

// taking returns the lab with a part B that takes part as take says, which
// returns false to leave the lock to others, and waits so long without it. Its
// memory is one word.
func taking(longest core.Msec, take func(cycle *event.Cycle, yielded *bool) bool) *lab.Lab {
	turn := func(cycle *event.Cycle, yielded *bool) {
		timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
		if take(cycle, yielded) {
			cycle.Actions.TrylockAcceptMutex(cycle)
		} else {
			letGo(cycle)
		}
		if cycle.AcceptMutexHeld {
			flags |= event.PostEvents
		} else {
			timer = min(timer, longest)
		}
		cycle.ProcessEvents(timer, flags)
		cycle.ProcessPosted(&cycle.PostedAcceptEvents)
		if cycle.AcceptMutexHeld {
			cycle.AcceptMutex.Unlock()
		}
		cycle.ExpireTimers()
		cycle.ProcessPosted(&cycle.PostedEvents)
	}
	return wrong(func(f *lab05.Functions) {
		f.RoomTurn = func() func(*event.Cycle) {
			yielded := false
			return func(cycle *event.Cycle) { turn(cycle, &yielded) }
		}
	})
}

// delay is accept_mutex_delay.
const delay = 500

// countDown reports whether the worker is crowded, as nginx finds out.
func countDown(cycle *event.Cycle) bool {
	if cycle.AcceptDisabled <= 0 {
		return false
	}
	cycle.AcceptDisabled--
	return true
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "a worker with room is disabled, a full one is not",
			KilledBy: "A/an-eighth-is-kept-free",
			Lab: wrong(func(f *lab05.Functions) {
				f.Disabled = func(connections, free int) int { return free - connections/8 }
			}),
		},
		{
			Name:     "an eighth of what is free",
			KilledBy: "A/an-eighth-is-kept-free",
			Lab: wrong(func(f *lab05.Functions) {
				f.Disabled = func(connections, free int) int { return (connections - free) / 8 }
			}),
		},
		{
			Name:     "crowded for ever",
			KilledBy: "A/a-crowded-worker-does-not-try",
			Lab: before(func(cycle *event.Cycle) {
				if cycle.AcceptDisabled > 0 {
					cycle.AcceptDisabled++ // the turn takes it off again
				}
			}),
		},
		{
			Name:     "counts down, and tries all the same",
			KilledBy: "A/a-crowded-worker-does-not-try",
			Lab: before(func(cycle *event.Cycle) {
				if countDown(cycle) {
					cycle.Actions.TrylockAcceptMutex(cycle)
					cycle.AcceptDisabled++
				}
			}),
		},
		{
			Name:     "crowded once is one turn without a try",
			KilledBy: "A/a-crowded-worker-does-not-try",
			Lab: before(func(cycle *event.Cycle) {
				cycle.AcceptDisabled = min(cycle.AcceptDisabled, 1)
			}),
		},
		{
			Name:     "a crowded worker's turn ends after the accepts",
			KilledBy: "A/a-crowded-worker-serves-its-clients",
			Lab: wrong(func(f *lab05.Functions) {
				f.Turn = func(cycle *event.Cycle) {
					if !countDown(cycle) {
						cycle.ProcessEventsAndTimers()
						return
					}
					cycle.ProcessEvents(cycle.FindTimer(), event.UpdateTime|event.PostEvents)
					cycle.ProcessPosted(&cycle.PostedAcceptEvents)
					cycle.AcceptMutex.Unlock()
				}
			}),
		},
		{
			Name:     "nobody is ever crowded",
			KilledBy: "A/seven-eighths-and-then-another",
			Lab:      before(func(cycle *event.Cycle) { cycle.AcceptDisabled = 0 }),
		},
		{
			Name:     "every worker is crowded at first",
			KilledBy: "A/with-room-nothing-changes",
			Lab: before(func(cycle *event.Cycle) {
				if !cycle.AcceptMutexHeld && cycle.FreeConnectionN > 0 {
					cycle.AcceptDisabled = 1
				}
			}),
		},
		{
			Name:     "nginx's turn: the full worker goes on accepting",
			KilledBy: "B/nobody-is-refused",
			Lab: wrong(func(f *lab05.Functions) {
				f.RoomTurn = func() func(*event.Cycle) { return (*event.Cycle).ProcessEventsAndTimers }
			}),
		},
		{
			Name:     "a crowded worker lets go, and a full one wins again",
			KilledBy: "B/nobody-is-refused",
			Lab: taking(delay, func(cycle *event.Cycle, _ *bool) bool {
				return !countDown(cycle)
			}),
		},
		{
			Name:     "only a full worker lets go",
			KilledBy: "B/others-go-first",
			Lab: taking(delay, func(cycle *event.Cycle, _ *bool) bool {
				return !full(cycle)
			}),
		},
		{
			Name:     "a crowded worker takes a lock that was let go a moment ago",
			KilledBy: "B/others-go-first",
			Lab: taking(delay, func(cycle *event.Cycle, yielded *bool) bool {
				if cycle.FreeConnectionN > cycle.ConnectionN/4 {
					*yielded = false
				}
				crowded := cycle.AcceptDisabled > 0 && !(*yielded && cycle.AcceptMutexHeld)
				if crowded || full(cycle) {
					*yielded = true
					cycle.AcceptDisabled = 0
					return false
				}
				return true
			}),
		},
		{
			Name:     "a crowded worker lets go after each connection",
			KilledBy: "B/the-crowded-take-the-rest",
			Lab: taking(delay, func(cycle *event.Cycle, _ *bool) bool {
				crowded := cycle.AcceptDisabled > 0
				cycle.AcceptDisabled = 0
				return !full(cycle) && !crowded
			}),
		},
		{
			Name:     "who let go waits for ever",
			KilledBy: "B/the-crowded-take-the-rest",
			Lab: taking(event.TimerInfinite, func(cycle *event.Cycle, yielded *bool) bool {
				crowded := cycle.AcceptDisabled > 0 && !*yielded
				*yielded = *yielded || crowded
				return !full(cycle) && !crowded
			}),
		},
		{
			Name:     "a full worker never takes part again",
			KilledBy: "B/the-full-have-them-wait",
			Lab: taking(delay, func(cycle *event.Cycle, yielded *bool) bool {
				*yielded = *yielded || full(cycle)
				return !*yielded
			}),
		},
		{
			Name:     "who lets others go first stays registered",
			KilledBy: "B/who-lets-go-is-not-registered",
			Lab: wrong(func(f *lab05.Functions) {
				f.RoomTurn = func() func(*event.Cycle) {
					turn := RoomTurn()
					return func(cycle *event.Cycle) {
						cycle.Actions.DisableAcceptEvents = func(*event.Cycle, bool) core.Status { return core.OK }
						turn(cycle)
					}
				}
			}),
		},
	})
}
