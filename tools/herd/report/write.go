package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	styleCSS string
	//go:embed script.js
	scriptJS string
)

// page is what the template shows.
type page struct {
	CSS      template.CSS
	JS, Data template.JS

	Subtitle        string
	Findings        []string
	Maps            []regimeMap
	Tables          []titled
	Figures         []figure
	Tracks          []track
	TimelineLegend  []key
	TimelineMissing string
	Witness         string
}

type titled struct {
	Title string
	Table table
}

// Write writes the page of r.
func Write(w io.Writer, r *Results) error {
	data, err := json.Marshal(r) // escapes what could end the script element
	if err != nil {
		return err
	}
	// Not parsed before it is needed: the workers are the same program.
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, page{
		CSS:             template.CSS(styleCSS),
		JS:              template.JS(scriptJS),
		Data:            template.JS(data),
		Subtitle:        r.subtitle(),
		Findings:        r.findings(),
		Maps:            r.regimeMaps(),
		Tables:          r.tables(),
		Figures:         r.figures(),
		Tracks:          r.tracks(),
		TimelineLegend:  timelineLegend(),
		TimelineMissing: r.TimelineMissing,
		Witness:         r.witness(),
	})
}

// subtitle says what was measured where.
func (r *Results) subtitle() string {
	var sizes []int
	for i := range r.Runs {
		if n := r.Runs[i].Workers; !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	return fmt.Sprintf("%s workers, accept_mutex_delay %d ms; %s; %s", quoteInts(sizes), r.DelayMs, r.Machine,
		r.MeasuredAt.Format("2006-01-02 15:04 MST"))
}

// findings says what the runs mean; those of a sweep are too many for words.
func (r *Results) findings() []string {
	if r.Points != nil {
		return nil
	}
	return Findings(r.Runs, r.delay())
}

// quoteInts joins numbers for a sentence; of many, the first and the last.
func quoteInts(list []int) string {
	if n := len(list); n > 6 {
		return fmt.Sprintf("%d to %d", slices.Min(list), slices.Max(list))
	}
	var words []string
	for _, n := range list {
		words = append(words, fmt.Sprint(n))
	}
	return quoteList(words)
}

// tables show the runs, a table a load; of a sweep, the points.
func (r *Results) tables() []titled {
	if r.Points != nil {
		return []titled{{fmt.Sprintf("%d points", len(r.Points)), spotTable(r.allSpots())}}
	}
	var list []titled
	for _, load := range loadsOf(entries("runs", r.Runs)) {
		list = append(list, titled{LoadText(load[0].Run), tableOf(load, fixColumn, wakeupsColumn, modelColumn, returnsColumn,
			eagainColumn, pollingColumn, wakeupsPerSColumn, predictedColumn, jainColumn, p50Column, p99Column, cpuColumn)})
	}
	return list
}

// witness says what the workers' counters were held against.
func (r *Results) witness() string {
	compared, differ := 0, 0
	for i := range r.Runs {
		if r.Runs[i].Witness != "" {
			compared++
		}
		if r.Runs[i].Disagreements != nil {
			differ++
		}
	}
	if compared == 0 {
		return "Only the workers’ own counters speak: there was no second witness."
	}
	return fmt.Sprintf("A second witness, the kernel’s tracepoints or its context switches, was held against %s of the runs; "+
		"in %d it differs by more than 1 %% on some figure, which the run’s row then names.", fmt.Sprint(compared), differ)
}
