package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"herd/tools/measure"
)

// sample are results as the default run has them: what the models predict,
// with latencies and shares made up.
func sample() *Results {
	r := &Results{
		DelayMs:    500,
		MeasuredAt: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		Machine:    measure.Machine{OS: "linux", Kernel: "6.18", Arch: "amd64", CPUs: 2, Go: "go1.26"},
	}
	for _, load := range []measure.Load{{Rate: 1, Conns: 2}, {Rate: 100, Conns: 100}, {Clients: 32, Conns: 2000}} {
		for _, fix := range measure.Fixes {
			r.Runs = append(r.Runs, sampleRun(fix.Name, 8, load))
		}
	}
	for _, fix := range measure.Fixes {
		for _, n := range []int{1, 2, 4, 8, 16, 32} {
			r.Scaling = append(r.Scaling, sampleRun(fix.Name, n, measure.Load{Conns: 10}))
		}
	}
	for _, fix := range []string{"none", "accept-mutex", "exclusive-reorder"} {
		for _, rate := range []float64{2, 10, 500} {
			r.Rates = append(r.Rates, sampleRun(fix, 8, measure.Load{Rate: rate, Conns: int(rate)}))
		}
	}
	r.Timeline = []measure.Timeline{sampleTimeline()}
	return r
}

// rowOf returns where in the data the run of fix at rate stands.
func rowOf(r *Results, fix string, rate float64) string {
	i := slices.IndexFunc(r.Runs, func(run measure.Run) bool { return run.Fix == fix && run.Rate == rate })
	return fmt.Sprintf("runs[%d]", i)
}

// sampleRun is what a fix would do under load if its model were true.
func sampleRun(name string, n int, load measure.Load) measure.Run {
	fix, err := measure.FixByName(name)
	if err != nil {
		panic(err)
	}
	i := slices.Index(measure.Fixes, fix)
	perConn := fix.Wakeups(float64(n), 1, math.Inf(1))
	run := measure.Run{
		Subject: "nginxref", Fix: fix.Name, Workers: n,
		Rate: load.Rate, Clients: load.Clients, Conns: load.Conns, Accepted: load.Conns,
		WakeupsPerConn: perConn, ReturnsPerConn: 1.25, EagainPerConn: float64(i) / 8,
		CPUUsPerConn: 20 + float64(i), Shares: make([]int, n), Witness: "tracepoints",
		LatencyUs: measure.Percentiles{P50: 300, P99: int64(900 + 50*i), Max: 20_000},
		LatencyCDF: []measure.Quantile{
			{Percent: 10, Us: 210}, {Percent: 50, Us: 300}, {Percent: 99, Us: int64(900 + 50*i)}, {Percent: 100, Us: 20_000},
		},
	}
	for c := range load.Conns {
		run.Shares[c*c%n]++
	}
	run.Jain = measure.Jain(run.Shares)
	switch {
	case load.Rate > 0:
		run.Load = measure.Paced
		run.WakeupsPerS = fix.Wakeups(float64(n), load.Rate, 0.5)
		run.PollingWakeupsPerS = run.WakeupsPerS - perConn*load.Rate
		run.PredictedWakeupsPerS, run.PredictedWakeupsPerConn = &run.WakeupsPerS, &perConn
	case load.Clients > 0:
		run.Load = measure.Burst
	default:
		run.Load = measure.OneByOne
		run.PredictedWakeupsPerConn = &perConn
	}
	return run
}

// sampleTimeline has two workers; the first accepts, the other polls and is
// woken for nothing.
func sampleTimeline() measure.Timeline {
	lane := func(pid int, spans ...measure.Span) measure.Lane {
		l := measure.Lane{Pid: pid, Totals: map[measure.Activity]measure.Total{}, Spans: spans}
		for _, a := range measure.Activities {
			l.Totals[a] = measure.Total{}
		}
		for _, s := range spans {
			l.Totals[s.Doing] = measure.Total{Count: 1, Us: s.ToUs - s.FromUs}
		}
		return l
	}
	return measure.Timeline{
		Run:        sampleRun("accept-mutex", 2, measure.Load{Rate: 50, Conns: 2}),
		DurationUs: 40_000,
		Lanes: []measure.Lane{
			lane(71,
				measure.Span{FromUs: 10_000, ToUs: 10_030, Doing: measure.Accepting},
				measure.Span{FromUs: 10_030, ToUs: 11_030, Doing: measure.Serving}),
			lane(72,
				measure.Span{FromUs: 20_000, ToUs: 20_020, Doing: measure.Polling},
				measure.Span{FromUs: 30_000, ToUs: 30_008, Doing: measure.Nothing}),
		},
		Holds: []measure.Hold{{Worker: 0, FromUs: 0, ToUs: 40_000}},
	}
}

// sampleSweep are results as a sweep has them: two repeats of three fixes.
func sampleSweep() *Results {
	r := sample()
	r.Scaling, r.Rates, r.Timeline, r.Runs = nil, nil, nil, nil
	for repeat := range 2 {
		for _, n := range []int{2, 8} {
			for _, fix := range []string{"none", "accept-mutex", "exclusive-reorder"} {
				for _, load := range []measure.Load{{Rate: 1, Conns: 2}, {Rate: 100, Conns: 100}, {Clients: 32, Conns: 2000}} {
					run := sampleRun(fix, n, load)
					run.WakeupsPerConn += float64(repeat) / 10
					r.Runs = append(r.Runs, run)
				}
			}
		}
	}
	r.Points = Points(r.Runs)
	r.Regimes = Regimes(r.Points)
	return r
}
