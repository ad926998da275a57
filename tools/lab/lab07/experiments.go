package lab07

import (
	"context"
	"fmt"
	"io"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/measure"
)

// Of the runs with a busy worker: it is kept from its loop for so long, then
// gets a pause, and so on.
const (
	busyFor = 200 * time.Millisecond
	pause   = 50 // ms
)

// leaveAfter is when the worker of part B leaves, in ms.
const leaveAfter = 500

// Experiments returns the lab's measurement, with the student's functions in
// the workers; part B's only if it is written.
func Experiments(dir string, f Functions) *lab.Experiments {
	e := &lab.Experiments{Dir: dir, Tell: tell}
	add := func(fix *measure.Fix, workers int, load measure.Load, figures ...lab.Figure) {
		e.Fix = append(e.Fix, fix)
		e.Runs = append(e.Runs, lab.Experiment{
			Title:   fix.About,
			Conf:    measure.Conf{Fix: fix.Name, Workers: workers},
			Load:    load,
			Figures: figures,
		})
	}
	slow := func(r *measure.Run) float64 { return float64(r.Slow) }
	lost := func(r *measure.Run) float64 { return float64(r.Refused) }

	own := f.fix("own", "8 workers, each with a socket of its own; connections come one by one", nil)
	own.Beside = "reuseport"
	add(own, 8, measure.Load{Conns: 200},
		lab.Ask("own.wakeups", "wakeups per connection", func(r *measure.Run) float64 { return r.WakeupsPerConn }),
		lab.Ask("own.busiest", "connections of the busiest worker, percent", func(r *measure.Run) float64 { return 100 * r.MaxShare() }))
	add(shared(), 4, measure.Load{Rate: 100, Conns: 300},
		lab.Ask("shared.slow", "of 300 connections, those that waited over 50 ms", slow))
	add(f.fix("busy", "the same with a socket for each worker", busy),
		4, measure.Load{Rate: 100, Conns: 300},
		lab.Ask("busy.slow", "of 300 connections, those that waited over 50 ms", slow))
	if lab.Written(func() { f.Adopt(nil, 0) }) && lab.Written(func() { f.Leave(nil) }) {
		add(f.fix("leave", "your part B: one of 4 workers leaves under load", f.leave),
			4, measure.Load{Rate: 200, Conns: 200, Hold: true},
			lab.Ask("leave.lost", "of 200 connections, those that were lost", lost))
	}
	e.Runs = append(e.Runs, lab.Experiment{
		Title:   "no workers: 40 connections wait in 4 sockets, and one is closed",
		Run:     closeOne,
		Figures: []lab.Figure{lab.Ask("close.lost", "of 40 connections, those that were lost", lost)},
	})
	return e
}

// fix is part A, with a change.
func (f *Functions) fix(key, about string, change func(*event.Cycle)) *measure.Fix {
	return &measure.Fix{
		Name:      "lab07-" + key,
		About:     about,
		Reuseport: true,
		Configure: func(cycle *event.Cycle) {
			f.partA(cycle)
			if change != nil {
				change(cycle)
			}
		},
		Wakeups: measure.OneWakeup,
	}
}

// shared is one socket for all, as nginx has it without reuseport, and a busy
// worker.
func shared() *measure.Fix {
	return &measure.Fix{
		Name:  "lab07-shared",
		About: "4 workers and one socket, and a worker that is busy 200 ms at a time",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.ExclusiveAccept = true
			busy(cycle)
		},
		Wakeups: measure.OneWakeup,
	}
}

// after has worker do something when msec have passed since its start.
func after(cycle *event.Cycle, worker int, msec core.Msec, do event.Handler) {
	cycle.Modules = append(cycle.Modules, event.Module{
		Name: "lab07",
		InitProcess: func(cycle *event.Cycle) core.Status {
			if cycle.Worker == worker {
				cycle.AddTimer(&event.Event{Log: cycle.Log, Handler: do}, msec)
			}
			return core.OK
		},
	})
}

// busy keeps worker 0 from its loop again and again.
func busy(cycle *event.Cycle) {
	after(cycle, 0, pause, func(ev *event.Event) {
		time.Sleep(busyFor)
		cycle.Time.TimeUpdate()
		cycle.AddTimer(ev, pause)
	})
}

// leave has worker 1 leave and worker 0 adopt its socket.
func (f *Functions) leave(cycle *event.Cycle) {
	after(cycle, 0, leaveAfter, func(*event.Event) { f.Adopt(cycle, 1) })
	after(cycle, 1, leaveAfter, func(*event.Event) { f.Leave(cycle) })
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintf(w, `The kernel chooses a socket by a hash of the connection's addresses, whoever is busy:
a quarter of them waits for the busy worker. And what waits in the queue of a socket
is the socket's: of %d connections %d were reset when it was closed.
`, runs[len(runs)-1].Conns, runs[len(runs)-1].Refused)
}

// Of the run that closes a socket.
const (
	sockets = 4
	clients = 40
)

// closeOne has clients connect to some sockets of one port, closes the first
// without accepting, and serves the others.
func closeOne(ctx context.Context) (measure.Run, error) {
	listeners, err := listen(ctx, sockets)
	if err != nil {
		return measure.Run{}, err
	}
	defer closeAll(listeners)
	conns, err := connect(ctx, listeners[0].Addr().String(), clients)
	if err != nil {
		return measure.Run{}, err
	}
	listeners[0].Close()
	for _, l := range listeners[1:] {
		go greetAll(l)
	}
	run := measure.Run{Conns: clients}
	for _, conn := range conns {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			run.Refused++
		}
		conn.Close()
	}
	return run, nil
}
