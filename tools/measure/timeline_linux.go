package measure

import (
	"context"

	"golang.org/x/sys/unix"
)

// Timeline measures the load and returns also what each worker did when. It
// needs the kernel's tracepoints: see WitnessMissing.
func (s *Subject) Timeline(ctx context.Context, load Load, step func(int)) (*Timeline, error) {
	pids := s.program.pids()
	rec, err := Record(pids)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	run, err := s.Measure(ctx, load, step)
	if err != nil {
		return nil, err
	}
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	end := now.Nano() - int64(rec.begun)

	workers := make([][]moment, len(pids))
	cut := false
	for i := range pids {
		moments, full := rec.moments(i)
		workers[i] = moments
		if full >= 0 {
			end, cut = min(end, full), true
		}
	}
	return newTimeline(run, pids, workers, end, cut, s.fix.Mutex && len(pids) > 1), nil
}
