package lab

import (
	"fmt"
	"strings"

	"herd/nginxref/sys/fake"
)

// Run runs scenario on the deterministic kernel and ends the check if a rule
// of it is broken.
func (t *T) Run(scenario func(w *fake.World)) {
	t.tb.Helper()
	t.judge(fake.Run(t.watch.scenario(scenario), fake.Options{Slice: 200, Patience: patience}))
}

// Explore runs scenario under every schedule that departs from the plainest
// one at most departures times.
func (t *T) Explore(departures int, scenario func(w *fake.World)) {
	t.tb.Helper()
	t.judge(fake.Explore(t.watch.scenario(scenario), fake.Options{Departures: departures, Patience: patience}))
}

// AtMost states that got is at most most now.
func AtMost(w *fake.World, rule string, got, most int) {
	if got > most {
		w.Broken(rule, fmt.Sprintf("got %d", got))
	}
}

// judge ends the check if r holds a failure, with the steps that led to it.
func (t *T) judge(r *fake.Report) {
	t.tb.Helper()
	f := r.Failure
	if f == nil {
		if !r.Complete {
			t.fail(fmt.Sprintf("lab %02d: the check is too large: %d schedules did not cover it", t.lab.Number, r.Schedules))
		}
		return
	}
	if function, ok := NotWritten(f.Detail); ok {
		t.missing(function)
	}
	cutLoop(f)
	if f.Detail == "got false, want true" || f.Detail == "got true, want false" {
		f.Detail = "it is not so"
	}
	if at := t.places(f.Stack); at != "" {
		f.Stack = strings.TrimPrefix(at, "\n")
	}
	t.fail(fmt.Sprintf("lab %02d part %s: wrong\n%s\n  handout: %s\n  read: %s",
		t.lab.Number, t.check.Part, f, t.check.Sentence, t.check.Read))
}

// cutLoop ends the story of processes that never come to rest where the first
// of them has gone round once: what follows is the same again.
func cutLoop(f *fake.Failure) {
	if f.Rule != fake.ComeToRest {
		return
	}
	byWho := map[string][]int{}
	for i, step := range f.Steps {
		byWho[step.Who] = append(byWho[step.Who], i)
	}
	for who, at := range byWho {
		end, what := firstRound(len(at), func(i, j int) bool { return f.Steps[at[i]].What == f.Steps[at[j]].What })
		if what != "" && at[end-1] < f.Step {
			f.Step = at[end-1] + 1
			f.Detail = fmt.Sprintf("%s does its %s here again and again, and never sleeps", who, what)
		}
	}
}
