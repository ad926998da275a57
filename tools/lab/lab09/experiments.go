package lab09

import (
	"fmt"
	"io"
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of the runs.
const (
	workers = 8
	delay   = 500 // ms
	rate    = 2   // connections a second
)

// Experiments returns the lab's measurement: what a lease costs. A holder that
// sleeps cannot renew; so a leased mutex makes it wake, too.
func Experiments(dir string, f Functions) *lab.Experiments {
	leased := &measure.Fix{
		Name:      "lab09-lease",
		Beside:    "accept-mutex",
		Mutex:     true,
		About:     "nginx's accept mutex as a lease: yours",
		Configure: f.leased,
		Wakeups:   func(n, r, delay float64) float64 { return measure.MutexWakeups(n, r, delay) + 2/delay },
	}
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{leased},
		Runs: []lab.Experiment{
			experiment("nginx's accept mutex, 2 connections a second", "accept-mutex", "mutex"),
			experiment("yours, a lease of 500 ms that the holder renews every 250 ms", leased.Name, "lease"),
		},
		Tell: tell,
	}
}

func experiment(title, fix, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: fix, Workers: workers, DelayMsec: delay},
		Load:  measure.Load{Rate: rate, Conns: 8},
		Figures: []lab.Figure{
			lab.Ask(key+".polling", "polling wakeups a second", func(r *measure.Run) float64 { return r.PollingWakeupsPerS }),
			lab.Ask(key+".eagain", "EAGAIN per connection", func(r *measure.Run) float64 { return r.EagainPerConn }),
		},
	}
}

// leased makes the accept mutex of real workers a lease.
func (f *Functions) leased(cycle *event.Cycle) {
	cycle.Event.AcceptMutex = true
	cycle.Modules = append(cycle.Modules, event.Module{
		Name: "lease",
		InitProcess: func(cycle *event.Cycle) core.Status {
			// A word of nginx's zone that nothing here uses.
			lease := (*Lease)(unsafe.Pointer(&cycle.Zone.TempNumber.Word))
			f.lease(cycle, lease, delay)
			return core.OK
		},
	})
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintf(w, `With nginx's lock the holder sleeps for as long as nobody connects. With a lease it
must wake to renew it: %.1f polling wakeups a second instead of %.1f. That is the price
of surviving a holder that is stopped.
`, runs[1].PollingWakeupsPerS, runs[0].PollingWakeupsPerS)
}
