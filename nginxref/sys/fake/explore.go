package fake

import (
	"fmt"
	"time"
)

// Options says how a scenario is run. The zero value is fine.
type Options struct {
	// Policy picks who runs next; nil is RunToBlock. Explore has its own.
	Policy Policy
	// Slice is after how many calls in a row a process that never sleeps lets
	// the others go on; 0 is 50.
	Slice int
	// Steps is how many calls the processes make before all of them sleep;
	// more are a failure. 0 is 100,000.
	Steps int
	// Patience bounds by the wall clock how long a process may run without a
	// call; 0 is 10 s. Time in which this program does not run does not count.
	Patience time.Duration

	// Departures is how often a schedule that Explore tries may depart from
	// RunToBlock: by a preemption, or by a process that is not the one that
	// has waited longest.
	Departures int
	// Schedules is how many schedules Explore tries at most; 0 is 200,000. If
	// there are more, the report says so, and Check fails.
	Schedules int
}

func (o Options) withDefaults() Options {
	if o.Policy == nil {
		o.Policy = RunToBlock()
	}
	if o.Slice == 0 {
		o.Slice = 50
	}
	if o.Steps == 0 {
		o.Steps = 100_000
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Schedules == 0 {
		o.Schedules = 200_000
	}
	return o
}

// Report is what came of a scenario.
type Report struct {
	Failure   *Failure // the first, or nil
	Schedules int      // tried
	Complete  bool     // those were all there are within the bounds
}

// TB is the part of testing.TB that Check needs.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Check ends the test if the scenario failed, or if schedules were left out.
func (r *Report) Check(t TB) {
	t.Helper()
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	if !r.Complete {
		t.Fatal(fmt.Sprintf("not explored in full: %d schedules are too few; "+
			"allow fewer Departures, or make the scenario smaller", r.Schedules))
	}
}

// Run runs the scenario once, in a new World that ends with it. It keeps a
// trace.
func Run(scenario func(w *World), o Options) *Report {
	w := newWorld(o)
	w.tracing = true
	w.play(scenario)
	return &Report{Failure: w.failure, Schedules: 1, Complete: true}
}

// Explore runs the scenario, each time in a new World, under every schedule
// within the bounds of o, those with few departures first, until one fails.
// That one it runs again for its trace. Nothing but the World may be left over
// from one run to the next.
func Explore(scenario func(w *World), o Options) *Report {
	o = o.withDefaults()
	var r Report
	for queue := []*node{nil}; len(queue) > 0; queue = queue[1:] {
		if r.Schedules == o.Schedules {
			return &r
		}
		r.Schedules++
		n := queue[0]
		w := n.run(scenario, o, false)
		if w.failure != nil {
			r.Failure = n.run(scenario, o, true).failure
			if r.Failure == nil {
				r.Failure = w.failure
				r.Failure.Detail += " (and not when the same schedule was repeated: the scenario is not deterministic)"
			}
			return &r
		}
		queue = append(queue, n.children(w.decisions, o.Departures)...)
	}
	r.Complete = true
	return &r
}

// node is a schedule: that of parent, with one more departure behind its last.
type node struct {
	parent *node
	last   departure
	cost   int // departures that count
}

func (n *node) run(scenario func(w *World), o Options, tracing bool) *World {
	var list []departure
	for m := n; m != nil; m = m.parent {
		list = append([]departure{m.last}, list...)
	}
	o.Policy = departures(list)
	w := newWorld(o)
	w.tracing = tracing
	w.play(scenario)
	return w
}

// children returns the schedules with one departure more than n, given the
// decisions that n's run made. Each schedule is the child of one other.
func (n *node) children(made []decision, bound int) (all []*node) {
	from, cost := 0, 0
	if n != nil {
		from, cost = n.last.at+1, n.cost
	}
	for at := from; at < len(made); at++ {
		d := made[at]
		total := cost + 1
		if d.free {
			total = cost
		}
		if total > bound {
			continue
		}
		for choice := 1; choice < d.n; choice++ {
			all = append(all, &node{n, departure{at, choice, d.n}, total})
		}
	}
	return all
}

// play runs the scenario and ends the world.
func (w *World) play(scenario func(w *World)) {
	defer w.close()
	defer func() {
		if w.failure == nil {
			return // it ended well, or by a panic or Goexit of its own
		}
		if r := recover(); r != nil {
			if _, ok := r.(broken); !ok {
				panic(r)
			}
		}
		w.failure.Steps = w.Trace()
		w.failure.Schedule = w.schedule()
	}()
	scenario(w)
}
