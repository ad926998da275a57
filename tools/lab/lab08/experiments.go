package lab08

import (
	"fmt"
	"io"

	"herd/nginxref/core"
	"herd/tools/fdpass"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of the runs.
const (
	workers = 4
	conns   = 200
	many    = 100_000
	leaky   = 2000
)

// Experiments returns the lab's measurement, with the student's functions in
// the master and the workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	own := &measure.Fix{
		Name:      "lab08",
		Beside:    "fdpass",
		About:     "the master passes descriptors: yours",
		Dispatch:  func(d *fdpass.Dispatcher) core.Status { return f.Dispatch(d) }, // set, whatever f is
		Configure: measure.ReceiveBy(f.Receive),
		Wakeups:   func(n, r, delay float64) float64 { return 2 * r },
	}
	leak := &measure.Fix{
		Name:      "lab08-leak",
		About:     "the same with the bug that Node once had",
		Dispatch:  keepADuplicate(f.Dispatch),
		Configure: measure.ReceiveBy(f.Receive),
		Wakeups:   own.Wakeups,
	}
	paced := measure.Load{Conns: conns}
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{own, leak},
		Runs: []lab.Experiment{
			{
				Title: "nginx today (EPOLLEXCLUSIVE, re-added): 200 connections, one by one",
				Conf:  conf("exclusive-reorder"), Load: paced,
				Figures: []lab.Figure{
					lab.Ask("nginx.busiest", "connections of the busiest worker", busiest),
					lab.Ask("nginx.wakeups", "wakeups per connection", wakeups),
				},
			},
			{
				Title: "yours: 200 connections, one by one",
				Conf:  conf(own.Name), Load: paced,
				Figures: []lab.Figure{
					lab.Ask("pass.busiest", "connections of the busiest worker", busiest),
					lab.Ask("pass.wakeups", "wakeups per connection, the master's among them", wakeups),
				},
			},
			{
				Title: fmt.Sprintf("yours: %d connections, 16 at a time", many),
				Conf:  conf(own.Name), Load: measure.Load{Clients: 16, Conns: many},
				Figures: []lab.Figure{
					lab.Ask("pass.descriptors", "descriptors that the master has more than before", descriptors),
				},
			},
			{
				Title: fmt.Sprintf("with Node's old bug, a duplicate kept for each connection: %d connections", leaky),
				Conf:  conf(leak.Name), Load: measure.Load{Clients: 16, Conns: leaky},
				Figures: []lab.Figure{
					lab.Ask("leak.descriptors", "descriptors that the master has more than before", descriptors),
				},
			},
		},
		Tell: tell,
	}
}

func conf(fix string) measure.Conf {
	return measure.Conf{Fix: fix, Workers: workers, DelayMsec: 500}
}

func wakeups(r *measure.Run) float64     { return r.WakeupsPerConn }
func descriptors(r *measure.Run) float64 { return float64(int64(r.Lab[0])) }

func busiest(r *measure.Run) float64 { return r.MaxShare() * float64(r.Accepted) }

// keepADuplicate returns dispatch with the leak: one descriptor more is kept
// for each connection.
func keepADuplicate(dispatch func(*fdpass.Dispatcher) core.Status) func(*fdpass.Dispatcher) core.Status {
	return func(d *fdpass.Dispatcher) core.Status {
		status := dispatch(d)
		if status == core.OK {
			d.Kernel.Eventfd() // any descriptor will do
		}
		return status
	}
}

func tell(w io.Writer, runs []measure.Run) {
	nginx, pass := &runs[0], &runs[1]
	fmt.Fprintf(w, `The shares of the workers: nginx %v, yours %v.
The price, in CPU time of all server threads per connection: nginx %.0f us, yours %.0f us,
and the master is one thread that every connection passes through.
`, nginx.Shares, pass.Shares, nginx.CPUUsPerConn, pass.CPUUsPerConn)
}
