package measure

import (
	"fmt"
	"os"
)

// witness is a second account of what the workers do, to hold against the
// first: the kernel's tracepoints against nginxref's own counters, context
// switches from /proc against the tracepoints for nginx. The tracepoints see
// every sleep of a thread, also those of Go's scheduler that are not in the
// wait. It sleeps on futexes, which are counted too and taken off.
type witness struct {
	name    string // empty: there is none
	read    func() ([]Sample, error)
	compare []quantity
	close   func()
}

// quantity is one figure of a Sample that two witnesses can be compared by.
type quantity struct {
	name string
	of   func(Sample) uint64
}

var (
	wakeups  = quantity{"wakeups", func(s Sample) uint64 { return s.Wakeups }}
	returns  = quantity{"returns with events", func(s Sample) uint64 { return s.ReturnsEvents }}
	timeouts = quantity{"timeouts", func(s Sample) uint64 { return s.ReturnsTimeout }}
	accepted = quantity{"connections accepted", func(s Sample) uint64 { return s.Accepted }}
	again    = quantity{"EAGAIN", func(s Sample) uint64 { return s.Again }}
)

// newWitness returns the witness against p.
func newWitness(p program) witness {
	if n, ok := p.(*nginx); ok {
		return witness{
			name:    "context switches",
			read:    n.contextSwitches,
			compare: []quantity{wakeups},
			close:   func() {},
		}
	}
	trace, err := OpenTracepoints(p.pids())
	if err != nil {
		return witness{close: func() {}}
	}
	return witness{
		name:    "tracepoints",
		read:    trace.Samples,
		compare: []quantity{wakeups, returns, timeouts, accepted, again},
		close:   trace.Close,
	}
}

// samples returns the witness's account, or nothing if there is none.
func (w *witness) samples() ([]Sample, error) {
	if w.name == "" {
		return nil, nil
	}
	return w.read()
}

// disagreements lists the quantities on which the two witnesses differ by
// more than 1 %, and more than 2.
func (w *witness) disagreements(before, after reading) (list []string) {
	if w.name == "" {
		return nil
	}
	first := sum(before.samples, after.samples)
	second := sum(before.second, after.second)
	for _, q := range w.compare {
		a, b := q.of(first), q.of(second)
		if diff := max(a, b) - min(a, b); diff > 2 && float64(diff) > 0.01*float64(max(a, b)) {
			list = append(list, fmt.Sprintf("%s: %d, but %s say %d", q.name, a, w.name, b))
		}
	}
	return list
}

// WitnessMissing says why the kernel's tracepoints cannot be had; nil if they
// can.
func WitnessMissing() error {
	trace, err := OpenTracepoints([]int{os.Getpid()})
	if err != nil {
		return err
	}
	trace.Close()
	return nil
}
