package lab03

import (
	"fmt"
	"io"

	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load of the four runs: rates below and above 1/accept_mutex_delay.
const (
	workers = 8
	delay   = 500 // ms
	low     = 1   // connections a second
	high    = 100
)

// Experiments returns the lab's measurement, with the student's functions in
// the workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	own := &measure.Fix{
		Name:   "lab03",
		Beside: "accept-mutex",
		Mutex:  true,
		About:  "the accept mutex that you wrote",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.AcceptMutex = true
			f.partA(cycle)
		},
		Wakeups: measure.MutexWakeups,
	}
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{own},
		Runs: []lab.Experiment{
			experiment("no fix, 100 connections a second", "none", high, "none"),
			experiment("the lock alone, 100 connections a second", "lock-only", high, "lock"),
			experiment("your accept mutex, 1 connection a second", "lab03", low, "low"),
			experiment("your accept mutex, 100 connections a second", "lab03", high, "high"),
		},
		Tell: tell,
	}
}

func experiment(title, fix string, rate float64, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: fix, Workers: workers, DelayMsec: delay},
		Load:  measure.Load{Rate: rate, Conns: int(max(4, rate))},
		Figures: []lab.Figure{
			{Question: lab.Question{Name: key + ".eagain", Text: "EAGAIN per connection"},
				Of: func(r *measure.Run) float64 { return r.EagainPerConn }},
			{Question: lab.Question{Name: key + ".wakeups_per_s", Text: "wakeups a second, of all workers"},
				Of: func(r *measure.Run) float64 { return r.WakeupsPerS }},
		},
	}
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintf(w, `Without a fix the %d workers wake %d times for each connection. At which rate
does the mutex wake as many? Find it: measure with other rates,

  go run ./tools/herd -fix none,accept-mutex -rate 2

and then change accept_mutex_delay with -delay.
`, workers, workers)
}
