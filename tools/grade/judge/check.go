package judge

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"strings"

	"herd/tools/grade/jail"
	"herd/tools/grade/result"
	"herd/tools/lab"
)

// check runs one check in a process and a directory of its own. It reports
// whether the code spent its time before the check began, which it will do
// again.
func (g *grading) check(ctx context.Context, c *result.Check, limits jail.Limits) (never bool, err error) {
	work, err := os.MkdirTemp(g.scratch, "work-")
	if err != nil {
		return false, err
	}
	if g.User != nil {
		if err := os.Chown(work, g.User.UID, g.User.GID); err != nil {
			return false, err
		}
	}
	key := rand.Text()
	end, err := jail.Run(ctx, &jail.Program{
		Path: g.test,
		// os.Exit(0) in the student's code is then a panic.
		Args: []string{"-test.run=" + pattern(c.ID), "-test.paniconexit0", "-test.timeout=0"},
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + work, "TMPDIR=" + work,
			lab.GradeEnv + "=" + lab.GradeVerdicts,
		},
		Dir:    work,
		Stdin:  key + "\n",
		User:   g.User,
		Limits: limits,
	})
	if err != nil {
		return false, err
	}
	c.Seconds = end.Elapsed.Seconds()
	c.Outcome, c.Message = g.decide(end, key, c.ID, limits)
	if c.Outcome != result.Passed {
		c.Output = clean(printed(string(end.Output)))
	}
	c.Message = clean(c.Message)
	return end.TimedOut && !lab.Begun(end.Fd3, key), nil
}

// pattern matches the check's subtest and no other.
func pattern(id string) string {
	part, name, _ := strings.Cut(id, "/")
	return fmt.Sprintf("^TestLab$/^%s$/^%s$", regexp.QuoteMeta(part), regexp.QuoteMeta(name))
}

// decide says how the check ended. It has passed only if it said so, ended
// well after that, and left nothing behind.
func (g *grading) decide(end *jail.End, key, id string, limits jail.Limits) (result.Outcome, string) {
	output := string(end.Output)
	if end.TimedOut && !lab.Begun(end.Fd3, key) {
		return result.TimedOut, fmt.Sprintf("no check has begun after %.3gs: what runs before them, as init and the values of variables, does not end%s",
			limits.Time.Seconds(), g.where(output))
	}
	if end.TimedOut {
		return result.TimedOut, fmt.Sprintf("no verdict after %.3gs%s", limits.Time.Seconds(), g.where(output))
	}
	if end.Over != "" {
		return result.Crashed, "stopped: " + end.Over
	}
	v, ok := lab.FindVerdict(end.Fd3, key, id)
	switch {
	case !ok:
		if function, ok := lab.NotWritten(output); ok {
			return result.NotWritten, function + " is not written yet"
		}
		return result.Crashed, fmt.Sprintf("it ended without a verdict: %v%s%s", end.State, g.where(output), death(output))
	case v.Failed && strings.HasPrefix(v.Text, lab.MarkNotWritten):
		return result.NotWritten, strings.TrimPrefix(v.Text, lab.MarkNotWritten)
	case v.Failed:
		return result.Wrong, v.Text
	case v.Skipped:
		return result.CannotShow, strings.TrimPrefix(v.Text, lab.MarkCannotShow)
	case !end.State.Success():
		return result.Crashed, fmt.Sprintf("it crashed after its verdict: %v%s%s", end.State, g.where(output), death(output))
	case len(end.Left) > 0:
		return result.Crashed, fmt.Sprintf("it left %d processes behind: %s", len(end.Left), strings.Join(end.Left[:min(len(end.Left), 5)], ", "))
	}
	return result.Passed, ""
}
