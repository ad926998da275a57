package main

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/queue"
	"herd/tools/lab"
	"herd/tools/lab/lab04"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab04.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab04.Lab(f)
}

// wrongTurn returns the lab with turn as part A's.
func wrongTurn(turn func(*event.Cycle)) *lab.Lab {
	return wrong(func(f *lab04.Functions) { f.Turn = turn })
}

// The steps of a turn after its wait; mutants have them in another order, or
// have one of their own.
func accepts(cycle *event.Cycle) { cycle.ProcessPosted(&cycle.PostedAcceptEvents) }
func timers(cycle *event.Cycle)  { cycle.ExpireTimers() }
func rest(cycle *event.Cycle)    { cycle.ProcessPosted(&cycle.PostedEvents) }
func unlock(cycle *event.Cycle) {
	if cycle.AcceptMutexHeld {
		cycle.AcceptMutex.Unlock()
	}
}

// try is a turn's try for the lock, and what follows from it.
func try(cycle *event.Cycle, timer *core.Msec, flags *uint) bool {
	if cycle.Actions.TrylockAcceptMutex(cycle) == core.Error {
		return false
	}
	if cycle.AcceptMutexHeld {
		*flags |= event.PostEvents
	} else {
		*timer = min(*timer, cycle.AcceptMutexDelay)
	}
	return true
}

