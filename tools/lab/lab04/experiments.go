package lab04

import (
	"fmt"
	"io"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of both runs: a worker is busy with a connection half of the time
// until the next one comes, long enough for each of the others to try for the
// lock.
const (
	workers = 4
	delay   = 10 // ms
	rate    = 25 // connections a second
	conns   = 50
	work    = 20 * time.Millisecond // for each connection
)

// What the workers count (stat.Worker.Lab).
const (
	underLock = iota // connections served while the worker had the lock
	heldNsec         // from the end of a wait to the unlock
)

// Experiments returns the lab's measurement, with the student's turn in the
// workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	inside := &measure.Fix{
		Name:      "lab04-inside",
		About:     "your turn; a connection is served in the handler that accepts it",
		Configure: func(cycle *event.Cycle) { f.serve(cycle, false) },
		Wakeups:   measure.MutexWakeups,
	}
	posted := &measure.Fix{
		Name:      "lab04-posted",
		About:     "your turn; serving a connection is posted",
		Configure: func(cycle *event.Cycle) { f.serve(cycle, true) },
		Wakeups:   measure.MutexWakeups,
	}
	own := &measure.Fix{
		Name:   "lab04",
		Beside: "accept-mutex",
		Mutex:  true,
		About:  "your turn, without that work",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.AcceptMutex = true
			cycle.Actions.ProcessEventsAndTimers = f.Turn
		},
		Wakeups: measure.MutexWakeups,
	}
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{inside, posted, own},
		Runs: []lab.Experiment{
			experiment("20 ms of work for each connection, done where it is accepted", inside, "inside"),
			experiment("the same work, posted", posted, "posted"),
		},
		Tell: tell,
	}
}

func experiment(title string, fix *measure.Fix, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: fix.Name, Workers: workers, DelayMsec: delay},
		Load:  measure.Load{Rate: rate, Conns: conns},
		Figures: []lab.Figure{
			lab.Ask(key+".under_lock", "connections served under the lock, percent", func(r *measure.Run) float64 {
				return 100 * float64(r.Lab[underLock]) / float64(r.Accepted)
			}),
			lab.Ask(key+".busiest", "connections of the busiest worker, percent", func(r *measure.Run) float64 {
				return 100 * r.MaxShare()
			}),
		},
	}
}

// serve has the workers take the student's turns and work for each connection:
// at once, or when its turn comes.
func (f *Functions) serve(cycle *event.Cycle, posted bool) {
	cycle.Event.AcceptMutex = true
	cycle.Actions.ProcessEventsAndTimers = f.Turn
	cycle.Modules = append(cycle.Modules, event.Module{Name: "lab04", InitProcess: timeTheLock})

	for _, ls := range cycle.Listening {
		greet := ls.Handler
		serve := func(c *event.Connection) {
			if hasLock(cycle) {
				cycle.Counters.Lab[underLock]++
			}
			time.Sleep(work)
			greet(c)
		}
		ls.Handler = serve
		if posted {
			ls.Handler = func(c *event.Connection) {
				c.Read.Handler = func(ev *event.Event) { serve(ev.Data) }
				f.PostEvent(c.Read, &cycle.PostedEvents)
			}
		}
	}
}

// hasLock reports whether the process has the accept mutex.
func hasLock(cycle *event.Cycle) bool {
	k := cycle.Kernel
	return k.AtomicLoad(&cycle.Zone.AcceptMutex.Lock) == uint64(k.Getpid())
}

// timeTheLock has the worker count how long it keeps the lock when it is not
// asleep.
func timeTheLock(cycle *event.Cycle) core.Status {
	k := &awake{Kernel: cycle.Kernel}
	cycle.Kernel = k
	cycle.AcceptMutex = &timed{cycle.AcceptMutex, cycle, k}
	return core.OK
}

// awake is a kernel that knows when the last wait ended.
type awake struct {
	sys.Kernel
	since uint64 // nanoseconds
}

func (k *awake) EpollWait(ep int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	n, err := k.Kernel.EpollWait(ep, list, msec)
	k.since = k.MonotonicNsec()
	return n, err
}

// timed is the accept mutex of one worker.
type timed struct {
	shmtx.Mutex
	cycle *event.Cycle
	k     *awake
}

func (m *timed) Unlock() {
	if hasLock(m.cycle) {
		m.cycle.Counters.Lab[heldNsec] += m.k.MonotonicNsec() - m.k.since
	}
	m.Mutex.Unlock()
}

func tell(w io.Writer, runs []measure.Run) {
	held := func(r measure.Run) float64 { return float64(r.Lab[heldNsec]) / float64(r.Accepted) / 1e3 }
	fmt.Fprintf(w, `A worker that was awake kept the lock for %.0f us a connection, and for %.0f us
when the work was posted. While it works without the lock, another one that comes
by gets it, and the next connection.
`, held(runs[0]), held(runs[1]))
}
