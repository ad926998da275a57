package lab06

import (
	"fmt"
	"io"
	"slices"

	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load: each connection comes when all workers are asleep.
const (
	workers = 4
	conns   = 200
)

// Experiments returns the lab's measurement, with the student's functions in
// the workers; part B's only if it is written.
func Experiments(dir string, f Functions) *lab.Experiments {
	e := &lab.Experiments{Dir: dir, Tell: tell}
	add := func(key, title string, configure func(cycle *event.Cycle)) *measure.Fix {
		own := fix(key, title, configure)
		e.Fix = append(e.Fix, own)
		e.Runs = append(e.Runs, experiment(key, own))
		return own
	}
	add("once", "EPOLLEXCLUSIVE, registered once", func(cycle *event.Cycle) {
		cycle.Actions.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) {}
	})
	add("reorder", "your ReorderAcceptEvents", f.partA).Beside = "exclusive-reorder"
	add("multi", "your ReorderAcceptEvents, multi_accept on", func(cycle *event.Cycle) {
		cycle.Event.MultiAccept = true
		f.partA(cycle)
	})
	if lab.Written(func() { f.Accept(nil) }) {
		add("accept", "your Accept, multi_accept on", func(cycle *event.Cycle) {
			cycle.Event.MultiAccept = true
			f.partB(cycle)
		})
	}
	return e
}

func fix(key, title string, configure func(cycle *event.Cycle)) *measure.Fix {
	return &measure.Fix{
		Name:  "lab06-" + key,
		About: title,
		Configure: func(cycle *event.Cycle) {
			cycle.Event.ExclusiveAccept = true
			configure(cycle)
			countMoves(cycle)
		},
		Wakeups: measure.OneWakeup,
	}
}

// countMoves counts the calls of epoll_ctl that accepting makes.
func countMoves(cycle *event.Cycle) {
	accept := cycle.Actions.Accept
	cycle.Actions.Accept = func(ev *event.Event) {
		s := ev.Data.Cycle.Counters
		before := s.CtlAdds + s.CtlDels
		accept(ev)
		s.Lab[0] += s.CtlAdds + s.CtlDels - before
	}
}

func experiment(key string, fix *measure.Fix) lab.Experiment {
	return lab.Experiment{
		Title: fix.About,
		Conf:  measure.Conf{Fix: fix.Name, Workers: workers},
		Load:  measure.Load{Conns: conns},
		Figures: []lab.Figure{
			lab.Ask(key+".wakeups", "wakeups per connection", func(r *measure.Run) float64 { return r.WakeupsPerConn }),
			lab.Ask(key+".eagain", "EAGAIN per connection", func(r *measure.Run) float64 { return r.EagainPerConn }),
			lab.Ask(key+".busiest", "connections of the busiest worker, of 200", func(r *measure.Run) float64 {
				return float64(slices.Max(r.Shares))
			}),
			lab.Ask(key+".price", "calls of epoll_ctl per connection", func(r *measure.Run) float64 {
				return float64(r.Lab[0]) / float64(r.Accepted)
			}),
		},
	}
}

func tell(w io.Writer, runs []measure.Run) {
	for _, run := range runs {
		fmt.Fprintf(w, "%-16s shares %v\n", run.Fix, run.Shares)
	}
}
