package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"herd/tools/herd/report"
	"herd/tools/measure"
)

// writeResults writes the table and what it says.
func writeResults(w io.Writer, opt *options, res *report.Results) {
	fmt.Fprintf(w, "%s, accept_mutex_delay %d ms; %s\n", report.Plural(opt.workers, "worker"), res.DelayMs, res.Machine)
	writeTable(w, res.Runs)
	writeFindings(w, report.Findings(res.Runs, opt.delay.Seconds()))
	if opt.compare {
		writeRatios(w, res.Runs)
	}
	writeWitness(w, res.Runs)
}

const tableHead = `
%s
                    per connection            wakeups per second      share of          latency ms  server CPU
%-18s  wakeups returns EAGAIN    polling    all predicted  busiest  Jain      p50    p99  us/conn
`

// writeTable writes a block of rows for each rate.
func writeTable(w io.Writer, runs []measure.Run) {
	for i := range runs {
		r := &runs[i]
		if i == 0 || r.Rate != runs[i-1].Rate {
			fmt.Fprintf(w, tableHead, report.LoadText(r), "fix")
		}
		fmt.Fprintf(w, "%-18s %8.2f %7s %6.2f   %8.1f %6s %9s  %6.0f %%  %4.2f  %7.2f %6.1f %8.1f\n",
			label(r), r.WakeupsPerConn, report.Figure(r.ReturnsPerConn, 2), r.EagainPerConn,
			r.PollingWakeupsPerS, report.Figure(r.WakeupsPerS, 1), predicted(r),
			100*r.MaxShare(), r.Jain,
			float64(r.LatencyUs.P50)/1e3, float64(r.LatencyUs.P99)/1e3, r.CPUUsPerConn)
	}
}

// label names a row: the fix, of nginxref unless it says otherwise.
func label(r *measure.Run) string {
	if r.Subject == "nginxref" {
		return r.Fix
	}
	return "  " + report.ShortSubject(r.Subject)
}

func predicted(r *measure.Run) string {
	if r.PredictedWakeupsPerS == nil {
		return "-"
	}
	return report.Figure(*r.PredictedWakeupsPerS, 1)
}

// textWidth is where prose is broken.
const textWidth = 80

// writeFindings says in words what the numbers say about the accept mutex.
func writeFindings(w io.Writer, findings []string) {
	for i, text := range findings {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, wrap("- "+text, "  "))
	}
}

// wrap breaks text into lines; those after the first are indented.
func wrap(text, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > textWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

const ratiosHead = `
nginxref divided by %s
                      wakeups  returns   EAGAIN    polling      all      p50      p99      CPU
`

// writeRatios compares each run of nginxref with the run of the other subject
// that follows it.
func writeRatios(w io.Writer, runs []measure.Run) {
	head := ratiosHead
	for i := 1; i < len(runs); i++ {
		ours, theirs := &runs[i-1], &runs[i]
		if theirs.Subject == "nginxref" {
			continue
		}
		if head != "" {
			fmt.Fprintf(w, head, theirs.Subject)
			head = ""
		}
		fmt.Fprintf(w, "%-14s %-6s %8s %8s %8s   %8s %8s %8s %8s %8s\n", shortFix(ours.Fix), report.RateText(ours.Rate),
			quotient(ours.WakeupsPerConn, theirs.WakeupsPerConn),
			quotient(ours.ReturnsPerConn, theirs.ReturnsPerConn),
			quotient(ours.EagainPerConn, theirs.EagainPerConn),
			quotient(ours.PollingWakeupsPerS, theirs.PollingWakeupsPerS),
			quotient(ours.WakeupsPerS, theirs.WakeupsPerS),
			quotient(float64(ours.LatencyUs.P50), float64(theirs.LatencyUs.P50)),
			quotient(float64(ours.LatencyUs.P99), float64(theirs.LatencyUs.P99)),
			quotient(ours.CPUUsPerConn, theirs.CPUUsPerConn))
	}
}

// shortFix fits the longest name into the table of ratios.
func shortFix(fix string) string { return strings.Replace(fix, "exclusive-reorder", "excl-reorder", 1) }

// quotient prints a/b; two zeros are equal, and nothing can be divided by one.
func quotient(a, b float64) string {
	switch {
	case a == b:
		return "1.00"
	case b == 0:
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// writeWitness says whether the two accounts of the paced runs agree.
func writeWitness(w io.Writer, runs []measure.Run) {
	fmt.Fprintln(w)
	compared, differ := map[string]int{}, 0
	for i := range runs {
		r := &runs[i]
		if r.Witness != "" {
			compared[r.Witness]++
		}
		for _, d := range r.Disagreements {
			differ++
			fmt.Fprintf(w, "The witnesses disagree: %s %s, %s: %s\n", r.Subject, r.Fix, report.RateText(r.Rate), d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		fmt.Fprintf(w, "Held against %s in %d runs; they differ on %d figures by more than 1 %%.\n", name, compared[name], differ)
	}
	if err := measure.WitnessMissing(); err != nil {
		fmt.Fprintf(w, "Only the workers' own counters speak: %v.\n", err)
	}
}
