package lab02

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of all runs: each connection comes when all workers are asleep.
const (
	workers = 8
	delay   = 500 // ms
	conns   = 100
)

// Experiments returns the lab's measurement, with the student's lock in the
// workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	own := fix("lab02-fcntl", "your file lock", func(cycle *event.Cycle) shmtx.Mutex {
		return &mutex{&f, cycle.Kernel, cycle.LockFile.Fd}
	})
	own.Beside = "file-lock"
	inherited := fix("lab02-flock", "flock, on the descriptor that all workers have inherited", func(cycle *event.Cycle) shmtx.Mutex {
		return &flock{fd: cycle.LockFile.Fd}
	})
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{own, inherited},
		Runs: []lab.Experiment{
			experiment("no lock", "none", "none"),
			experiment(own.About, own.Name, "fcntl"),
			experiment(inherited.About, inherited.Name, "flock"),
		},
		Tell: tell,
	}
}

// fix is the reference's file lock with another mutex on the same file.
func fix(name, about string, newMutex func(cycle *event.Cycle) shmtx.Mutex) *measure.Fix {
	reference, err := measure.FixByName("file-lock")
	if err != nil {
		panic(err)
	}
	return &measure.Fix{
		Name:    name,
		About:   about,
		Mutex:   true,
		Wakeups: reference.Wakeups,
		Configure: func(cycle *event.Cycle) {
			reference.Configure(cycle)
			cycle.Modules = append(cycle.Modules, event.Module{
				Name: "lab02",
				InitProcess: func(cycle *event.Cycle) core.Status {
					cycle.AcceptMutex = newMutex(cycle)
					return core.OK
				},
			})
		},
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
		},
	}
}

// flock is a lock that belongs to the open file, not to the process.
type flock struct{ fd int }

func (f *flock) Trylock() bool            { return unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB) == nil }
func (f *flock) Lock()                    { unix.Flock(f.fd, unix.LOCK_EX) }
func (f *flock) Unlock()                  { unix.Flock(f.fd, unix.LOCK_UN) }
func (f *flock) ForceUnlock(pid int) bool { return false }

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintf(w, `With your lock one worker at a time accepts. With flock on the same descriptor every
worker "has" the lock: %.2f wakeups per connection, as without any.
`, runs[2].WakeupsPerConn)
}
