package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/fdpass"
)

// Fix is one answer to the thundering herd: a configuration of the event
// core, or a change to it.
type Fix struct {
	Name  string
	About string // one line for -h

	// Reuseport gives each worker a listener of its own.
	Reuseport bool
	// Blocking makes the listener blocking, for workers without a loop.
	Blocking bool

	// Dispatch, if set, is what the master does when a connection has come:
	// it passes it on. The workers have a channel to the master instead of a
	// listener; Configure is ReceiveBy.
	Dispatch func(d *fdpass.Dispatcher) core.Status

	// Mutex says that the workers try for the accept mutex.
	Mutex bool

	// Nginx says that stock nginx can be configured to it.
	Nginx bool

	// Beside, of a lab's fix, names the reference's that its row stands
	// beside. The two differ in what the workers do, not in what they are
	// started with: Reuseport, Blocking, Mutex, and whether there is a
	// Dispatch.
	Beside string

	// Configure changes cycle from no fix at all: a shared, level-triggered
	// listener.
	Configure func(cycle *event.Cycle)

	// Loop, if set, is what a worker does in place of the event core: it
	// accepts from the first listener and has each connection served, for
	// ever. It hears of no signal. Configure is not called.
	Loop Loop

	// Wakeups predicts the wakeups per second of n workers at r connections
	// a second when a worker that does not hold the accept mutex polls every
	// delay seconds. It holds while the workers have time to fall asleep
	// between two connections.
	Wakeups func(n, r, delay float64) float64
}

// HerdWakeups: each connection wakes every worker.
func HerdWakeups(n, r, delay float64) float64 { return n * r }

// OneWakeup: each connection wakes one worker.
func OneWakeup(n, r, delay float64) float64 { return r }

// MutexWakeups: each connection wakes the holder; the others poll.
func MutexWakeups(n, r, delay float64) float64 { return r + (n-1)/delay }

// lockOnlyWakeups: each connection wakes every worker, and losers poll too;
// but a connection ends a loser's wait, so at a rate above 1/delay it never
// gets to.
func lockOnlyWakeups(n, r, delay float64) float64 {
	if r > 1/delay {
		return n * r
	}
	return n*r + (n-1)/delay
}

// Fixes are all of them, in the order of the table.
var Fixes = []*Fix{
	{
		Name:      "none",
		About:     "shared listener, level-triggered: the classic herd",
		Configure: func(cycle *event.Cycle) {},
		Wakeups:   HerdWakeups,
	},
	{
		Name:      "et",
		About:     "shared listener, edge-triggered, accept until EAGAIN",
		Configure: edgeTriggered,
		Wakeups:   HerdWakeups,
	},
	{
		Name:     "blocking",
		About:    "no event loop: every worker sleeps in accept",
		Blocking: true,
		Loop:     acceptLoop,
		Wakeups:  OneWakeup,
	},
	{
		Name:      "lock-only",
		Mutex:     true,
		About:     "accept mutex without its registration half: all stay registered, only the holder accepts",
		Configure: lockOnly,
		Wakeups:   lockOnlyWakeups,
	},
	{
		Name:      "accept-mutex",
		Mutex:     true,
		Nginx:     true,
		About:     "nginx's accept_mutex on: the registration moves with the lock",
		Configure: acceptMutex,
		Wakeups:   MutexWakeups,
	},
	{
		Name:  "file-lock",
		Mutex: true,
		About: "the same with a file lock, as nginx without atomic operations",
		Configure: func(cycle *event.Cycle) {
			acceptMutex(cycle)
			cycle.Event.LockFile = filepath.Join(os.TempDir(), fmt.Sprintf("herd-accept.%d.lock", os.Getpid()))
		},
		Wakeups: MutexWakeups,
	},
	{
		Name:  "exclusive",
		About: "EPOLLEXCLUSIVE, registered once",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.ExclusiveAccept = true
			cycle.Actions.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) {}
		},
		Wakeups: OneWakeup,
	},
	{
		Name:  "exclusive-reorder",
		Nginx: true,
		About: "EPOLLEXCLUSIVE, registered anew after the 1st and every 16th accept: nginx today",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.ExclusiveAccept = true
		},
		Wakeups: OneWakeup,
	},
	{
		Name:      "reuseport",
		Nginx:     true,
		About:     "SO_REUSEPORT: a listener for each worker",
		Reuseport: true,
		Configure: func(cycle *event.Cycle) {},
		Wakeups:   OneWakeup,
	},
	{
		Name:      "fdpass",
		About:     "the master accepts and passes descriptors in turn: Node's cluster; the master counts too",
		Dispatch:  (*fdpass.Dispatcher).Dispatch,
		Configure: ReceiveBy(fdpass.Receive),
		Wakeups:   func(n, r, delay float64) float64 { return 2 * r }, // the master and a worker
	},
}

// NginxFixes returns the fixes that stock nginx can be configured to.
func NginxFixes() (list []*Fix) {
	for _, f := range Fixes {
		if f.Nginx {
			list = append(list, f)
		}
	}
	return list
}

// FixByName returns the fix called name; the error lists those there are.
func FixByName(name string) (*Fix, error) {
	i := slices.IndexFunc(Fixes, func(f *Fix) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range Fixes {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("no fix is called %q; there are %s", name, strings.Join(names, ", "))
	}
	return Fixes[i], nil
}

func acceptMutex(cycle *event.Cycle) { cycle.Event.AcceptMutex = true }

// edgeTriggered registers the listeners anew, edge-triggered. A worker then
// has to accept until EAGAIN: the edge is spent, and nobody would tell it of
// the second of two connections.
func edgeTriggered(cycle *event.Cycle) {
	cycle.Event.MultiAccept = true
	cycle.Modules = append(cycle.Modules, event.Module{
		Name: "edge_triggered",
		InitProcess: func(cycle *event.Cycle) core.Status {
			for _, ls := range cycle.Listening {
				rev := ls.Connection.Read
				if cycle.DelEvent(rev, event.ReadEvent, 0) == core.Error ||
					cycle.AddEvent(rev, event.ReadEvent, event.ClearEvent) == core.Error {
					return core.Error
				}
			}
			return core.OK
		},
	})
}

// lockOnly takes the accept mutex apart: the lock is tried at the same place
// in the turn, but every worker's listeners stay registered. One that lost
// sees the connection too and must leave it alone; level-triggered, it sees
// it again at once, and spins until the holder accepts. A single worker has
// nobody to share with, and nginx then has no mutex.
func lockOnly(cycle *event.Cycle) {
	cycle.Event.AcceptMutex = true
	cycle.Actions.TrylockAcceptMutex = func(cycle *event.Cycle) core.Status {
		cycle.AcceptMutexHeld = cycle.AcceptMutex.Trylock()
		return cycle.Actions.EnableAcceptEvents(cycle)
	}
	cycle.Actions.Accept = func(ev *event.Event) {
		if cycle := ev.Data.Cycle; cycle.AcceptMutexHeld || !cycle.UseAcceptMutex {
			event.EventAccept(ev)
		}
	}
}
