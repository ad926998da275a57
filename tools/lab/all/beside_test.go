package all

import (
	"testing"

	"herd/tools/measure"
)

// What a lab's fix is started with, and what is predicted for it, is that of the
// reference's fix that it stands beside: its program is not asked.
func TestFixesAreLikeThoseTheyStandBeside(t *testing.T) {
	for _, e := range Experiments() {
		taken := map[string]bool{}
		for _, own := range e.Fix {
			if own.Beside == "" {
				continue
			}
			ref, err := measure.FixByName(own.Beside)
			if err != nil {
				t.Errorf("%s, %s: %v", e.Dir, own.Name, err)
				continue
			}
			if own.Reuseport != ref.Reuseport || own.Blocking != ref.Blocking || own.Mutex != ref.Mutex ||
				(own.Dispatch == nil) != (ref.Dispatch == nil) {
				t.Errorf("%s: %s is not started as %s is", e.Dir, own.Name, ref.Name)
			}
			if a, b := own.Wakeups(8, 100, 0.5), ref.Wakeups(8, 100, 0.5); a != b && own.Name != "lab09-lease" { // its holder polls too
				t.Errorf("%s: %s is predicted to wake %g a second, and %s %g", e.Dir, own.Name, a, ref.Name, b)
			}
			if taken[own.Beside] {
				t.Errorf("%s: two fixes stand beside %s", e.Dir, own.Beside)
			}
			taken[own.Beside] = true
		}
	}
}

// Every lab has a fix that can be measured beside the reference's, but the last,
// which changes none.
func TestWhichLabsCanBeMeasured(t *testing.T) {
	for i, e := range Experiments() {
		if name := "labs/" + Labs()[i].Name; e.Dir != name {
			t.Errorf("the measurement of %s is called %s", name, e.Dir)
		}
		if none := len(e.Beside()) == 0; none != (e.Dir == "labs/lab10-reload") {
			t.Errorf("%s stands beside %d fixes", e.Dir, len(e.Beside()))
		}
	}
}
