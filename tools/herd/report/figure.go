package report

import (
	"html/template"
	"slices"
)

// figure is a section of the page: what is asked, the drawings, and the table
// behind them.
type figure struct {
	ID, Title string
	Text      []string
	Legend    []key
	Panels    []panel
	Size      string // of the panels: small, medium or wide
	Table     table
}

// key explains a colour or a shape.
type key struct {
	Class string
	Shape template.HTML
	Text  string
}

// panel is one drawing of a figure.
type panel struct {
	Title string
	SVG   template.HTML
}

// figures returns those for which there is something to show.
func (r *Results) figures() []figure {
	var list []figure
	for _, make := range []func(*Results) figure{scaling, rates, eagain, shares, latency} {
		if f := make(r); len(f.Panels) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// keyOf draws the key of a mark.
func keyOf(shape int, class, text string) key {
	d := &drawing{w: 14, h: 14}
	d.mark(point{7, 7}, shape, class, "", "")
	return key{Text: text, Shape: d.html(text)}
}

// group gathers the items that have the same key, in the order of the keys'
// first appearance.
func group[K comparable, V any](items []V, of func(V) K) (keys []K, groups map[K][]V) {
	groups = map[K][]V{}
	for _, v := range items {
		k := of(v)
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], v)
	}
	return keys, groups
}
