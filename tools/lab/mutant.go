package lab

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// Mutant is a plausible wrong solution, and the check that must find it.
type Mutant struct {
	Name     string // what is wrong with it: "held is cleared on unlock"
	KilledBy string // ID of the check that names the rule it breaks
	Lab      *Lab   // the lab with the wrong code in it
}

// TestMutants fails the test for each mutant that survives, or that another
// check than the one named finds alone. Each is a subtest.
func TestMutants(t *testing.T, mutants []Mutant) {
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			killers := m.Lab.failing(t)
			if !slices.Contains(killers, m.KilledBy) {
				t.Errorf("not killed by %s; the checks that fail are %q", m.KilledBy, killers)
			}
			t.Logf("killed by %q", killers)
		})
	}
}

// failing runs all checks and returns the IDs of those that find the code
// wrong.
func (l *Lab) failing(t *testing.T) (ids []string) {
	for i := range l.Checks {
		if l.verdict(t, &l.Checks[i]).failed {
			ids = append(ids, l.Checks[i].ID())
		}
	}
	return ids
}

// verdict runs one check.
func (l *Lab) verdict(t *testing.T, check *Check) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(r, check)
	}()
	<-done
	return r
}

// recorder takes a check's verdict without ending the test around it.
type recorder struct {
	testing.TB
	failed bool
	text   string // why
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failed, r.text = true, fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) { runtime.Goexit() }

func (r *recorder) Logf(format string, args ...any) {}
