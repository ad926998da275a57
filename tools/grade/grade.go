package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"herd/tools/grade/judge"
	"herd/tools/grade/result"
)

// gradeMain grades, or packs an autograder.
func gradeMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opt, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if opt.pack != "" {
		return packGradescope(opt.root, opt.lab, opt.out)
	}
	list, err := opt.submissions()
	if err != nil {
		return err
	}
	report, err := opt.grade(ctx, list, stdout)
	if err != nil && ctx.Err() == nil {
		// The grader is broken: no result is better than a wrong one.
		for _, f := range opt.files {
			os.Remove(f.path)
		}
	}
	if err != nil {
		return err
	}
	return opt.verdict(report)
}

// verdict returns the error that says how the grading ended.
func (opt *options) verdict(r *result.Report) error {
	every := func(outcomes ...result.Outcome) bool {
		return !slices.ContainsFunc(r.Labs, func(l *result.Lab) bool { return !l.All(outcomes...) })
	}
	switch {
	case opt.zero || every(result.Passed):
		return nil
	case every(result.Passed, result.CannotShow):
		return errCannotShow
	}
	return errNotPassed
}

// grade grades what was handed in, and writes what is known so far whenever a
// check has ended: whoever stops this grader has at least that.
func (opt *options) grade(ctx context.Context, list []submission, stdout io.Writer) (*result.Report, error) {
	report := &result.Report{Started: time.Now()}
	for _, s := range list {
		report.Labs = append(report.Labs, judge.Ungraded(s.lab, s.dir))
	}
	terminal := stdout
	if slices.ContainsFunc(opt.files, func(f file) bool { return f.path == "-" }) {
		terminal = io.Discard
	}
	var writing error
	j := &judge.Judge{Root: opt.root, User: opt.user, Limits: opt.limit}
	j.Progress = func(l *result.Lab, i int) {
		if i < 0 {
			result.Head(terminal, l)
		} else {
			result.Line(terminal, l, i)
		}
		report.Seconds = time.Since(report.Started).Seconds()
		writing = errors.Join(writing, opt.flush(report))
	}
	if opt.total > 0 {
		j.Deadline = report.Started.Add(opt.total)
	}
	for i, s := range list {
		if err := j.Grade(ctx, s.lab, report.Labs[i]); err != nil {
			return nil, err
		}
		if writing != nil {
			return nil, fmt.Errorf("write the result: %w", writing)
		}
		result.Foot(terminal, report.Labs[i])
	}
	result.Total(terminal, report)
	return report, opt.print(report, stdout)
}

// flush writes the files.
func (opt *options) flush(r *result.Report) error {
	for _, f := range opt.files {
		if f.path == "-" {
			continue
		}
		if err := f.write.WriteFile(f.path, r); err != nil {
			return err
		}
	}
	return nil
}

// print writes what goes to standard output.
func (opt *options) print(r *result.Report, stdout io.Writer) error {
	for _, f := range opt.files {
		if f.path == "-" {
			if err := f.write(stdout, r); err != nil {
				return err
			}
		}
	}
	return nil
}
