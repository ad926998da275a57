package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// drawing collects the elements of an SVG of w by h units. A unit is about a
// pixel; the page scales drawings to the room there is.
type drawing struct {
	w, h  float64
	parts strings.Builder
}

// add writes an element; strings among args are escaped.
func (d *drawing) add(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = html.EscapeString(a)
		case float64:
			args[i] = math.Round(a*100) / 100
		}
	}
	fmt.Fprintf(&d.parts, format+"\n", args...)
}

// text writes s at x, y; anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, class, s string) {
	d.add(`<text x="%v" y="%v" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, s)
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.add(`<line x1="%v" y1="%v" x2="%v" y2="%v" class="%s"/>`, x1, y1, x2, y2, class)
}

// curve writes a line through the points.
func (d *drawing) curve(points []point, class string) {
	var path strings.Builder
	for i, p := range points {
		verb := 'L'
		if i == 0 {
			verb = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", verb, p.x, p.y)
	}
	d.add(`<path d="%s" class="%s"/>`, path.String(), class)
}

type point struct{ x, y float64 }

// mark writes what a row of the data looks like: hovering it shows tip, and
// row says which one it is. Shapes tell series apart without their colour.
func (d *drawing) mark(p point, shape int, class, row, tip string) {
	const r = 4.5
	path := [...]string{
		fmt.Sprintf("m-%g 0a%g %g 0 1 0 %g 0a%g %g 0 1 0 -%g 0z", r, r, r, 2*r, r, r, 2*r),
		fmt.Sprintf("m-%g -%gh%gv%gh-%gz", r-.5, r-.5, 2*r-1, 2*r-1, 2*r-1),
		fmt.Sprintf("m0 -%gl%g %gh-%gz", r+1, r+.5, 2*r, 2*r+1),
		fmt.Sprintf("m0 -%gl%g %gl-%g %gl-%g -%gz", r+1, r+1, r+1, r+1, r+1, r+1, r+1),
	}[shape%4]
	d.add(`<path d="M%v %v%s" class="mark %s" data-row="%s" data-tip="%s"/>`, p.x, p.y, path, class, row, tip)
}

// html returns the drawing. Its content is hidden from screen readers, which
// get label and the table behind it.
func (d *drawing) html(label string) template.HTML {
	return template.HTML(fmt.Sprintf(
		`<svg viewBox="0 0 %v %v" role="img" aria-label="%s">%s<g aria-hidden="true">%s</g></svg>`,
		d.w, d.h, html.EscapeString(label), "\n", d.parts.String()))
}

// scale maps values from lo..hi to from..to, by their logarithm if log is
// set; what is outside goes to the edge.
type scale struct {
	lo, hi, from, to float64
	log              bool
}

func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	v = min(max(v, lo), hi)
	if s.log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	if hi == lo {
		return s.from
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// tick is a place on an axis with a label.
type tick struct {
	at    float64
	label string
}

// powers returns ticks at the powers of base from lo to hi.
func powers(base, lo, hi float64) (ticks []tick) {
	for v := math.Pow(base, math.Ceil(math.Log(lo)/math.Log(base)-1e-9)); v <= hi*1.0001; v *= base {
		ticks = append(ticks, tick{v, fmt.Sprintf("%g", v)})
	}
	return ticks
}

// axes writes the frame of a plot: grid lines with their labels, and what the
// axes are.
func (d *drawing) axes(x, y scale, xs, ys []tick, xName, yName string) {
	for _, t := range ys {
		d.line(x.from, y.at(t.at), x.to, y.at(t.at), "grid")
		d.text(x.from-5, y.at(t.at)+4, "end", "dim", t.label)
	}
	for _, t := range xs {
		d.line(x.at(t.at), y.from, x.at(t.at), y.to, "grid")
		d.text(x.at(t.at), y.from+15, "middle", "dim", t.label)
	}
	d.line(x.from, y.from, x.to, y.from, "axis")
	d.line(x.from, y.from, x.from, y.to, "axis")
	if xName != "" {
		d.text((x.from+x.to)/2, d.h-3, "middle", "dim", xName)
	}
	if yName != "" {
		d.text(2, 12, "start", "dim", yName)
	}
}
