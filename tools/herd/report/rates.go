package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"herd/tools/measure"
)

// compared returns the points of those fixes whose wakeups are drawn against
// the rate: the herd, the mutex, and one that wakes a single worker. The
// others lie on their lines.
func compared(spots []spot) []spot {
	fixes := []string{"none", "accept-mutex"}
	for _, single := range []string{"exclusive-reorder", "reuseport", "exclusive", "blocking"} {
		if slices.ContainsFunc(spots, func(s spot) bool { return s.Fix == single }) {
			fixes = append(fixes, single)
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(spots), func(s spot) bool { return !slices.Contains(fixes, s.Fix) })
}

// rates shows wakeups per second against the rate of connections, a panel a
// number of workers.
func rates(r *Results) figure {
	spots := r.spots("runs", r.Runs)
	if r.Points == nil {
		spots = append(spots, r.spots("rates", r.Rates)...)
	}
	spots = slices.DeleteFunc(spots, func(s spot) bool { return s.Load != measure.Paced })
	f := figure{
		ID:    "rates",
		Title: "Wakeups per second against the rate of connections",
		Size:  "wide",
		Text: []string{
			fmt.Sprintf("What does a fix cost at a given rate r? Lines are predicted, marks are measured. The herd wakes N·r "+
				"processes a second; the accept mutex r, and (N−1)/delay more that poll whether or not anyone connects. "+
				"They cross at r* = 1/delay = %g connections a second, whatever N is: below it the mutex wakes more processes "+
				"than the herd, above it fewer.", 1/r.delay()),
		},
	}
	drawn := compared(spots)
	if len(drawn) == 0 {
		return f
	}
	sizes, byN := group(drawn, func(s spot) int { return s.Workers })
	w, h := 480.0, 330.0
	if len(sizes) > 1 {
		f.Size, w, h = "medium", 360, 270
	}
	for _, n := range sizes {
		title := Plural(n, "worker")
		f.Panels = append(f.Panels, panel{title, ratePanel(w, h, n, byN[n], r.delay()).html(
			title + ": wakeups per second against connections per second; the figures are in the table below")})
	}
	names, _ := group(drawn, func(s spot) string { return name(s.Subject, s.Fix) })
	for i, n := range names {
		f.Legend = append(f.Legend, keyOf(i, colourOf(n), n))
	}
	f.Table = rateTable(r, spots)
	return f
}

// rateTable has all that is paced, drawn or not.
func rateTable(r *Results, spots []spot) table {
	if r.Points != nil {
		return spotTable(spots)
	}
	paced := slices.DeleteFunc(append(entries("runs", r.Runs), entries("rates", r.Rates)...),
		func(e entry) bool { return e.Load != measure.Paced })
	return tableOf(paced, fixColumn, workersColumn, loadColumn, wakeupsPerSColumn, predictedColumn, pollingColumn)
}

// colourOf returns the class of a fix in the plot of rates; that of another
// subject than nginxref has the same, and another shape.
func colourOf(name string) string {
	switch name[strings.LastIndexByte(name, ' ')+1:] {
	case "none":
		return series(0)
	case "accept-mutex":
		return series(1)
	}
	return series(2)
}

// series returns the class of the i-th series.
func series(i int) string { return fmt.Sprintf("s%d", i%4) }

func ratePanel(w, h float64, n int, spots []spot, delay float64) *drawing {
	d := &drawing{w: w, h: h}
	lo, hi, most := math.Inf(1), 0.0, 0.0
	for _, s := range spots {
		lo, hi, most = min(lo, s.Rate), max(hi, s.Rate), max(most, s.WakeupsPerS.Max)
	}
	lo, hi = min(lo, 1/delay)/1.6, max(hi, 1/delay)*1.6
	x := scale{lo, hi, 52, w - 14, true}
	y := scale{lo, max(most, hi*float64(n)), h - 38, 22, true}
	d.axes(x, y, powers(10, lo, hi), powers(10, y.lo, y.hi), "connections per second", "wakeups per second")
	d.crossover(x, y, n, delay)

	fixes, _ := group(spots, func(s spot) string { return s.Fix })
	if !slices.Contains(fixes, "none") {
		d.predicted(x, y, "none", n, delay, "model") // for the crossover
	}
	for _, fix := range fixes {
		d.predicted(x, y, fix, n, delay, "predicted "+colourOf(fix))
	}
	names, byName := group(spots, func(s spot) string { return name(s.Subject, s.Fix) })
	for i, fix := range names {
		for _, s := range byName[fix] {
			d.spread(x.at(s.Rate), y, s.WakeupsPerS)
			d.mark(point{x.at(s.Rate), y.at(s.WakeupsPerS.Median)}, i, colourOf(fix), s.path,
				fmt.Sprintf("%s, %s, %s: %s wakeups per second", fix, Plural(n, "worker"), RateText(s.Rate), Figure(s.WakeupsPerS.Median, 1)))
		}
	}
	return d
}

// predicted draws the model of a fix for n workers.
func (d *drawing) predicted(x, y scale, fix string, n int, delay float64, class string) {
	f, err := measure.FixByName(fix)
	if err != nil {
		return
	}
	var line []point
	for v := x.lo; v <= x.hi*1.0001; v *= math.Pow(x.hi/x.lo, 1.0/60) {
		line = append(line, point{x.at(v), y.at(f.Wakeups(float64(n), v, delay))})
	}
	d.curve(line, class)
}

// crossover marks the rate at which the mutex costs as much as the herd.
func (d *drawing) crossover(x, y scale, n int, delay float64) {
	r := 1 / delay
	d.line(x.at(r), y.from, x.at(r), y.to, "cross")
	d.text(x.at(r)+5, y.to+12, "start", "crosstext", fmt.Sprintf("r* = 1/delay = %g/s", r))
	d.add(`<circle cx="%v" cy="%v" r="7" class="crossring"/>`, x.at(r), y.at(float64(n)*r))
}
