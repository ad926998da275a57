package result

import (
	"fmt"
	"io"
	"strings"
)

// Terminal writes the whole report for a person.
func Terminal(w io.Writer, r *Report) error {
	for _, l := range r.Labs {
		Head(w, l)
		for i := range l.Checks {
			Line(w, l, i)
		}
		Foot(w, l)
	}
	Total(w, r)
	return nil
}

// Head writes what stands above a lab's checks.
func Head(w io.Writer, l *Lab) {
	fmt.Fprintf(w, "lab %02d: %s (%s)\n", l.Number, l.Title, l.Dir)
	for _, note := range l.Notes {
		fmt.Fprintf(w, "  note: %s\n", note)
	}
}

// Line writes the i-th check of the lab. What explains it follows, unless the
// check before says the same.
func Line(w io.Writer, l *Lab, i int) {
	c := &l.Checks[i]
	points := fmt.Sprintf("%d/%d", c.Score(), c.Max())
	fmt.Fprintf(w, "  %-16s %7s  %s\n", c.Outcome, points, c.ID)
	if c.Outcome == Passed || c.Outcome == Pending {
		return
	}
	if text := c.text(); text != "" && (i == 0 || text != l.Checks[i-1].text()) {
		fmt.Fprintln(w, indent(text, "      "))
	}
}

// Foot writes the points of the lab, and what a student at its beginning
// wants to know.
func Foot(w io.Writer, l *Lab) {
	score, most := l.Score()
	fmt.Fprintf(w, "  %d of %d points (%s)\n", score, most, strings.Join(l.parts(), ", "))
	if l.All(NotWritten) {
		fmt.Fprintf(w, "  Nothing is written yet, so this is as it should be. Begin with labs/%s/README.md.\n", l.Name)
	}
	if n := l.Count(CannotShow); n > 0 {
		fmt.Fprintf(w, "  %d of the checks could not be decided on this machine; they count neither for nor against.\n", n)
	}
	fmt.Fprintln(w)
}

// parts returns the points by part.
func (l *Lab) parts() (list []string) {
	score, most := map[string]int{}, map[string]int{}
	names := []string{}
	for i := range l.Checks {
		c := &l.Checks[i]
		if _, ok := most[c.Part]; !ok {
			names = append(names, c.Part)
		}
		score[c.Part] += c.Score()
		most[c.Part] += c.Max()
	}
	for _, part := range names {
		list = append(list, fmt.Sprintf("part %s: %d of %d", part, score[part], most[part]))
	}
	return list
}

// Total writes the sum of several labs.
func Total(w io.Writer, r *Report) {
	if len(r.Labs) > 1 {
		score, most := r.Score()
		fmt.Fprintf(w, "all labs: %d of %d points\n", score, most)
	}
}
