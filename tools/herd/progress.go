package main

import (
	"fmt"
	"io"
	"os"
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
}

func newProgress(f *os.File) *progress {
	return &progress{w: f, tty: term.IsTerminal(int(f.Fd()))}
}

// begin announces the next run.
func (p *progress) begin(conf measure.Conf, load measure.Load) {
	p.run++
	p.conns = load.Conns
	p.label = fmt.Sprintf("[%d/%d] %s %s, %d workers, %s", p.run, p.total, conf.Subject(), conf.Fix, conf.Workers, loadText(load))
	if !p.tty {
		fmt.Fprintf(p.w, "%s, %d connections\n", p.label, load.Conns)
	}
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
		fmt.Fprintf(p.w, "\r\033[K%s: %d of %d connections", p.label, done, p.conns)
	}
}

// clear removes the line.
func (p *progress) clear() {
	if p.tty {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
