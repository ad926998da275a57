package report

import (
	"fmt"
	"maps"
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
	var list []regimeMap
	for _, q := range Questions {
		if m := r.regimeMap(q); m.Rows != nil {
			list = append(list, m)
		}
	}
	return list
}

func (r *Results) regimeMap(q Question) regimeMap {
	m := regimeMap{Title: q.Title, Unit: q.Unit}
	_, colours := r.fixColours()
	var rates []float64
	rows := map[int]map[float64]regimeCell{} // by workers and rate
	for i, g := range r.Regimes {
		if g.Question != q.Name {
			continue
		}
		if !slices.Contains(rates, g.Rate) {
			rates = append(rates, g.Rate)
			m.Rates = append(m.Rates, RateText(g.Rate))
		}
		if rows[g.Workers] == nil {
			rows[g.Workers] = map[float64]regimeCell{}
		}
		rows[g.Workers][g.Rate] = regimeCell{
			Path:  fmt.Sprintf("regimes[%d]", i),
			Class: colours[g.Best[0]],
			Best:  g.Best,
			Tip:   g.tip(q.Unit),
		}
	}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		row := regimeRow{Workers: n}
		for _, rate := range rates {
			row.Cells = append(row.Cells, rows[n][rate])
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// tip says a regime in a sentence.
func (g *Regime) tip(unit string) string {
	s := fmt.Sprintf("%s, %s: %s, %s %s", Plural(g.Workers, "worker"), RateText(g.Rate), quoteList(g.Best), Figure(g.Median, 1), unit)
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
