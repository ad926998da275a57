// Package judge grades what a student handed in for a lab.
//
// Of the directory handed in only the lab's student files are taken. They are
// laid over the course's own directory of the lab when the test is built, so
// nothing else in it changes anything: not the tests, not the checks. Each
// check then runs in a process of its own, in a jail.
//
// The judge and the code it judges share that process. What the code prints is
// never taken for a verdict (package lab says how one arrives), and the code
// may not import unsafe.
package judge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"herd/tools/grade/jail"
	"herd/tools/grade/result"
	"herd/tools/lab"
)

// Judge grades labs of one course tree.
type Judge struct {
	Root     string      // the directory that has go.mod
	User     *jail.User  // who the student's code runs as; nil: whoever grades
	Limits   jail.Limits // of each check
	Deadline time.Time   // for everything; zero is none

	// Progress is called when the i-th check of the lab has ended; first, with
	// i = -1, when what was handed in has been looked at.
	Progress func(l *result.Lab, i int)
}

// Ungraded returns the result for what was handed in in dir, before grading.
func Ungraded(l *lab.Lab, dir string) *result.Lab {
	r := &result.Lab{Number: l.Number, Name: l.Name, Title: l.Title, Dir: dir}
	for i := range l.Checks {
		c := &l.Checks[i]
		r.Checks = append(r.Checks, result.Check{
			ID: c.ID(), Part: c.Part, Sentence: c.Sentence, Read: c.Read,
			Points: c.Points, Outcome: result.Pending,
		})
	}
	return r
}

// grading is one lab on its way.
type grading struct {
	*Judge
	lab     *lab.Lab
	result  *result.Lab
	own     bool   // it was handed in in the course's own directory of the lab
	scratch string // directory: the student's files, the test, what it writes
	test    string // the test's executable
}

// Grade fills in r, which Ungraded has made for l. The error says that grading
// itself went wrong, which is not the student's doing.
func (j *Judge) Grade(ctx context.Context, l *lab.Lab, r *result.Lab) error {
	g := &grading{Judge: j, lab: l, result: r}
	var err error
	if g.scratch, err = os.MkdirTemp("", "grade-"); err != nil {
		return err
	}
	defer os.RemoveAll(g.scratch)
	// The user that the code runs as comes through here.
	if err := os.Chmod(g.scratch, 0o711); err != nil {
		return err
	}
	g.test = filepath.Join(g.scratch, "lab.test")

	overlay, refused, err := g.collect()
	if err != nil {
		return err
	}
	if refused != "" {
		g.all(result.NotBuilt, refused)
		return nil
	}
	j.Progress(r, -1)
	outcome, message, err := g.build(ctx, overlay)
	if err != nil {
		return err
	}
	if outcome != result.Passed {
		g.finish(0, outcome, message)
		return nil
	}
	return g.run(ctx)
}

// all ends every check in the same way, before the first has run.
func (g *grading) all(outcome result.Outcome, message string) {
	g.Progress(g.result, -1)
	g.finish(0, outcome, message)
}

// finish ends the checks from the i-th on, all in the same way.
func (g *grading) finish(i int, outcome result.Outcome, message string) {
	for ; i < len(g.result.Checks); i++ {
		g.result.Checks[i].Outcome, g.result.Checks[i].Message = outcome, message
		g.Progress(g.result, i)
	}
}

// run runs the checks.
func (g *grading) run(ctx context.Context) error {
	for i := range g.result.Checks {
		limits := g.Limits
		if !g.Deadline.IsZero() {
			left := time.Until(g.Deadline)
			if left <= 0 {
				g.finish(i, result.TimedOut, "not started: the time for all checks together is used up")
				return nil
			}
			limits.Time = min(limits.Time, left)
		}
		c := &g.result.Checks[i]
		never, err := g.check(ctx, c, limits)
		if err != nil {
			return fmt.Errorf("%s, check %s: %w", g.lab.Name, c.ID, err)
		}
		g.Progress(g.result, i)
		if never {
			g.finish(i+1, c.Outcome, c.Message)
			return nil
		}
	}
	return nil
}
