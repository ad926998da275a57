//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	header = "%-32s %7s %8s %10s %12s\n"
	row    = "%-32s %7d %6.1f %% %10d %12d\n"
)

func writeHeader(w io.Writer, what string) {
	fmt.Fprintf(w, header, what, "steps", "aligned", "explained", "unexplained")
}

func writeRow(w io.Writer, name string, s share) {
	fmt.Fprintf(w, row, name, s.steps, s.percent(), s.explained, s.unexplained)
}

// writeDetails says what one scenario has shown of each process.
func (r *result) writeDetails(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n\n", r.name, r.about)
	writeHeader(w, "process")
	for _, c := range r.comparisons {
		writeRow(w, c.name, c.share)
	}
	writeRow(w, "all", r.share)
	r.writeExplanations(w)
	r.writeDifferences(w)
}

// writeExplanations lists the divergences that were met.
func (r *result) writeExplanations(w io.Writer) {
	for i := range divergences {
		d := &divergences[i]
		met := 0
		for _, c := range r.comparisons {
			met += c.explained[d]
		}
		if met > 0 {
			fmt.Fprintf(w, "\n%d x %s\n  nginxref/%s: DIVERGES: %s\n", met, d.reason, d.file, d.diverges)
		}
	}
}

// writeDifferences shows the first unexplained difference of each process.
func (r *result) writeDifferences(w io.Writer) {
	if r.share.unexplained > 0 {
		fmt.Fprint(w, "\nThe first differences: - nginx only, + nginxref only. The numbers are lines of the logs.\n")
	}
	for i := range r.comparisons {
		r.comparisons[i].writeFirstDifference(w)
	}
}

// shown is how many steps are shown before the first difference, and from it.
const shownBefore, shownFrom = 6, 12

func (c *comparison) writeFirstDifference(w io.Writer) {
	first := 0
	for first < len(c.pairs) && !c.pairs[first].differs() {
		first++
	}
	if first == len(c.pairs) {
		return
	}
	fmt.Fprintf(w, "\n%s\n", c.name)
	for _, p := range c.pairs[max(0, first-shownBefore):min(len(c.pairs), first+shownFrom)] {
		switch {
		case p.b < 0:
			fmt.Fprintf(w, "  - %5d %5s  %s\n", c.a[p.a].line, "", c.a[p.a].text)
		case p.a < 0:
			fmt.Fprintf(w, "  + %5s %5d  %s\n", "", c.b[p.b].line, c.b[p.b].text)
		default:
			fmt.Fprintf(w, "    %5d %5d  %s\n", c.a[p.a].line, c.b[p.b].line, c.a[p.a].text)
		}
	}
}

// writeSteps writes the steps of all processes to a file beside the log.
func writeSteps(dir string, traces []trace) error {
	b := strings.Builder{}
	for _, t := range traces {
		fmt.Fprintf(&b, "%s\n", t.name)
		for _, s := range t.steps {
			fmt.Fprintf(&b, "%6d  %s\n", s.line, s.text)
		}
	}
	return os.WriteFile(filepath.Join(dir, "steps"), []byte(b.String()), 0o644)
}
