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

// subjects returns the programs to measure each fix of: "" is nginxref.
func (opt *options) subjects() []string {
	switch {
	case opt.compare:
		return []string{"", opt.nginx}
	case opt.nginx != "":
		return []string{opt.nginx}
	}
	return []string{""}
}

// measureAll measures each fix of each subject under each load. The runs come
// in the order of the loads.
func measureAll(ctx context.Context, opt *options, p *progress) ([]measure.Run, error) {
	defer p.clear()
	loads := regimesOf(opt)
	byLoad := make([][]measure.Run, len(loads))
	p.total = len(opt.fixes) * len(opt.subjects()) * len(loads)
	for _, fix := range opt.fixes {
		for _, nginx := range opt.subjects() {
			conf := measure.Conf{
				Fix:       fix.Name,
				Workers:   opt.workers,
				DelayMsec: int(opt.delay.Milliseconds()),
				Nginx:     nginx,
			}
			runs, err := measureSubject(ctx, conf, opt.listen, loads, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fix.Name, err)
			}
			for i, run := range runs {
				byLoad[i] = append(byLoad[i], run)
			}
		}
	}
	return slices.Concat(byLoad...), nil
}

// measureSubject measures a fresh set of processes under each load.
func measureSubject(ctx context.Context, conf measure.Conf, listen string, loads []measure.Load, p *progress) ([]measure.Run, error) {
	s, err := measure.Start(ctx, conf, listen)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	var runs []measure.Run
	for _, load := range loads {
		p.begin(conf, load)
		run, err := s.Measure(ctx, load, p.step)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// progress keeps one line on a terminal up to date, or writes a line for each
// run elsewhere.
type progress struct {
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
	p.label = fmt.Sprintf("[%d/%d] %s %s, %s", p.run, p.total, conf.Subject(), conf.Fix, rateText(load.Rate))
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
