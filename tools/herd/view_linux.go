package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// view is one sample of watch: what each worker did in a while.
type view struct {
	title   string
	note    string // what is missing, and why
	columns []viewColumn
	rows    []viewRow
}

// viewRow is what one worker did, per second, or all of them.
type viewRow struct {
	label  string
	state  measure.WorkerState // the differences
	silent uint64
	secs   float64
	share  float64 // of all accepts, 0 to 1
}

// viewColumn is one column: a group's name stands above its first.
type viewColumn struct {
	group, head string
	width       int
	text        func(r *viewRow) string
}

// perSecond shows a count as a rate.
func perSecond(group, head string, width int, count func(r *viewRow) uint64) viewColumn {
	return viewColumn{group, head, width, func(r *viewRow) string { return rateFigure(float64(count(r)) / r.secs) }}
}

// rateFigure prints a rate: a quiet worker's with a decimal.
func rateFigure(x float64) string {
	if x > 0 && x < 99.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// silent returns how many wakeups ended inside the kernel: it found nothing
// left for the worker and put it back to sleep. A return that had not slept
// hides one.
func silent(s *measure.WorkerState) uint64 {
	if known := s.WakeupsTimeout + s.ReturnsEvents + s.ReturnsSignal; s.Wakeups > known {
		return s.Wakeups - known
	}
	return 0
}

var (
	cpuColumns = []viewColumn{
		{"", "CPU %", 7, func(r *viewRow) string { return fmt.Sprintf("%.1f", float64(r.state.CPUNsec)/1e7/r.secs) }},
	}
	wakeupColumns = []viewColumn{
		perSecond("wakeups/s", "all", 10, func(r *viewRow) uint64 { return r.state.Wakeups }),
	}
	countColumns = []viewColumn{
		perSecond("", "event", 8, func(r *viewRow) uint64 {
			return r.state.Wakeups - min(r.state.Wakeups, r.state.WakeupsTimeout+r.silent)
		}),
		perSecond("", "timeout", 8, func(r *viewRow) uint64 { return r.state.WakeupsTimeout }),
		perSecond("", "silent", 8, func(r *viewRow) uint64 { return r.silent }),
		perSecond("", "accepts/s", 11, func(r *viewRow) uint64 { return r.state.Accepted }),
		perSecond("", "EAGAIN/s", 10, func(r *viewRow) uint64 { return r.state.Again }),
		{"", "share", 7, func(r *viewRow) string { return fmt.Sprintf("%.0f %%", 100*r.share) }},
	}
	lockColumns = []viewColumn{
		{"", "open", 6, func(r *viewRow) string { return fmt.Sprint(r.state.Connections) }},
		perSecond("lock/s", "tries", 9, func(r *viewRow) uint64 { return r.state.LockTries }),
		perSecond("", "wins", 8, func(r *viewRow) uint64 { return r.state.LockWins }),
		{"", "held", 7, func(r *viewRow) string { return fmt.Sprintf("%.0f %%", float64(r.state.LockHoldNsec)/1e7/r.secs) }},
	}
)

// newView compares two samples.
func newView(watched *measure.Watched, before, after []measure.WorkerState, took time.Duration) *view {
	v := &view{title: title(watched, after), columns: slices.Concat(cpuColumns, wakeupColumns)}
	if watched.Counts() {
		v.columns = append(v.columns, countColumns...)
	} else {
		v.note = fmt.Sprintf("Wakeups only: %v.", watched.Missing)
	}
	if watched.Locks() {
		v.columns = append(v.columns, lockColumns...)
	}

	total := viewRow{label: "all", secs: took.Seconds()}
	for _, a := range after {
		i := slices.IndexFunc(before, func(b measure.WorkerState) bool { return b.Pid == a.Pid })
		if i < 0 {
			continue // new: its first sample is the beginning
		}
		d := difference(&before[i], &a)
		add(&total.state, &d)
		total.silent += silent(&d)
		v.rows = append(v.rows, viewRow{label: fmt.Sprint(a.Pid), state: d, silent: silent(&d), secs: took.Seconds()})
	}
	for i := range v.rows {
		if total.state.Accepted > 0 {
			v.rows[i].share = float64(v.rows[i].state.Accepted) / float64(total.state.Accepted)
			total.share = 1
		}
	}
	v.rows = append(v.rows, total)
	return v
}

func title(watched *measure.Watched, workers []measure.WorkerState) string {
	return fmt.Sprintf("%s %d, %s, by %s", watched.Program, watched.Pid, report.Plural(len(workers), "worker"), watched.Source)
}

// difference returns what happened between two states of a worker. A state is
// not read at one instant, so a count may seem to go back by one.
func difference(before, after *measure.WorkerState) measure.WorkerState {
	since := func(a, b uint64) uint64 { return a - min(a, b) }
	d := measure.WorkerState{
		Pid:           after.Pid,
		ReturnsSignal: since(after.ReturnsSignal, before.ReturnsSignal),
		Connections:   after.Connections,
		LockTries:     since(after.LockTries, before.LockTries),
		LockWins:      since(after.LockWins, before.LockWins),
		LockHoldNsec:  since(after.LockHoldNsec, before.LockHoldNsec),
	}
	d.Accepted = since(after.Accepted, before.Accepted)
	d.Again = since(after.Again, before.Again)
	d.ReturnsEvents = since(after.ReturnsEvents, before.ReturnsEvents)
	d.Wakeups = since(after.Wakeups, before.Wakeups)
	d.WakeupsTimeout = since(after.WakeupsTimeout, before.WakeupsTimeout)
	d.CPUNsec = since(after.CPUNsec, before.CPUNsec)
	return d
}

// add adds d to sum.
func add(sum, d *measure.WorkerState) {
	sum.ReturnsSignal += d.ReturnsSignal
	sum.Connections += d.Connections
	sum.LockTries += d.LockTries
	sum.LockWins += d.LockWins
	sum.LockHoldNsec += d.LockHoldNsec
	sum.Accepted += d.Accepted
	sum.Again += d.Again
	sum.ReturnsEvents += d.ReturnsEvents
	sum.Wakeups += d.Wakeups
	sum.WakeupsTimeout += d.WakeupsTimeout
	sum.CPUNsec += d.CPUNsec
}

// lines are the view as text.
func (v *view) lines() []string {
	lines := []string{v.title}
	if v.note != "" {
		lines = append(lines, strings.Split(wrap(v.note, ""), "\n")...)
	}
	groups, heads := fmt.Sprintf("%8s", ""), fmt.Sprintf("%8s", "worker")
	for _, c := range v.columns {
		groups += fmt.Sprintf("%*s", c.width, c.group)
		heads += fmt.Sprintf("%*s", c.width, c.head)
	}
	if v.columns != nil {
		lines = append(lines, "", groups, heads)
	}
	for i := range v.rows {
		line := fmt.Sprintf("%8s", v.rows[i].label)
		for _, c := range v.columns {
			line += fmt.Sprintf("%*s", c.width, c.text(&v.rows[i]))
		}
		lines = append(lines, line)
	}
	return lines
}
