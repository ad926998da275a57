package main

import (
	"context"
	"slices"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// What the report shows beside the runs of the table. Connections one by one
// take little time, and what they wake does not depend on how busy the machine
// is. Windows of a multiple of accept_mutex_delay see every worker poll
// equally often.
var (
	scalingWorkers = []int{1, 2, 4, 8, 16, 32}
	scalingLoad    = measure.Load{Conns: 10}
	rateLoads      = []measure.Load{{Rate: 2, Conns: 2}, {Rate: 10, Conns: 5}, {Rate: 500, Conns: 250}}
	timelineLoad   = measure.Load{Rate: 50, Conns: 30}

	// The herd, the mutex, and one that wakes a single worker.
	exemplary = []string{"none", "accept-mutex", "exclusive-reorder"}
)

// planExtras announces what measureExtras will measure.
func (opt *options) planExtras(p *progress) {
	for range len(opt.confs(0)) * len(scalingWorkers) {
		p.plan([]measure.Load{scalingLoad})
	}
	for range opt.exemplary() {
		p.plan(rateLoads)
		if measure.WitnessMissing() == nil {
			p.plan([]measure.Load{timelineLoad})
		}
	}
}

// exemplary returns the rows of those fixes that stand for the others.
func (opt *options) exemplary() []measure.Conf {
	return slices.DeleteFunc(opt.confs(opt.workers), func(c measure.Conf) bool { return !slices.Contains(exemplary, c.Fix) })
}

// measureExtras measures for the report's plots: each fix over the number of
// workers, a few over the rate, and these once more with a timeline.
func measureExtras(ctx context.Context, opt *options, res *report.Results, p *progress) error {
	for _, conf := range opt.confs(0) {
		for _, n := range scalingWorkers {
			conf.Workers = n
			keep := func(_ int, run measure.Run) error { res.Scaling = append(res.Scaling, run); return nil }
			if err := measureSubject(ctx, conf, opt.listen, []measure.Load{scalingLoad}, p, keep); err != nil {
				return err
			}
		}
	}
	for _, conf := range opt.exemplary() {
		keep := func(_ int, run measure.Run) error { res.Rates = append(res.Rates, run); return nil }
		if err := measureSubject(ctx, conf, opt.listen, rateLoads, p, keep); err != nil {
			return err
		}
	}
	return measureTimelines(ctx, opt, res, p)
}

// measureTimelines records what the workers do when, if the kernel lets us.
func measureTimelines(ctx context.Context, opt *options, res *report.Results, p *progress) error {
	if err := measure.WitnessMissing(); err != nil {
		res.TimelineMissing = err.Error()
		return nil
	}
	for _, conf := range opt.exemplary() {
		tl, err := measureTimeline(ctx, conf, opt.listen, p)
		if err != nil {
			return failed(conf, err)
		}
		res.Timeline = append(res.Timeline, *tl)
	}
	return nil
}

func measureTimeline(ctx context.Context, conf measure.Conf, listen string, p *progress) (*measure.Timeline, error) {
	s, err := measure.Start(ctx, conf, listen)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	p.begin(conf, timelineLoad)
	return s.Timeline(ctx, timelineLoad, p.step)
}
