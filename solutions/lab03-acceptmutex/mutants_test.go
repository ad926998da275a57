package main

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/tools/lab"
	"herd/tools/lab/lab03"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab03.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab03.Lab(f)
}

// keeping is a mutex that is never let go.
type keeping struct{ shmtx.Mutex }

func (keeping) Unlock() {}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "held is cleared on unlock",
			KilledBy: "A/the-loser-unregisters",
			Lab: wrong(func(f *lab03.Functions) {
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					cycle.AcceptMutexHeld = false // as a patch of 2013 did after each turn
					return event.TrylockAcceptMutex(cycle)
				}
			}),
		},
		{
			Name:     "the loser forgets to unregister",
			KilledBy: "A/the-loser-unregisters",
			Lab: wrong(func(f *lab03.Functions) {
				f.DisableAcceptEvents = func(*event.Cycle, bool) core.Status { return core.OK }
			}),
		},
		{
			Name:     "the listeners are registered anew on every win",
			KilledBy: "A/the-winner-registers-once",
			Lab: wrong(func(f *lab03.Functions) {
				f.EnableAcceptEvents = func(cycle *event.Cycle) core.Status {
					for _, ls := range cycle.Listening {
						cycle.AddEvent(ls.Connection.Read, event.ReadEvent, 0)
					}
					return core.OK
				}
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					if cycle.AcceptMutex.Trylock() {
						cycle.AcceptMutexHeld = true
						return cycle.Actions.EnableAcceptEvents(cycle)
					}
					return event.TrylockAcceptMutex(cycle)
				}
			}),
		},
		{
			Name:     "a failed registration keeps the lock",
			KilledBy: "A/a-failed-registration-gives-the-lock-back",
			Lab: wrong(func(f *lab03.Functions) {
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					if !cycle.AcceptMutex.Trylock() {
						return event.TrylockAcceptMutex(cycle)
					}
					if cycle.AcceptMutexHeld {
						return core.OK
					}
					if cycle.Actions.EnableAcceptEvents(cycle) == core.Error {
						return core.Error
					}
					cycle.AcceptMutexHeld = true
					return core.OK
				}
			}),
		},
		{
			Name:     "the lock alone: every worker stays registered",
			KilledBy: "A/one-wakeup-a-connection",
			Lab: wrong(func(f *lab03.Functions) {
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					cycle.AcceptMutexHeld = cycle.AcceptMutex.Trylock()
					return cycle.Actions.EnableAcceptEvents(cycle)
				}
			}),
		},
		{
			Name:     "no lock: every worker registers and accepts",
			KilledBy: "A/nobody-accepts-in-vain",
			Lab: wrong(func(f *lab03.Functions) {
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					cycle.AcceptMutexHeld = true
					return cycle.Actions.EnableAcceptEvents(cycle)
				}
			}),
		},
		{
			Name:     "reuseport listeners go with the lock",
			KilledBy: "A/reuseport-listeners-stay",
			Lab: wrong(func(f *lab03.Functions) {
				f.DisableAcceptEvents = func(cycle *event.Cycle, all bool) core.Status {
					return event.DisableAcceptEvents(cycle, true)
				}
			}),
		},
		{
			Name:     "a loser tries no more",
			KilledBy: "A/a-loser-that-held-nothing-does-nothing",
			Lab: wrong(func(f *lab03.Functions) {
				tried := map[*event.Cycle]bool{}
				f.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
					if tried[cycle] && !cycle.AcceptMutexHeld {
						return core.OK
					}
					tried[cycle] = true
					return event.TrylockAcceptMutex(cycle)
				}
			}),
		},
		{
			Name:     "nginx's turn, with its window",
			KilledBy: "B/two-are-never-registered",
			Lab: wrong(func(f *lab03.Functions) {
				f.Turn = (*event.Cycle).ProcessEventsAndTimers
			}),
		},
		{
			Name:     "the turn keeps the lock",
			KilledBy: "B/two-are-never-registered",
			Lab: wrong(func(f *lab03.Functions) {
				f.Turn = func(cycle *event.Cycle) {
					if _, ok := cycle.AcceptMutex.(keeping); !ok {
						cycle.AcceptMutex = keeping{cycle.AcceptMutex}
					}
					Turn(cycle)
				}
			}),
		},
		{
			Name:     "nginx's turn, with its freeze",
			KilledBy: "B/no-freeze-after-emfile",
			Lab: wrong(func(f *lab03.Functions) {
				f.Turn = (*event.Cycle).ProcessEventsAndTimers
			}),
		},
	})
}
