package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"herd/tools/herd/report"
	"herd/tools/lab"
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
	if err := opt.build(ctx); err != nil {
		return err
	}
	res, err := measureAll(ctx, opt, newProgress(os.Stderr))
	if err != nil {
		return err
	}
	if opt.json {
		err = writeJSON(os.Stdout, res)
	} else {
		err = printed(func(w io.Writer) { writeResults(w, opt, res) })
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

// build builds the subject, if it is one that has to be.
func (opt *options) build(ctx context.Context) error {
	if opt.lab == nil {
		return nil
	}
	return opt.lab.build(ctx)
}

// measureAll measures each fix of each subject under each load, and what the
// report shows beside. The runs come in the order of the loads.
func measureAll(ctx context.Context, opt *options, p *progress) (*report.Results, error) {
	defer p.clear()
	res := newResults(opt)
	loads := regimesOf(opt)
	extra := opt.report != "" && opt.whole
	confs := opt.confs(opt.workers)
	for range confs {
		p.plan(loads)
	}
	if extra {
		opt.planExtras(p)
	}
	res.Runs = make([]measure.Run, len(loads)*len(confs))
	for _, i := range inOrder(confs) {
		keep := func(load int, run measure.Run) error {
			res.Runs[load*len(confs)+i] = run
			return nil
		}
		if err := measureSubject(ctx, confs[i], opt.listen, loads, p, keep); err != nil {
			return nil, err
		}
	}
	if extra {
		return res, measureExtras(ctx, opt, res, p)
	}
	return res, nil
}

// inOrder returns the order in which the rows are measured: what stands beside
// nginxref may not be written or installed, and says so before nginxref's row
// is measured.
func inOrder(confs []measure.Conf) (order []int) {
	for i, conf := range confs {
		at := len(order)
		if conf.Subject() != "nginxref" {
			at--
		}
		order = slices.Insert(order, at, i)
	}
	return order
}

func newResults(opt *options) *report.Results {
	return &report.Results{
		DelayMs:    opt.delay.Milliseconds(),
		MeasuredAt: time.Now().Truncate(time.Second),
		Machine:    measure.ThisMachine(),
	}
}

// measureSubject measures a fresh set of processes under each load, and gives
// each run to keep, with the number of the load.
func measureSubject(ctx context.Context, conf measure.Conf, listen string, loads []measure.Load, p *progress,
	keep func(i int, run measure.Run) error) (err error) {
	defer func() { err = failed(conf, err) }()
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

// failed says what err belongs to, if there is one. A function that is still to
// be written is no failure of a worker.
func failed(conf measure.Conf, err error) error {
	if err == nil {
		return nil
	}
	what := conf.Fix
	if subject := conf.Subject(); subject != "nginxref" {
		what = subject + ", " + what
	}
	if function, ok := lab.NotWritten(err); ok {
		err = fmt.Errorf("%s is not written yet", function)
	}
	return fmt.Errorf("%s: %w", what, err)
}
