// Package lab is what the labs share: what a lab is, how its checks speak, and
// how one that is not written yet is told from a wrong one.
//
// The checks of lab NN are in tools/lab/labNN, out of the student's way; the
// student's directory and the solution's run the same ones.
package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// Lab is one lab: how it is called and what is checked.
type Lab struct {
	Number int
	Name   string // of its directories: lab03-acceptmutex
	Title  string
	Files  []string // the student's, in the lab's directory
	Checks []Check
}

// Dir returns the name of the lab's directory in labs and in solutions.
func (l *Lab) Dir() string { return l.Name }

// Check is one thing that a lab's code must do.
type Check struct {
	Part     string // "A" or "B"
	Name     string // short, without spaces: it names the subtest
	Sentence string // the sentence of the handout that it holds
	Points   int
	Read     string // where to read about it, when it fails
	Run      func(*T)
}

// ID names the check in a test run: A/only-the-holder-is-registered.
func (c *Check) ID() string { return c.Part + "/" + c.Name }

// notWritten is what a stub panics with.
type notWritten struct{ function string }

func (n notWritten) Error() string { return n.function + " is not written yet" }

// TODO is the body of a function that the student has to write.
func TODO(function string) {
	panic(notWritten{function})
}

// NotWritten returns the name of the function that a recovered panic says is
// not written yet; ok is false if it says something else. The panic may have
// been passed on as an error or a text.
func NotWritten(recovered any) (function string, ok bool) {
	if n, ok := recovered.(notWritten); ok {
		return n.function, true
	}
	const suffix = " is not written yet"
	text := fmt.Sprint(recovered)
	if i := strings.Index(text, suffix); i >= 0 {
		return text[strings.LastIndexAny(text[:i], " :\n\t")+1 : i], true
	}
	return "", false
}

// Written reports whether call comes by no function that is still to be
// written. It may panic for another reason.
func Written(call func()) (written bool) {
	defer func() {
		_, missing := NotWritten(recover())
		written = !missing
	}()
	call()
	return true
}

// The marks that begin the message of an outcome which is neither passed nor
// simply failed. The grader looks for them.
const (
	MarkNotWritten = "not written: "
	MarkCannotShow = "this machine cannot show it: "
)

// T is a check's view of the test: it keeps the steps that led to a failure.
type T struct {
	tb    testing.TB
	lab   *Lab
	check *Check
	over  bool // the check has its verdict

	watch watch
	mu    sync.Mutex
	steps []string
}

// manySteps is more than any check takes: who comes to it goes round and round.
const manySteps = 10_000

// Step notes what happens now, in words: "worker 2 tries the lock".
func (t *T) Step(format string, args ...any) {
	t.watch.pass()
	if t.note(fmt.Sprintf(format, args...)) < manySteps {
		return
	}
	rule := "the code must come to an end"
	if what := t.cutLoop(); what != "" {
		rule += ": it does its " + what + " again and again"
	}
	t.Wrong("%s%s", rule, t.places(string(debug.Stack())))
}

// note adds a step, and returns how many there are.
func (t *T) note(step string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, step)
	return len(t.steps)
}

// cutLoop ends the story of a loop where it has gone round once, and says what
// goes round; "" if nothing does.
func (t *T) cutLoop() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, what := firstRound(len(t.steps), func(i, j int) bool { return t.steps[i] == t.steps[j] })
	if what != "" {
		t.steps = t.steps[:end]
	}
	return what
}

// Wrong ends the check: the last step was wrong, because of rule.
func (t *T) Wrong(rule string, args ...any) {
	t.tb.Helper()
	t.fail(t.story(fmt.Sprintf(rule, args...)))
}

// Expect ends the check as Wrong does, unless ok.
func (t *T) Expect(ok bool, rule string, args ...any) {
	t.tb.Helper()
	if !ok {
		t.Wrong(rule, args...)
	}
}

// CannotShow ends the check without a verdict on the code.
func (t *T) CannotShow(format string, args ...any) {
	t.tb.Helper()
	t.skip(MarkCannotShow + fmt.Sprintf(format, args...))
}

