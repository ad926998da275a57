package lab00

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
	workers = 8
	conns   = 80
)

// Experiments returns the lab's measurement, with the student's loops in the
// workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	level := fix("lab00-level", "none", "your level-triggered worker", f.LevelTriggered)
	edge := fix("lab00-edge", "et", "your edge-triggered worker", f.EdgeTriggered)
	blocking := fix("lab00-blocking", "blocking", "your blocking worker", f.Blocking)
	blocking.Blocking = true
	blocking.Wakeups = func(n, r, delay float64) float64 { return r }
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{level, edge, blocking},
		Runs: []lab.Experiment{
			experiment("8 level-triggered workers", level, wakeups("level"),
				lab.Ask("level.returns", "returns of epoll_wait per connection", func(r *measure.Run) float64 { return r.ReturnsPerConn }),
				eagain("level")),
			experiment("8 edge-triggered workers", edge, wakeups("edge"), eagain("edge")),
			experiment("8 blocking workers", blocking, wakeups("blocking"),
				lab.Ask("blocking.busiest", "connections of the busiest worker, of 80", func(r *measure.Run) float64 {
					return float64(slices.Max(r.Shares))
				})),
		},
		Tell: tell,
	}
}

func fix(name, beside, about string, loop Loop) *measure.Fix {
	return &measure.Fix{
		Name:    name,
		Beside:  beside,
		About:   about,
		Wakeups: measure.HerdWakeups,
		Loop: func(cycle *event.Cycle, serve func(conn int)) {
			loop(cycle.Kernel, cycle.Listening[0].Fd, serve)
		},
	}
}

func experiment(title string, fix *measure.Fix, figures ...lab.Figure) lab.Experiment {
	return lab.Experiment{
		Title:   title,
		Conf:    measure.Conf{Fix: fix.Name, Workers: workers},
		Load:    measure.Load{Conns: conns},
		Figures: figures,
	}
}

func wakeups(key string) lab.Figure {
	return lab.Ask(key+".wakeups", "wakeups per connection", func(r *measure.Run) float64 { return r.WakeupsPerConn })
}

func eagain(key string) lab.Figure {
	return lab.Ask(key+".eagain", "EAGAIN per connection", func(r *measure.Run) float64 { return r.EagainPerConn })
}

func tell(w io.Writer, runs []measure.Run) {
	level := runs[0]
	fmt.Fprintf(w, `A level-triggered worker that is woken and finds the queue empty goes back to sleep
inside the kernel: of %.2f wakeups per connection %.2f came back to your code. Who
looks at EAGAIN alone sees %.2f.
`, level.WakeupsPerConn, level.ReturnsPerConn, level.EagainPerConn)
}
