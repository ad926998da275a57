package lab

import (
	"herd/nginxref/sys/fake"
)

// Run runs scenario on the deterministic kernel and ends the check if a rule
// of it is broken.
func (t *T) Run(scenario func(w *fake.World)) {
	t.tb.Helper()
	t.judge(fake.Run(scenario, fake.Options{Slice: 200}))
}

// Explore runs scenario under every schedule that departs from the plainest
// one at most departures times.
func (t *T) Explore(departures int, scenario func(w *fake.World)) {
	t.tb.Helper()
	t.judge(fake.Explore(scenario, fake.Options{Departures: departures}))
}

// judge ends the check if r holds a failure, with the steps that led to it.
func (t *T) judge(r *fake.Report) {
	t.tb.Helper()
	if r.Failure == nil {
		if !r.Complete {
			t.tb.Fatalf("lab %02d: the check is too large: %d schedules did not cover it", t.lab.Number, r.Schedules)
		}
		return
	}
	if function, ok := NotWritten(r.Failure.Detail); ok {
		t.missing(function)
	}
	t.tb.Fatalf("lab %02d part %s: wrong\n%s\n  handout: %s\n  read: %s",
		t.lab.Number, t.check.Part, r.Failure, t.check.Sentence, t.check.Read)
}
