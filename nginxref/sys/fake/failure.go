package fake

import (
	"fmt"
	"reflect"
	"strings"

	"herd/nginxref/sys"
)

// Failure is a rule that was broken, and how it came to that.
type Failure struct {
	Rule     string // as Always, Expect or Until named it
	Detail   string // what was seen instead
	Step     int    // number of the first wrong step; 0 is before the first
	Steps    []Step // up to it
	Schedule string // for Replay
	Stack    string // of the code that panicked or loops
}

// shown is how many steps before the wrong one Error prints.
const shown = 60

// Error prints the numbered steps that led to the wrong one, which it marks.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %s\n", f.Rule)
	if f.Detail != "" {
		fmt.Fprintf(&b, "  %s\n", f.Detail)
	}
	if f.Schedule != "" {
		fmt.Fprintf(&b, "  schedule %q\n", f.Schedule)
	}
	first := max(0, f.Step-shown)
	if first > 0 {
		fmt.Fprintf(&b, "  (%d steps before)\n", first)
	}
	printSteps(&b, f.Steps, first, f.Step, f.Step)
	if f.Stack != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(f.Stack, "\n"))
	}
	return strings.TrimRight(b.String(), "\n")
}

// broken is what a scenario panics with to end; the World has the Failure.
type broken struct{}

// rule is something that must hold after every step.
type rule struct {
	text  string
	wrong func() string
}

// Always states a rule that must hold after every step. wrong returns what is
// seen to break it, or "". The step after which it is broken first is the one
// that the failure marks.
func (w *World) Always(text string, wrong func() string) {
	w.rules = append(w.rules, rule{text, wrong})
}

// check looks whether all rules still hold.
func (w *World) check() {
	for _, r := range w.rules {
		if detail := r.wrong(); detail != "" {
			w.Broken(r.text, detail)
		}
	}
}

// Expect states that got is want now.
func (w *World) Expect(rule string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		w.Broken(rule, fmt.Sprintf("got %v, want %v", named(got), named(want)))
	}
}

// named returns v, or the name of an error number.
func named(v any) any {
	switch err, isErrno := v.(sys.Errno); {
	case !isErrno:
		return v
	case err == 0:
		return "no error"
	default:
		return errnoName(err)
	}
}

// Broken ends the scenario: the last step has broken rule, as detail shows.
func (w *World) Broken(rule, detail string) {
	w.failure = &Failure{Rule: rule, Detail: detail, Step: len(w.steps)}
	if p := w.running.Load(); p != nil {
		w.hand(nil)
		p.park()
	}
	panic(broken{})
}