// turn is nginx's up to the end of the wait, and then the steps.
func turn(steps ...func(*event.Cycle)) func(*event.Cycle) {
	return func(cycle *event.Cycle) {
		timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
		if !try(cycle, &timer, &flags) {
			return
		}
		if !cycle.PostedNextEvents.Empty() {
			cycle.MovePostedNext()
			timer = 0
		}
		cycle.ProcessEvents(timer, flags)
		for _, step := range steps {
			step(cycle)
		}
	}
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "last posted, first served",
			KilledBy: "A/first-posted-first-served",
			Lab: wrong(func(f *lab04.Functions) {
				f.PostEvent = func(ev *event.Event, q *queue.Queue) {
					if !ev.Posted {
						ev.Posted = true
						q.InsertHead(ev.Link())
					}
				}
			}),
		},
		{
			Name:     "posting again moves the event to the end",
			KilledBy: "A/posted-twice-runs-once",
			Lab: wrong(func(f *lab04.Functions) {
				f.PostEvent = func(ev *event.Event, q *queue.Queue) {
					if ev.Posted {
						event.DeletePostedEvent(ev)
					}
					event.PostEvent(ev, q)
				}
			}),
		},
		{
			Name:     "the handler runs before its event is off the queue",
			KilledBy: "A/a-handler-may-post",
			Lab: wrong(func(f *lab04.Functions) {
				f.ProcessPosted = func(cycle *event.Cycle, posted *queue.Queue) {
					for !posted.Empty() {
						ev := event.EventOfQueue(posted.Head())
						ev.Handler(ev)
						event.DeletePostedEvent(ev)
					}
				}
			}),
		},
		{
			Name:     "only what was posted before is handled",
			KilledBy: "A/a-handler-may-post",
			Lab: wrong(func(f *lab04.Functions) {
				f.ProcessPosted = processOnce
			}),
		},
		{
			Name:     "events of the next turn are not made ready",
			KilledBy: "A/next-turn-asks-the-kernel",
			Lab: wrong(func(f *lab04.Functions) {
				f.MovePostedNext = func(cycle *event.Cycle) {
					cycle.PostedEvents.Add(&cycle.PostedNextEvents)
				}
			}),
		},
		{
			Name:     "events of the next turn are moved at the end of this one",
			KilledBy: "A/next-turn-asks-the-kernel",
			Lab: wrongTurn(func(cycle *event.Cycle) {
				timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
				if !try(cycle, &timer, &flags) {
					return
				}
				cycle.ProcessEvents(timer, flags)
				accepts(cycle)
				unlock(cycle)
				timers(cycle)
				if !cycle.PostedNextEvents.Empty() {
					cycle.MovePostedNext()
				}
				rest(cycle)
			}),
		},
		{
			Name:     "held is cleared with the unlock",
			KilledBy: "A/accepts-hold-the-lock",
			Lab: wrongTurn(turn(accepts, func(cycle *event.Cycle) {
				unlock(cycle)
				cycle.AcceptMutexHeld = false
			}, timers, rest)),
		},
		{
			Name:     "the wait of the next turn sleeps",
			KilledBy: "A/next-turn-asks-the-kernel",
			Lab: wrongTurn(func(cycle *event.Cycle) {
				timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
				if !try(cycle, &timer, &flags) {
					return
				}
				if !cycle.PostedNextEvents.Empty() {
					cycle.MovePostedNext()
				}
				cycle.ProcessEvents(timer, flags)
				accepts(cycle)
				unlock(cycle)
				timers(cycle)
				rest(cycle)
			}),
		},
		{
			Name:     "unlock before the posted accepts",
			KilledBy: "A/accepts-hold-the-lock",
			Lab:      wrongTurn(turn(unlock, accepts, timers, rest)),
		},
		{
			Name:     "accepts come after the rest",
			KilledBy: "A/accepts-hold-the-lock",
			Lab:      wrongTurn(turn(rest, accepts, unlock, timers)),
		},
		{
			Name:     "unlock at the end of the turn",
			KilledBy: "A/only-accepts-hold-the-lock",
			Lab:      wrongTurn(turn(accepts, timers, rest, unlock)),
		},
		{
			Name:     "timers before the unlock",
			KilledBy: "A/only-accepts-hold-the-lock",
			Lab:      wrongTurn(turn(accepts, timers, unlock, rest)),
		},
		{
			Name:     "nothing is posted: handlers run in the wait",
			KilledBy: "A/only-accepts-hold-the-lock",
			Lab: wrongTurn(func(cycle *event.Cycle) {
				timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
				if !try(cycle, &timer, &flags) {
					return
				}
				cycle.ProcessEvents(timer, event.UpdateTime)
				unlock(cycle)
				timers(cycle)
				rest(cycle)
			}),
		},
		{
			Name:     "unlock only after an accept",
			KilledBy: "A/the-lock-goes-back-every-turn",
			Lab: wrongTurn(turn(func(cycle *event.Cycle) {
				if !cycle.PostedAcceptEvents.Empty() {
					accepts(cycle)
					unlock(cycle)
				}
			}, timers, rest)),
		},
		{
			Name:     "posted events before the timers",
			KilledBy: "A/posted-work-is-done-before-the-wait",
			Lab:      wrongTurn(turn(accepts, unlock, rest, timers)),
		},
		{
			Name:     "a loser waits for ever",
			KilledBy: "A/who-has-no-lock-comes-back",
			Lab: wrongTurn(func(cycle *event.Cycle) {
				delay := cycle.AcceptMutexDelay
				cycle.AcceptMutexDelay = event.TimerInfinite
				cycle.ProcessEventsAndTimers()
				cycle.AcceptMutexDelay = delay
			}),
		},
		{
			Name:     "a failed try is taken for a lost one",
			KilledBy: "A/who-has-no-lock-comes-back",
			Lab: wrongTurn(func(cycle *event.Cycle) {
				timer, flags := cycle.FindTimer(), uint(event.UpdateTime)
				if !try(cycle, &timer, &flags) {
					timer = min(timer, cycle.AcceptMutexDelay)
				}
				if !cycle.PostedNextEvents.Empty() {
					cycle.MovePostedNext()
					timer = 0
				}
				cycle.ProcessEvents(timer, flags)
				accepts(cycle)
				unlock(cycle)
				timers(cycle)
				rest(cycle)
			}),
		},
		{
			Name:     "a crowded worker tries too",
			KilledBy: "A/who-has-no-lock-comes-back",
			Lab:      wrongTurn(turn(accepts, unlock, timers, rest)),
		},
		{
			Name:     "accept until the queue is empty",
			KilledBy: "B/a-burst-starves-nobody",
			Lab: wrong(func(f *lab04.Functions) {
				f.FairAccept = func(ev *event.Event) {
					cycle := ev.Data.Cycle
					cycle.Event.MultiAccept = true
					event.EventAccept(ev)
				}
			}),
		},
		{
			Name:     "one accept a turn",
			KilledBy: "B/a-burst-takes-few-turns",
			Lab:      wrong(func(f *lab04.Functions) { f.FairAccept = event.EventAccept }),
		},
		{
			Name:     "the batch goes on after a failure",
			KilledBy: "B/a-failed-accept-ends-the-batch",
			Lab: wrong(func(f *lab04.Functions) {
				f.FairAccept = func(ev *event.Event) {
					for range lab04.Batch {
						event.EventAccept(ev)
					}
				}
			}),
		},
		{
			Name:     "nginx's turn, which ends when its handlers let it",
			KilledBy: "B/who-posts-itself-lets-others-run",
			Lab:      wrong(func(f *lab04.Functions) { f.FairTurn = (*event.Cycle).ProcessEventsAndTimers }),
		},
		{
			Name:     "the worker sleeps on what is posted",
			KilledBy: "B/nothing-posted-is-slept-on",
			Lab: wrong(func(f *lab04.Functions) {
				f.FairTurn = turn(accepts, unlock, timers, func(cycle *event.Cycle) {
					processOnce(cycle, &cycle.PostedEvents)
				})
			}),
		},
	})
}
