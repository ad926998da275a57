package report

import (
	"fmt"
	"slices"
	"strings"
)

// regimeMap is the answer to one question, for each number of workers and
// rate.
type regimeMap struct {
	Title, Unit string
	Rates       []string
	Rows        []regimeRow
}

type regimeRow struct {
	Workers int
	Cells   []regimeCell
}

// regimeCell is one regime; without a Path it was not measured.
type regimeCell struct {
	Path  string
	Class string // the colour of the best fix
	Best  []string
	Tip   string
}

// regimeMaps arranges the regimes of a sweep.
func (r *Results) regimeMaps() []regimeMap {
	var maps []regimeMap
	_, fixColour := r.fixColours()
	for _, q := range Questions {
		m := regimeMap{Title: q.Title, Unit: q.Unit}
		var rates []float64
		var sizes []int
		cells := map[string]regimeCell{}
		for i, g := range r.Regimes {
			if g.Question != q.Name {
				continue
			}
			if !slices.Contains(rates, g.Rate) {
				rates = append(rates, g.Rate)
			}
			if !slices.Contains(sizes, g.Workers) {
				sizes = append(sizes, g.Workers)
			}
			cells[fmt.Sprint(g.Workers, g.Rate)] = regimeCell{
				Path:  fmt.Sprintf("regimes[%d]", i),
				Class: fixColour[g.Best[0]],
				Best:  g.Best,
				Tip:   g.tip(q.Unit),
			}
		}
		slices.Sort(sizes)
		for _, rate := range rates {
			m.Rates = append(m.Rates, RateText(rate))
		}
		for _, n := range sizes {
			row := regimeRow{Workers: n}
			for _, rate := range rates {
				row.Cells = append(row.Cells, cells[fmt.Sprint(n, rate)])
			}
			m.Rows = append(m.Rows, row)
		}
		if m.Rows != nil {
			maps = append(maps, m)
		}
	}
	return maps
}

// tip says a regime in a sentence.
func (g *Regime) tip(unit string) string {
	s := fmt.Sprintf("%s, %s: %s, %s %s", plural(g.Workers, "worker"), RateText(g.Rate), quoteList(g.Best), Figure(g.Median, 1), unit)
	if g.Times > 1 {
		s += fmt.Sprintf("; %s %s times that", g.Worst, Figure(g.Times, 1))
	}
	return s
}

// fixColours gives each fix of a sweep a colour of its own, by name.
func (r *Results) fixColours() (names []string, class map[string]string) {
	class = map[string]string{}
	for _, p := range r.Points {
		n := name(p.Subject, p.Fix)
		if class[n] == "" {
			class[n] = fmt.Sprintf("f%d", len(names)%9)
			names = append(names, n)
		}
	}
	return names, class
}

// MapText prints the regime map for a terminal: each fix has a letter, and a
// place shows the letters of those that are as good as the best.
func (r *Results) MapText() string {
	var b strings.Builder
	names, _ := r.fixColours()
	letters := map[string]string{}
	for i, n := range names {
		letters[n] = string(rune('a' + i))
		fmt.Fprintf(&b, "  %s  %s\n", letters[n], n)
	}
	for _, m := range r.regimeMaps() {
		fmt.Fprintf(&b, "\n%s (%s)\nworkers", m.Title, m.Unit)
		width := len(names) + 2
		for _, rate := range m.Rates {
			fmt.Fprintf(&b, "%*s", max(width, 8), rate)
		}
		b.WriteString("\n")
		for _, row := range m.Rows {
			fmt.Fprintf(&b, "%7d", row.Workers)
			for _, c := range row.Cells {
				text := "-"
				if c.Path != "" {
					text = ""
					for _, n := range c.Best {
						text += letters[n]
					}
				}
				fmt.Fprintf(&b, "%*s", max(width, 8), text)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
