package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"herd/tools/herd/report"
)

// writeSweep writes the points of a sweep, a block a rate, and the regime map.
func writeSweep(w io.Writer, res *report.Results) {
	fmt.Fprintf(w, "accept_mutex_delay %d ms; %s\n", res.DelayMs, res.Machine)
	fmt.Fprintln(w, "Medians, and the range of the repeats.")
	points := res.Points
	width := 16 // of the names
	for i := range points {
		width = max(width, len(pointLabel(&points[i])))
	}
	for len(points) > 0 {
		rate := points[0].Rate
		fmt.Fprintf(w, `
%-*s        wakeups per connection    wakeups per second           EAGAIN     p99    CPU
%-*s  workers   median        range    median          range  per conn      ms  us/conn
`, width, report.RateText(rate), width, "fix")
		var rest []report.Point
		for _, p := range points {
			if p.Rate != rate {
				rest = append(rest, p)
				continue
			}
			fmt.Fprintf(w, "%-*s   %6d %8.2f %12s %9s %14s %9.2f %7.2f %8.1f\n", width, pointLabel(&p), p.Workers,
				p.WakeupsPerConn.Median, rangeText(p.WakeupsPerConn, 2),
				report.Figure(p.WakeupsPerS.Median, 1), rangeText(p.WakeupsPerS, 1),
				p.EagainPerConn.Median, p.P99Us.Median/1e3, p.CPUUsPerConn.Median)
		}
		points = rest
	}
	fmt.Fprintf(w, "\nWhich fix is best, and those that are as good:\n\n%s", res.MapText())
}

// pointLabel names a row: the fix, of nginxref unless it says otherwise.
func pointLabel(p *report.Point) string {
	if p.Subject == "nginxref" {
		return p.Fix
	}
	return report.ShortSubject(p.Subject) + " " + shortFix(p.Fix)
}

func rangeText(s report.Spread, decimals int) string {
	return report.Figure(s.Min, decimals) + ".." + report.Figure(s.Max, decimals)
}

// writeCSV writes the points, a line each.
func writeCSV(w io.Writer, points []report.Point) error {
	out := csv.NewWriter(w)
	head := []string{"subject", "fix", "workers", "load", "rate", "conns", "repeats"}
	for _, f := range (&report.Point{}).Figures() {
		head = append(head, f.Name, f.Name+"_min", f.Name+"_max")
	}
	out.Write(head)
	for i := range points {
		p := &points[i]
		line := []string{p.Subject, p.Fix, strconv.Itoa(p.Workers), p.Load, number(p.Rate), strconv.Itoa(p.Conns), strconv.Itoa(p.Repeats)}
		for _, f := range p.Figures() {
			line = append(line, number(f.Median), number(f.Min), number(f.Max))
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
