package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"herd/tools/herd/report"
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

// loadAt returns the load of a rate: two seconds' worth, or a burst.
func loadAt(rate float64) measure.Load {
	if rate == 0 {
		return burst
	}
	return measure.Load{Rate: rate, Conns: max(1, int(2*rate))}
}

// regimesOf returns the loads that opt asks for.
func regimesOf(opt *options) []measure.Load {
	list := slices.Clone(regimes)
	if opt.rate >= 0 {
		list = []measure.Load{loadAt(opt.rate)}
	}
	if opt.conns > 0 {
		for i := range list {
			list[i].Conns = opt.conns
		}
	}
	return list
}

// measureMain is the command without a word: it measures, prints the table and
// writes the report.
func measureMain(ctx context.Context, args []string) error {
	opt, err := parse(args)
	if err != nil {
		return err
	}
	if err := opt.prepare(); err != nil {
		return err
	}
	res, err := measureAll(ctx, opt, newProgress(os.Stderr))
	if err != nil {
		return err
	}
	if opt.json {
		err = writeJSON(os.Stdout, res)
	} else {
		writeResults(os.Stdout, opt, res)
	}
	if err == nil && opt.report != "" {
		err = saveReport(opt.report, res)
	}
	return err
}

// prepare says beforehand what would go wrong at the end.
func (opt *options) prepare() error {
	if opt.report == "" {
		return nil
	}
	if err := checkReport(opt.report); err != nil {
		if opt.asked {
			return err
		}
		fmt.Fprintln(os.Stderr, "No report is written:", err)
		opt.report = ""
		return nil
	}
	if opt.whole {
		return measure.CheckNofile(slices.Max(scalingWorkers))
	}
	return nil
}

// measureAll measures each fix of each subject under each load, and what the
// report shows beside. The runs come in the order of the loads.
func measureAll(ctx context.Context, opt *options, p *progress) (*report.Results, error) {
	defer p.clear()
	res := newResults(opt)
	loads := regimesOf(opt)
	extra := opt.report != "" && opt.whole
	for range len(opt.fixes) * len(opt.subjects()) {
		p.plan(loads)
	}
	if extra {
		opt.planExtras(p)
	}
	byLoad := make([][]measure.Run, len(loads))
	for _, fix := range opt.fixes {
		for _, nginx := range opt.subjects() {
			keep := func(i int, run measure.Run) error {
				byLoad[i] = append(byLoad[i], run)
				return nil
			}
			if err := measureSubject(ctx, opt.conf(fix, nginx, opt.workers), opt.listen, loads, p, keep); err != nil {
				return nil, failed(fix, err)
			}
		}
	}
	res.Runs = slices.Concat(byLoad...)
	if extra {
		return res, measureExtras(ctx, opt, res, p)
	}
	return res, nil
}

func newResults(opt *options) *report.Results {
	return &report.Results{
		DelayMs:    opt.delay.Milliseconds(),
		MeasuredAt: time.Now().Truncate(time.Second),
		Machine:    measure.ThisMachine(),
	}
}

func failed(fix *measure.Fix, err error) error { return fmt.Errorf("%s: %w", fix.Name, err) }

// measureSubject measures a fresh set of processes under each load, and gives
// each run to keep, with the number of the load.
func measureSubject(ctx context.Context, conf measure.Conf, listen string, loads []measure.Load, p *progress,
	keep func(i int, run measure.Run) error) error {
	s, err := measure.Start(ctx, conf, listen)
	if err != nil {
		return err
	}
	defer s.Stop()
	for i, load := range loads {
		p.begin(conf, load)
		run, err := s.Measure(ctx, load, p.step)
		if err == nil {
			err = keep(i, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
