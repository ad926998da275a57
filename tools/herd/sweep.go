package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// sweep is the command line of a sweep.
type sweep struct {
	options
	sizes   []int
	rates   []float64
	repeats int
	runFile string
	csv     bool
}

const sweepUsage = `Usage: go run ./tools/herd sweep [flags]

Measures over numbers of workers and rates of connections, several times each;
prints the median of each figure and its range, and a map that shows which fix
wakes least, costs least CPU and has the best tail where. Each run is kept in a
file: a sweep that was interrupted goes on where it was, and one that asks for
more measures only what is missing.

Fixes:
%s
Flags:
`

// sweepFixes are measured if none are named: the herd, and what nginx offers
// against it.
const sweepFixes = "none,accept-mutex,exclusive-reorder,reuseport"

func parseSweep(args []string) (*sweep, error) {
	s := &sweep{}
	fs := newFlags("herd sweep", fmt.Sprintf(sweepUsage, fixList()))
	fix, subject := s.subjectFlags(fs)
	setDefault(fs, "fix", sweepFixes, "comma-separated `fixes` to measure, or all")
	sizes := fs.String("workers", "2,8,32", "`numbers` of worker processes: 1,2,4 or a range 1..8 or 1..64x2")
	rates := fs.String("rates", "1,100,burst", "`rates` in connections per second, or burst")
	fs.IntVar(&s.repeats, "repeats", 3, "`times` to measure each point")
	fs.StringVar(&s.runFile, "run", "sweep.jsonl", "`file` that keeps the runs")
	fs.BoolVar(&s.csv, "csv", false, "print CSV instead of the table")
	fs.StringVar(&s.report, "report", "sweep.html", "`file` to write the report to; empty writes none")
	err := parseFlags(fs, args)
	if err != nil {
		return nil, err
	}
	if s.sizes, err = parseWorkers(*sizes); err != nil {
		return nil, usageError{err}
	}
	if s.rates, err = parseRates(*rates); err != nil {
		return nil, usageError{err}
	}
	switch {
	case s.repeats < 1:
		err = fmt.Errorf("-repeats %d: give at least 1", s.repeats)
	case s.csv && s.json:
		err = errors.New("-csv and -json: give one of them")
	case *fix == "all", *subject != "nginxref" && !given(fs)["fix"]:
		err = s.checkSubject(fs, "", *subject)
	default:
		err = s.checkSubject(fs, *fix, *subject)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return s, nil
}

// setDefault changes the default and the description of a flag.
func setDefault(fs *flag.FlagSet, name, value, usage string) {
	f := fs.Lookup(name)
	f.DefValue, f.Usage = value, usage
	f.Value.Set(value)
}

// sweepMain is the command sweep.
func sweepMain(ctx context.Context, args []string) error {
	s, err := parseSweep(args)
	if err != nil {
		return err
	}
	if s.report != "" {
		if err := checkReport(s.report); err != nil {
			return err
		}
	}
	if err := measure.CheckNofile(slices.Max(s.sizes)); err != nil {
		return err
	}
	if err := s.build(ctx); err != nil {
		return err
	}
	file, err := openRunFile(s.runFile, s.delay.Milliseconds())
	if err != nil {
		return err
	}
	err = s.measure(ctx, file, newProgress(os.Stderr))
	if closeErr := file.close(); err == nil {
		err = closeErr
	}
	if ctx.Err() != nil {
		fmt.Fprintf(os.Stderr, "%d runs are kept in %s; the same command goes on.\n", len(file.done), s.runFile)
	}
	if err != nil {
		return err
	}
	return s.print(file.done)
}

// step is one set of processes and the loads to measure it under.
type step struct {
	conf  measure.Conf
	loads []measure.Load
}

// steps are what is left to measure after the runs that are done. Repeats
// come one after the other, so that a slow hour of the machine does not fall
// on one point alone.
func (s *sweep) steps(done []measure.Run) []step {
	times := map[planned]int{}
	for i := range done {
		times[plannedOf(&done[i])]++
	}
	var steps []step
	for range s.repeats {
		for _, n := range s.sizes {
			for _, conf := range s.confs(n) {
				st := step{conf: conf}
				for _, rate := range s.rates {
					key := planned{rowOf(conf), n, rate, loadAt(rate).Conns}
					if times[key]--; times[key] < 0 {
						st.loads = append(st.loads, loadAt(rate))
					}
				}
				if st.loads != nil {
					steps = append(steps, st)
				}
			}
		}
	}
	return steps
}

// planned is what makes two runs repeats of the same.
type planned struct {
	row
	workers int
	rate    float64
	conns   int
}

// row is what is measured. A lab of which the code has changed is another.
type row struct{ subject, build, fix string }

func rowOf(c measure.Conf) row { return row{c.Subject(), c.Lab.Build, c.Fix} }

func plannedOf(r *measure.Run) planned {
	return planned{row{r.Subject, r.Build, r.Fix}, r.Workers, r.Rate, r.Conns}
}

// measure measures what is left, and keeps each run in file.
func (s *sweep) measure(ctx context.Context, file *runFile, p *progress) error {
	defer p.clear()
	steps := s.steps(file.done)
	for _, st := range steps {
		p.plan(st.loads)
	}
	for _, st := range steps {
		keep := func(_ int, run measure.Run) error { return file.add(run) }
		if err := measureSubject(ctx, st.conf, s.listen, st.loads, p, keep); err != nil {
			return err
		}
	}
	return nil
}

// print writes what this sweep asked for; the file may have more.
func (s *sweep) print(done []measure.Run) error {
	res := newResults(&s.options)
	for i := range done {
		if s.asks(&done[i]) {
			res.Runs = append(res.Runs, done[i])
		}
	}
	res.Points = report.Points(res.Runs)
	res.Regimes = report.Regimes(res.Points)

	var err error
	switch {
	case s.json:
		err = writeJSON(os.Stdout, res)
	case s.csv:
		err = writeCSV(os.Stdout, res.Points)
	default:
		err = printed(func(w io.Writer) { writeSweep(w, res) })
	}
	if err == nil && s.report != "" {
		err = saveReport(s.report, res)
	}
	return err
}

// asks reports whether the run belongs to the sweep.
func (s *sweep) asks(r *measure.Run) bool {
	row := slices.ContainsFunc(s.confs(r.Workers), func(c measure.Conf) bool { return rowOf(c) == plannedOf(r).row })
	return row && slices.Contains(s.sizes, r.Workers) && slices.Contains(s.rates, r.Rate) &&
		r.Conns == loadAt(r.Rate).Conns
}
