package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"herd/tools/measure"
)

// laneH is the height of a worker's lane in pixels.
const laneH = 18

// track is a timeline as the page shows it.
type track struct {
	Path  string // in the data
	Title string
	Cut   string // where it ends before its time, and why
	SVG   template.HTML
	Lanes []int
	Table table
}

// activityNames are what the legend calls them.
var activityNames = map[measure.Activity]string{
	measure.Accepting: "accepting: from the wakeup to the end of accept4",
	measure.Serving:   "serving, until it sleeps again",
	measure.Polling:   "woken by its timeout, to poll for the lock",
	measure.Nothing:   "woken for nothing",
}

// tracks returns the timelines.
func (r *Results) tracks() []track {
	var tracks []track
	for i := range r.Timeline {
		tl := &r.Timeline[i]
		t := track{
			Path:  fmt.Sprintf("timeline[%d]", i),
			Title: fmt.Sprintf("%s, %s", name(tl.Run.Subject, tl.Run.Fix), LoadText(&tl.Run)),
			SVG:   lanes(tl),
		}
		if tl.Cut {
			t.Cut = fmt.Sprintf("The kernel's buffer of a worker was full after %.0f ms; what came later is not shown.", float64(tl.DurationUs)/1e3)
		}
		for w := range tl.Lanes {
			t.Lanes = append(t.Lanes, w)
		}
		t.Table = laneTable(t.Path, tl)
		tracks = append(tracks, t)
	}
	return tracks
}

// lanes draws a timeline; a unit is a microsecond wide. Spans are often
// narrower than a pixel: their outline, which does not scale, keeps them
// visible.
func lanes(tl *measure.Timeline) template.HTML {
	var b strings.Builder
	height := laneH * len(tl.Lanes)
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" style="height:%dpx" preserveAspectRatio="none" aria-hidden="true">`+"\n",
		tl.DurationUs, height, height)
	for w := range tl.Lanes {
		fmt.Fprintf(&b, `<path class="asleep" d="M0 %dH%d"/>`+"\n", laneH*w+laneH-5, tl.DurationUs)
	}
	path := map[string]*strings.Builder{}
	box := func(class string, from, to int64, top, h int) {
		if path[class] == nil {
			path[class] = &strings.Builder{}
		}
		fmt.Fprintf(path[class], "M%d %dh%dv%dh-%dz", from, top, to-from, h, to-from)
	}
	for _, h := range tl.Holds {
		box("holds", h.FromUs, h.ToUs, laneH*h.Worker+laneH-4, 3)
	}
	for w, lane := range tl.Lanes {
		for _, s := range lane.Spans {
			box(string(s.Doing), s.FromUs, s.ToUs, laneH*w+2, laneH-7)
		}
	}
	for _, class := range classes() {
		if path[class] != nil {
			fmt.Fprintf(&b, `<path class="%s" d="%s"/>`+"\n", class, path[class])
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// classes are the activities in the order they are drawn: what is rarer
// stands in front.
func classes() []string {
	list := []string{"holds"}
	for _, a := range slices.Backward(measure.Activities) {
		list = append(list, string(a))
	}
	return list
}

// laneTable adds up what each worker did.
func laneTable(path string, tl *measure.Timeline) table {
	t := table{Head: []string{"worker", "pid"}}
	for _, a := range measure.Activities {
		t.Head = append(t.Head, string(a), "ms")
	}
	for w, lane := range tl.Lanes {
		r := row{Path: fmt.Sprintf("%s.lanes[%d]", path, w), Cells: []cell{
			{Text: fmt.Sprint(w)},
			{Text: fmt.Sprint(lane.Pid), Field: "pid", Scale: 1},
		}}
		for _, a := range measure.Activities {
			total := lane.Totals[a]
			r.Cells = append(r.Cells,
				cell{fmt.Sprint(total.Count), fmt.Sprintf("totals.%s.count", a), 1},
				cell{fmt.Sprintf("%.2f", float64(total.Us)/1e3), fmt.Sprintf("totals.%s.us", a), 1e-3})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// timelineLegend explains the colours.
func timelineLegend() []key {
	var keys []key
	for _, a := range measure.Activities {
		keys = append(keys, key{Class: string(a), Text: activityNames[a]})
	}
	return append(keys,
		key{Class: "holds", Text: "holds the accept mutex (it waits without a timeout, which only the holder does)"},
		key{Class: "asleep", Text: "asleep"})
}
