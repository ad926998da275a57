package report

import (
	"strings"
	"testing"

	"herd/tools/measure"
)

// The words follow the figures: above the crossover the mutex wakes fewer
// processes, below it more.
func TestFindings(t *testing.T) {
	got := strings.Join(Findings(sample().Runs, 0.5), "\n")
	for _, want := range []string{
		"At 100/s the lock removes the erroneous accepts",
		"At 100/s the accept mutex wakes fewer processes than the herd: 114.0 a second, 14.0 of them by polling, against 800.0.",
		"At 1/s the accept mutex wakes more processes than the herd: 15.0 a second, 14.0 of them by polling, against 8.0.",
		"They cross at r* = 1/delay = 2 connections a second.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the findings do not say %q:\n%s", want, got)
		}
	}
	if list := Findings(sample().Runs[:2], 0.5); list != nil {
		t.Errorf("without the mutex something is said of it: %q", list)
	}
}

func TestLoadsHaveNames(t *testing.T) {
	for want, run := range map[string]measure.Run{
		"1 connection a second, 2 of them: nearly idle":    {Load: measure.Paced, Rate: 1, Conns: 2},
		"0.5 connections a second, 2 of them: nearly idle": {Load: measure.Paced, Rate: 0.5, Conns: 2},
		"100 connections a second, 70 of them: paced":      {Load: measure.Paced, Rate: 100, Conns: 70},
		"burst: 2000 connections, 32 at a time":            {Load: measure.Burst, Clients: 32, Conns: 2000},
		"10 connections, one by one":                       {Load: measure.OneByOne, Conns: 10},
	} {
		if got := LoadText(&run); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLogarithmicScale(t *testing.T) {
	s := scale{lo: 1, hi: 100, from: 0, to: 200, log: true}
	for v, want := range map[float64]float64{1: 0, 10: 100, 100: 200, 0: 0, 1000: 200} {
		if got := s.at(v); got < want-0.001 || got > want+0.001 {
			t.Errorf("%g is at %g, want %g", v, got, want)
		}
	}
	for i, want := range []string{"1", "10", "100"} {
		if got := powers(10, 0.5, 100); len(got) != 3 || got[i].label != want {
			t.Errorf("ticks %v", got)
		}
	}
}