// fail ends the check with a verdict, skip without one.
func (t *T) fail(text string) {
	t.tb.Helper()
	t.watch.pass()
	t.over = true
	t.tb.Fatal(text)
}

func (t *T) skip(text string) {
	t.tb.Helper()
	t.watch.pass()
	t.over = true
	t.tb.Skip(text)
}

// Logf notes something that is not a step.
func (t *T) Logf(format string, args ...any) {
	t.watch.pass()
	t.tb.Logf(format, args...)
}

// TempDir returns a directory that is removed after the check.
func (t *T) TempDir() string { return t.tb.TempDir() }

// Cleanup has f called after the check.
func (t *T) Cleanup(f func()) { t.tb.Cleanup(f) }

// keepSteps is how many steps before the wrong one are shown.
const keepSteps = 25

// story tells how it came to the wrong step, the last one.
func (t *T) story(rule string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "lab %02d part %s: wrong\n", t.lab.Number, t.check.Part)
	first := max(0, len(t.steps)-keepSteps)
	if first > 0 {
		fmt.Fprintf(&b, "      (%d steps before)\n", first)
	}
	for i := first; i < len(t.steps); i++ {
		mark := "  "
		if i == len(t.steps)-1 {
			mark = "->"
		}
		fmt.Fprintf(&b, "   %s %3d. %s\n", mark, i+1, t.steps[i])
	}
	fmt.Fprintf(&b, "  rule: %s\n", rule)
	fmt.Fprintf(&b, "  handout: %s\n", t.check.Sentence)
	if t.check.Read != "" {
		fmt.Fprintf(&b, "  read: %s\n", t.check.Read)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Test runs the lab's checks, each as a subtest named by its ID. The lab's
// TestLab calls it.
func (l *Lab) Test(t *testing.T) {
	graded := verdicts != nil && l.fromTestLab()
	for i := range l.Checks {
		check := &l.Checks[i]
		t.Run(check.ID(), func(t *testing.T) {
			if graded {
				l.runGraded(t, check)
			} else {
				l.run(t, check)
			}
		})
	}
}

// run runs one check, in a goroutine of its own, which is left behind if the
// code under test does not come back.
func (l *Lab) run(tb testing.TB, check *Check) {
	t := &T{tb: tb, lab: l, check: check}
	done, returned := make(chan struct{}), false
	go t.play(done, &returned)
	if !t.watch.until(done) {
		tb.Fatal(t.story(fmt.Sprintf("the code must come to an end: an endless loop, or a wait for ever?%s", t.places(t.watch.stack()))))
	}
	if !returned && !t.over {
		tb.Fatal("the code ended the goroutine that called it")
	}
}

// play runs the check. A stub's panic ends it as "not written yet"; any other
// panic of the code under test is a wrong answer, not a crash of the run.
func (t *T) play(done chan<- struct{}, returned *bool) {
	defer close(done)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if function, ok := NotWritten(r); ok {
			t.missing(function)
			return
		}
		t.Wrong("the code must not panic: %v%s", r, t.places(string(debug.Stack())))
	}()
	t.watch.begin()
	t.check.Run(t)
	*returned = true
}

// places lists where in the student's files the stacks are, each on a line.
func (t *T) places(stacks string) string {
	var b strings.Builder
	for _, at := range t.lab.Where(stacks) {
		b.WriteString("\n    at " + at)
	}
	return b.String()
}

// missing ends the check because function is not written yet.
func (t *T) missing(function string) {
	t.tb.Helper()
	message := fmt.Sprintf("%slab %02d part %s: %s is not written yet", MarkNotWritten, t.lab.Number, t.check.Part, function)
	if authorsTree() {
		// Here the stubs are as they should be; tools/grade has the test
		// that each of them says so.
		t.skip(message)
	}
	t.fail(message)
}

// authorsTree reports whether this is the tree that the course is made in: it
// has the solutions, and its labs are not meant to pass.
func authorsTree() bool {
	dir, err := os.Getwd()
	if err != nil {
		return false
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			_, err := os.Stat(filepath.Join(dir, "solutions"))
			return err == nil && os.Getenv(GradeEnv) == ""
		}
	}
	return false
}
