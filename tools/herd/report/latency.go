package report

import (
	"fmt"
	"math"
	"slices"

	"herd/tools/measure"
)

// latency shows the distribution of the times to the reply, a panel a fix.
func latency(r *Results) figure {
	f := figure{
		ID:    "latency",
		Title: "Latency: from connect to reply",
		Size:  "small",
		Text: []string{
			"So many percent of the connections were answered within that time. The upper part is stretched, a step for each " +
				"nine: there is the tail. Paced connections count from the moment they were meant to start, so a server " +
				"that stalls cannot hide it. Each panel has one fix in colour, before all others in grey.",
		},
	}
	if r.Points != nil {
		return f
	}
	runs := slices.DeleteFunc(entries("runs", r.Runs), func(e entry) bool { return e.Conns < 20 })
	if len(runs) == 0 {
		return f
	}
	least, most := int64(math.MaxInt64), int64(1)
	for _, e := range runs {
		least = min(least, e.LatencyCDF[0].Us)
		most = max(most, e.LatencyUs.Max)
	}
	x := scale{float64(least) / 1.2, float64(most) * 1.2, 34, smallW - 8, true}
	loads, _ := group(runs, func(e entry) string { return LoadText(e.Run) })
	fixes, _ := group(runs, func(e entry) string { return name(e.Subject, e.Fix) })
	for _, fix := range fixes {
		d := latencyPanel(x, fix, runs, loads)
		f.Panels = append(f.Panels, panel{fix, d.html(fix + ": distribution of latencies; the percentiles are in the table below")})
	}
	for i, load := range loads {
		f.Legend = append(f.Legend, keyOf(i, series(i), load))
	}
	f.Table = tableOf(runs, fixColumn, loadColumn, p50Column, p99Column, maxColumn, cpuColumn)
	return f
}

// nines stretches percentages: 0, 90, 99 and 99.9 are equally far apart.
func nines(percent float64) float64 { return -math.Log10(max(1-percent/100, 1e-9)) }

func latencyPanel(x scale, fix string, runs []entry, loads []string) *drawing {
	d := &drawing{w: smallW, h: smallH}
	top := 0.0
	for _, e := range runs {
		top = max(top, nines(100*(1-1/float64(e.Conns))))
	}
	y := scale{0, top * 1.1, smallH - 34, 10, false}
	var ys, xs []tick
	for _, p := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		if nines(p) <= y.hi {
			ys = append(ys, tick{nines(p), fmt.Sprintf("%g", p)})
		}
	}
	for _, t := range powers(10, x.lo, x.hi) {
		xs = append(xs, tick{t.at, fmt.Sprintf("%g", t.at/1e3)})
	}
	d.axes(x, y, xs, ys, "ms", "")
	for _, e := range runs {
		if name(e.Subject, e.Fix) != fix {
			d.curve(stairs(x, y, e.Run), "other")
		}
	}
	for _, e := range runs {
		if name(e.Subject, e.Fix) != fix {
			continue
		}
		i := slices.Index(loads, LoadText(e.Run))
		d.curve(stairs(x, y, e.Run), "cdf "+series(i))
		for _, q := range []struct {
			percent float64
			us      int64
		}{{50, e.LatencyUs.P50}, {99, e.LatencyUs.P99}} {
			d.mark(point{x.at(float64(q.us)), y.at(nines(min(q.percent, 100-100/float64(e.Conns))))}, i, series(i), e.path,
				fmt.Sprintf("%s, %s: %g %% within %.2f ms", fix, loadWord(e.Run), q.percent, float64(q.us)/1e3))
		}
	}
	return d
}

// stairs returns the points of a distribution. The slowest connection has
// nobody above it: its line ends where 1 of all remains.
func stairs(x, y scale, r *measure.Run) []point {
	var points []point
	last := nines(100 - 100/float64(max(r.Conns, 1)))
	for _, q := range r.LatencyCDF {
		points = append(points, point{x.at(float64(q.Us)), y.at(min(nines(q.Percent), last))})
	}
	return points
}
