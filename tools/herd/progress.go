package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// progress keeps one line on a terminal up to date, or writes a line for each
// run elsewhere.
type progress struct {
	mu    sync.Mutex // step is called by many clients at once
	w     io.Writer
	tty   bool
	run   int // the current one, of total
	total int
	label string
	conns int
	last  time.Time

	// For the estimate: how long the runs should take, all of them and those
	// before the current one.
	cost, spent, current time.Duration
	began                time.Time
}

func newProgress(f *os.File) *progress {
	return &progress{w: f, tty: term.IsTerminal(int(f.Fd()))}
}

// plan announces runs that will come.
func (p *progress) plan(loads []measure.Load) {
	p.total += len(loads)
	for _, load := range loads {
		p.cost += costOf(load)
	}
}

// costOf returns about how long a run takes.
func costOf(load measure.Load) time.Duration {
	const around = 150 * time.Millisecond // to start, to settle, to stop
	if load.Rate > 0 {
		return around + time.Duration(float64(load.Conns)/load.Rate*float64(time.Second))
	}
	return around + time.Duration(load.Conns)*200*time.Microsecond
}

// begin announces the next run.
func (p *progress) begin(conf measure.Conf, load measure.Load) {
	if p.run == 0 {
		p.began = time.Now()
	}
	p.run++
	p.spent += p.current
	p.current = costOf(load)
	p.conns = load.Conns
	p.label = fmt.Sprintf("%s %s, %s, %s", conf.Subject(), conf.Fix, report.Plural(conf.Workers, "worker"), loadText(load))
	if !p.tty {
		fmt.Fprintf(p.w, "[%d/%d] %s, %d connections%s\n", p.run, p.total, p.label, load.Conns, p.left())
	}
}

// left says how long the rest may take, once there is some experience.
func (p *progress) left() string {
	elapsed := time.Since(p.began)
	if p.spent < 3*time.Second {
		return ""
	}
	rest := time.Duration(float64(p.cost-p.spent) * float64(elapsed) / float64(p.spent))
	if rest > 90*time.Second {
		return fmt.Sprintf(", about %.0f min left", rest.Minutes())
	}
	return fmt.Sprintf(", about %.0f s left", rest.Seconds())
}

// loadText names a load in a word or two.
func loadText(load measure.Load) string {
	if load.Rate == 0 && load.Clients == 0 {
		return measure.OneByOne
	}
	return report.RateText(load.Rate)
}

// step shows how many connections of the run are done, at most ten times a
// second.
func (p *progress) step(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty && (time.Since(p.last) > 100*time.Millisecond || done == p.conns) {
		p.last = time.Now()
		fmt.Fprintf(p.w, "\r\033[K%s %d/%d%s: %s, %d of %d", p.bar(done), p.run, p.total, p.left(), p.label, done, p.conns)
	}
}

// bar draws how much of all is done.
func (p *progress) bar(done int) string {
	const width = 20
	part := float64(p.spent) + float64(p.current)*float64(done)/float64(p.conns)
	full := min(width, int(width*part/float64(p.cost)))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// clear removes the line.
func (p *progress) clear() {
	if p.tty {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
