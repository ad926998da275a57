package report

import (
	"cmp"
	"fmt"
	"slices"

	"herd/tools/measure"
)

// Point is what repeated runs of one fix under one load say.
type Point struct {
	Subject string  `json:"subject"`
	Fix     string  `json:"fix"`
	Workers int     `json:"workers"`
	Load    string  `json:"load"`
	Rate    float64 `json:"rate"`
	Conns   int     `json:"conns"`
	Repeats int     `json:"repeats"`

	WakeupsPerConn Spread `json:"wakeups_per_conn"`
	ReturnsPerConn Spread `json:"returns_per_conn"`
	EagainPerConn  Spread `json:"eagain_per_conn"`
	WakeupsPerS    Spread `json:"wakeups_per_s"`
	Jain           Spread `json:"jain"`
	P50Us          Spread `json:"p50_us"`
	P99Us          Spread `json:"p99_us"`
	CPUUsPerConn   Spread `json:"cpu_us_per_conn"`
}

// Spread is the median of some repeats and their range.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spread returns the spread of values, of which there is at least one.
func spread(values []float64) Spread {
	slices.Sort(values)
	n := len(values)
	return Spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

// Points gathers the repeats among runs, in the order in which each point was
// first measured.
func Points(runs []measure.Run) []Point {
	var points []Point
	repeats := map[Point][]*measure.Run{}
	for i := range runs {
		r := &runs[i]
		key := Point{Subject: r.Subject, Fix: r.Fix, Workers: r.Workers, Load: r.Load, Rate: r.Rate, Conns: r.Conns}
		if repeats[key] == nil {
			points = append(points, key)
		}
		repeats[key] = append(repeats[key], r)
	}
	for i, key := range points {
		points[i].fill(repeats[key])
	}
	return points
}

// Named is a figure of a point under its name in the data.
type Named struct {
	Name string
	Spread
}

// Figures returns the figures of a point, in the order of the data.
func (p *Point) Figures() []Named {
	return []Named{
		{"wakeups_per_conn", p.WakeupsPerConn},
		{"returns_per_conn", p.ReturnsPerConn},
		{"eagain_per_conn", p.EagainPerConn},
		{"wakeups_per_s", p.WakeupsPerS},
		{"jain", p.Jain},
		{"p50_us", p.P50Us},
		{"p99_us", p.P99Us},
		{"cpu_us_per_conn", p.CPUUsPerConn},
	}
}

func (p *Point) fill(runs []*measure.Run) {
	of := func(value func(*measure.Run) float64) Spread {
		var values []float64
		for _, r := range runs {
			values = append(values, value(r))
		}
		return spread(values)
	}
	p.Repeats = len(runs)
	p.WakeupsPerConn = of(func(r *measure.Run) float64 { return r.WakeupsPerConn })
	p.ReturnsPerConn = of(func(r *measure.Run) float64 { return r.ReturnsPerConn })
	p.EagainPerConn = of(func(r *measure.Run) float64 { return r.EagainPerConn })
	p.WakeupsPerS = of(func(r *measure.Run) float64 { return r.WakeupsPerS })
	p.Jain = of(func(r *measure.Run) float64 { return r.Jain })
	p.P50Us = of(func(r *measure.Run) float64 { return float64(r.LatencyUs.P50) })
	p.P99Us = of(func(r *measure.Run) float64 { return float64(r.LatencyUs.P99) })
	p.CPUUsPerConn = of(func(r *measure.Run) float64 { return r.CPUUsPerConn })
}

// Question is what a fix can be best at.
type Question struct {
	Name  string // in the data
	Title string
	Unit  string
	of    func(*Point) Spread
	slack float64 // differences below it are none
}

// Questions are those that the regime map answers.
var Questions = []Question{
	{"wakeups", "Wakes least", "wakeups per second; in a burst, per connection", wakeupsOf, 0.02},
	{"cpu", "Costs least CPU", "us per connection", func(p *Point) Spread { return p.CPUUsPerConn }, 0.05},
	{"tail", "Has the best tail", "us, 99th percentile", func(p *Point) Spread { return p.P99Us }, 0.05},
}

// wakeupsOf counts polling too. In a burst there is little of it, and a fix
// that serves faster should not look worse for that.
func wakeupsOf(p *Point) Spread {
	if p.Rate == 0 {
		return p.WakeupsPerConn
	}
	return p.WakeupsPerS
}

// Regime is the answer to one question for one number of workers and rate.
type Regime struct {
	Question string   `json:"question"`
	Workers  int      `json:"workers"`
	Rate     float64  `json:"rate"` // 0: burst
	Best     []string `json:"best"` // the best fix, and those as good
	Median   float64  `json:"median"`
	Worst    string   `json:"worst"`
	Times    float64  `json:"worst_times"` // how many times worse that is; 0: the best is 0
}

// Regimes returns the regime map of points: for each question the numbers of
// workers and rates in increasing order, a burst last. A fix is as good as the
// best if its median is within the best one's range of repeats, or so near
// that the difference is none.
func Regimes(points []Point) []Regime {
	type place struct {
		workers int
		rate    float64
	}
	at := map[place][]*Point{}
	var places []place
	for i := range points {
		p := &points[i]
		pl := place{p.Workers, p.Rate}
		if at[pl] == nil {
			places = append(places, pl)
		}
		at[pl] = append(at[pl], p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(compareRates(a.rate, b.rate), cmp.Compare(a.workers, b.workers))
	})
	var regimes []Regime
	for _, q := range Questions {
		for _, pl := range places {
			regimes = append(regimes, q.answer(at[pl]))
		}
	}
	return regimes
}

// compareRates puts a burst behind every rate.
func compareRates(a, b float64) int {
	switch {
	case a == b:
		return 0
	case a == 0:
		return 1
	case b == 0:
		return -1
	}
	return cmp.Compare(a, b)
}

// answer returns the best of points, which have the same workers and rate.
func (q *Question) answer(points []*Point) Regime {
	by := func(a, b *Point) int { return cmp.Compare(q.of(a).Median, q.of(b).Median) }
	best, worst := slices.MinFunc(points, by), slices.MaxFunc(points, by)
	s := q.of(best)
	r := Regime{
		Question: q.Name,
		Workers:  best.Workers,
		Rate:     best.Rate,
		Best:     []string{name(best.Subject, best.Fix)},
		Median:   s.Median,
		Worst:    name(worst.Subject, worst.Fix),
	}
	if s.Median > 0 {
		r.Times = q.of(worst).Median / s.Median
	}
	for _, p := range points {
		if p != best && q.of(p).Median <= max(s.Max, s.Median*(1+q.slack)) {
			r.Best = append(r.Best, name(p.Subject, p.Fix))
		}
	}
	return r
}

// spot is a point and where in the data it, or the run it comes from, stands.
type spot struct {
	path string
	Point
}

// allSpots returns the points of a sweep.
func (r *Results) allSpots() []spot {
	var spots []spot
	for i, p := range r.Points {
		spots = append(spots, spot{fmt.Sprintf("points[%d]", i), p})
	}
	return spots
}

// spots returns the paced and one-by-one points of a list of runs, or of a
// sweep if there is one.
func (r *Results) spots(list string, runs []measure.Run) []spot {
	spots := r.allSpots()
	if r.Points == nil {
		for i := range runs {
			spots = append(spots, spot{fmt.Sprintf("%s[%d]", list, i), Points(runs[i : i+1])[0]})
		}
	}
	return slices.DeleteFunc(spots, func(s spot) bool { return s.Load == measure.Burst })
}
