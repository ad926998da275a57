package lab01

import (
	"fmt"
	"io"
	"slices"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of all runs: each connection comes when all workers are asleep.
const (
	workers = 8
	delay   = 500 // ms
	conns   = 100
)

// Experiments returns the lab's measurement, with the student's mutex in the
// workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	try := &measure.Fix{
		Name:      "lab01-try",
		Beside:    "accept-mutex",
		Mutex:     true,
		About:     "nginx's accept mutex, made of your Trylock and Unlock",
		Configure: f.acceptMutex,
		Wakeups:   measure.MutexWakeups,
	}
	wait := &measure.Fix{
		Name:    "lab01-wait",
		About:   "workers that wait for your Lock, and then for a connection",
		Loop:    f.waitInTurn,
		Wakeups: func(n, r, delay float64) float64 { return 2 * r },
	}
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{try, wait},
		Runs: []lab.Experiment{
			experiment("no lock", "none", "none"),
			experiment("a lock that is tried, by your Trylock", try.Name, "try"),
			experiment("a lock that is waited for, by your Lock", wait.Name, "wait"),
		},
		Tell: tell,
	}
}

func experiment(title, fix, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: fix, Workers: workers, DelayMsec: delay},
		Load:  measure.Load{Conns: conns},
		Figures: []lab.Figure{
			lab.Ask(key+".eagain", "EAGAIN per connection", func(r *measure.Run) float64 { return r.EagainPerConn }),
			lab.Ask(key+".wakeups", "wakeups per connection, without polling", func(r *measure.Run) float64 { return r.WakeupsPerConn }),
			lab.Ask(key+".busiest", "connections of the busiest worker, of 100", func(r *measure.Run) float64 {
				return float64(slices.Max(r.Shares))
			}),
		},
	}
}

// mutex is the student's, as the event core calls it.
type mutex struct {
	f *Functions
	k sys.Kernel
	m *shmtx.Shared
}

func (m *mutex) Trylock() bool            { return m.f.Trylock(m.k, m.m) }
func (m *mutex) Lock()                    { m.f.Lock(m.k, m.m) }
func (m *mutex) Unlock()                  { m.f.Unlock(m.k, m.m) }
func (m *mutex) ForceUnlock(pid int) bool { return m.f.ForceUnlock(m.k, m.m, pid) }

// acceptMutex has the workers try for the student's mutex.
func (f *Functions) acceptMutex(cycle *event.Cycle) {
	cycle.Event.AcceptMutex = true
	cycle.Modules = append(cycle.Modules, event.Module{
		Name: "lab01",
		InitProcess: func(cycle *event.Cycle) core.Status {
			cycle.AcceptMutex = &mutex{f, cycle.Kernel, &cycle.Zone.AcceptMutex}
			return core.OK
		},
	})
}

// waitInTurn is a worker that has the lock while it waits for a connection and
// accepts it. It serves it without the lock.
func (f *Functions) waitInTurn(cycle *event.Cycle, serve func(conn int)) {
	k, m, listener := cycle.Kernel, &cycle.Zone.AcceptMutex, cycle.Listening[0].Fd
	ep, _ := k.EpollCreate()
	k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))

	list := make([]sys.EpollEvent, 1)
	var addr sys.Sockaddr
	for {
		f.Lock(k, m)
		k.EpollWait(ep, list, -1)
		conn, err := k.Accept4(listener, &addr)
		f.Unlock(k, m)
		if err == 0 {
			serve(conn)
		}
	}
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprint(w, `Both locks end the failed accepts. A worker that tries and loses goes on with its
other work and comes back after a while: the winner keeps winning. A worker that
waits does nothing else; it is woken for its turn, and gets it unless the worker
that has unlocked is back first.
`)
}
