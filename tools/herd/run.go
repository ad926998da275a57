package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"herd/tools/measure"
)

const (
	defaultWorkers = 8
	burstClients   = 32
)

// burst is a closed loop: as fast as the workers serve.
var burst = measure.Load{Clients: burstClients, Conns: 2000}

// regimes are the loads of the standard measurement: nearly idle, where
// polling shows; paced, where the workers fall asleep between connections; and
// as fast as it goes.
var regimes = []measure.Load{{Rate: 1, Conns: 2}, {Rate: 100, Conns: 100}, burst}

// regimesOf returns the loads that opt asks for.
func regimesOf(opt *options) []measure.Load {
	list := slices.Clone(regimes)
	switch {
	case opt.rate > 0:
		list = []measure.Load{{Rate: opt.rate, Conns: max(1, int(2*opt.rate))}}
	case opt.rate == 0:
		list = []measure.Load{burst}
	}
	if opt.conns > 0 {
		for i := range list {
			list[i].Conns = opt.conns
		}
	}
	return list
}

// measureAll measures each fix under each load, in the order of the regimes.
func measureAll(ctx context.Context, opt *options, p *progress) ([]measure.Run, error) {
	defer p.clear()
	list := regimesOf(opt)
	byRegime := make([][]measure.Run, len(list))
	for i, fix := range opt.fixes {
		err := measureFix(ctx, opt, fix, func(s *measure.Subject) error {
			for j, r := range list {
				p.begin(i*len(list)+j+1, len(opt.fixes)*len(list), fix.Name, r)
				run, err := s.Measure(ctx, r, p.step)
				if err != nil {
					return err
				}
				byRegime[j] = append(byRegime[j], run)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fix.Name, err)
		}
	}
	var runs []measure.Run
	for _, r := range byRegime {
		runs = append(runs, r...)
	}
	return runs, nil
}

// measureFix runs measurements on a fresh set of processes.
func measureFix(ctx context.Context, opt *options, fix *measure.Fix, measurements func(*measure.Subject) error) error {
	s, err := measure.Start(ctx, measure.Conf{
		Fix:       fix.Name,
		Workers:   opt.workers,
		DelayMsec: int(opt.delay.Milliseconds()),
	}, opt.listen)
	if err != nil {
		return err
	}
	defer s.Stop()
	return measurements(s)
}

// progress keeps one line on a terminal up to date, or writes a line for each
// run elsewhere.
type progress struct {
	w     io.Writer
	tty   bool
	label string
	conns int
	last  time.Time
}

func newProgress(f *os.File) *progress {
	return &progress{w: f, tty: term.IsTerminal(int(f.Fd()))}
}

// begin announces run i of n.
func (p *progress) begin(i, n int, fix string, load measure.Load) {
	p.conns = load.Conns
	p.label = fmt.Sprintf("[%d/%d] %s, %s", i, n, fix, rateText(load.Rate))
	if !p.tty {
		fmt.Fprintf(p.w, "%s, %d connections\n", p.label, load.Conns)
	}
}

// step shows how many connections of the run are done, at most ten times a
// second.
func (p *progress) step(done int) {
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

// rateText names a load in words.
func rateText(rate float64) string {
	if rate == 0 {
		return "burst"
	}
	return fmt.Sprintf("%g/s", rate)
}
