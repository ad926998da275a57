package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/tools/measure"
)

func TestRepeatsBecomeAPoint(t *testing.T) {
	run := func(n int, rate, wakeups float64) measure.Run {
		return measure.Run{Subject: "nginxref", Fix: "none", Workers: n, Rate: rate, WakeupsPerConn: wakeups}
	}
	points := Points([]measure.Run{run(2, 1, 5), run(2, 100, 1), run(2, 1, 3), run(2, 1, 9), run(4, 1, 2), run(2, 1, 4)})
	var got []Spread
	for _, p := range points {
		got = append(got, p.WakeupsPerConn)
	}
	want := []Spread{{Median: 4.5, Min: 3, Max: 9}, {1, 1, 1}, {2, 2, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if points[0].Repeats != 4 || points[1].Repeats != 1 {
		t.Errorf("%d and %d repeats, want 4 and 1", points[0].Repeats, points[1].Repeats)
	}
}

// The map names the best fix first, and those that are as good after it.
func TestRegimeMap(t *testing.T) {
	point := func(fix string, n int, rate float64, wakeups, p99 Spread) Point {
		return Point{Subject: "nginxref", Fix: fix, Workers: n, Rate: rate, WakeupsPerS: wakeups, WakeupsPerConn: wakeups, P99Us: p99}
	}
	exactly := func(v float64) Spread { return Spread{v, v, v} }
	regimes := Regimes([]Point{
		point("none", 8, 0, exactly(9), exactly(0)),
		point("none", 8, 100, exactly(800), Spread{100, 90, 130}),
		point("reuseport", 8, 100, exactly(101), Spread{125, 100, 900}),
		point("exclusive", 8, 100, exactly(100), Spread{140, 100, 900}),
	})
	var got []Regime
	for _, r := range regimes {
		if r.Question != "cpu" {
			got = append(got, r)
		}
	}
	want := []Regime{
		{Question: "wakeups", Workers: 8, Rate: 100, Best: []string{"exclusive", "reuseport"}, Median: 100, Worst: "none", Times: 8},
		{Question: "wakeups", Workers: 8, Rate: 0, Best: []string{"none"}, Median: 9, Worst: "none", Times: 1},
		{Question: "tail", Workers: 8, Rate: 100, Best: []string{"none", "reuseport"}, Median: 100, Worst: "exclusive", Times: 1.4},
		{Question: "tail", Workers: 8, Rate: 0, Best: []string{"none"}, Worst: "none"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestMapForATerminal(t *testing.T) {
	r := &Results{Points: []Point{
		{Subject: "nginxref", Fix: "none", Workers: 2, Rate: 100, WakeupsPerS: Spread{200, 200, 200}},
		{Subject: "nginx", Fix: "reuseport", Workers: 2, Rate: 100, WakeupsPerS: Spread{100, 100, 100}},
		{Subject: "nginxref", Fix: "none", Workers: 4, Rate: 0, WakeupsPerConn: Spread{7, 7, 7}},
	}}
	r.Regimes = Regimes(r.Points)[:2]
	want := `  a  none
  b  nginx reuseport

Wakes least (wakeups per second; in a burst, per connection)
workers   100/s   burst
      2       b       -
      4       -       a
`
	if diff := cmp.Diff(want, r.MapText()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
