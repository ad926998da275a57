package report

import (
	"fmt"
	"math"
)

// Size of a small panel, of which several stand in a row.
const (
	smallW = 210
	smallH = 170
)

// scaling shows wakeups per connection against the number of workers, a panel
// a fix.
func scaling(r *Results) figure {
	spots := r.spots("scaling", r.Scaling)
	f := figure{
		ID:    "scaling",
		Title: "Wakeups per connection against the number of workers",
		Size:  "small",
		Text: []string{
			"How many workers does one connection wake? Each mark is measured, the line is the model: " +
				"N where every waiting worker is woken, 1 where one is. Both axes are logarithmic. " +
				"Wakeups by polling are not among them; they do not come from connections.",
		},
	}
	most := 1
	for _, s := range spots {
		most = max(most, s.Workers)
	}
	fixes, byFix := group(spots, func(s spot) string { return name(s.Subject, s.Fix) })
	for _, fix := range fixes {
		f.Panels = append(f.Panels, panel{fix, scalingPanel(fix, byFix[fix], most).html(
			fmt.Sprintf("%s: wakeups per connection against the number of workers; the figures are in the table below", fix))})
	}
	if r.Points != nil {
		f.Table = spotTable(spots)
	} else {
		f.Table = tableOf(entries("scaling", r.Scaling), fixColumn, workersColumn, loadColumn, wakeupsColumn, modelColumn, eagainColumn)
	}
	return f
}

func scalingPanel(fix string, spots []spot, most int) *drawing {
	d := &drawing{w: smallW, h: smallH}
	top := math.Max(2, float64(most))
	x := scale{1, top, 34, smallW - 12, true}
	y := scale{0.5, top * 1.4, smallH - 34, 12, true}
	base := 2.0
	if top > 16 {
		base = 4
	}
	d.axes(x, y, powers(2, 1, top), powers(base, 1, top), "workers", "")

	var line []point
	for n := 1.0; n <= top*1.0001; n *= math.Sqrt2 {
		if m, ok := model(spots[0].Fix, n); ok {
			line = append(line, point{x.at(n), y.at(m)})
		}
	}
	d.curve(line, "model")
	for _, s := range spots {
		d.spread(x.at(float64(s.Workers)), y, s.WakeupsPerConn)
		d.mark(point{x.at(float64(s.Workers)), y.at(s.WakeupsPerConn.Median)}, 0, "s0", s.path,
			fmt.Sprintf("%s, %s, %s: %.2f wakeups per connection", fix, Plural(s.Workers, "worker"), spotLoad(s), s.WakeupsPerConn.Median))
	}
	return d
}

// spread draws the range of repeats at x.
func (d *drawing) spread(x float64, y scale, s Spread) {
	if s.Min < s.Max {
		d.line(x, y.at(s.Min), x, y.at(s.Max), "spread")
	}
}

// spotLoad names the load of a spot.
func spotLoad(s spot) string {
	if s.Rate == 0 {
		return s.Load
	}
	return RateText(s.Rate)
}

// spotTable shows the points of a sweep.
func spotTable(spots []spot) table {
	t := table{Head: []string{"fix", "workers", "load", "repeats", "wakeups/conn", "min", "max", "wakeups/s", "min", "max", "EAGAIN", "p99 ms", "CPU us"}}
	for _, s := range spots {
		num := func(field string, decimals int, v, scale float64) cell {
			return cell{fmt.Sprintf("%.*f", decimals, v*scale), field, scale}
		}
		t.Rows = append(t.Rows, row{s.path, []cell{
			{Text: name(s.Subject, s.Fix)},
			num("workers", 0, float64(s.Workers), 1),
			{Text: spotLoad(s)},
			num("repeats", 0, float64(s.Repeats), 1),
			num("wakeups_per_conn.median", 2, s.WakeupsPerConn.Median, 1),
			num("wakeups_per_conn.min", 2, s.WakeupsPerConn.Min, 1),
			num("wakeups_per_conn.max", 2, s.WakeupsPerConn.Max, 1),
			num("wakeups_per_s.median", 1, s.WakeupsPerS.Median, 1),
			num("wakeups_per_s.min", 1, s.WakeupsPerS.Min, 1),
			num("wakeups_per_s.max", 1, s.WakeupsPerS.Max, 1),
			num("eagain_per_conn.median", 2, s.EagainPerConn.Median, 1),
			num("p99_us.median", 2, s.P99Us.Median, 1e-3),
			num("cpu_us_per_conn.median", 1, s.CPUUsPerConn.Median, 1),
		}})
	}
	return t
}
