package report

import (
	"fmt"

	"herd/tools/measure"
)

// table stands behind a plot, for those who do not see it or want the
// numbers.
type table struct {
	Head []string
	Rows []row
}

// row is one row of the data.
type row struct {
	Path  string // where in the data, such as runs[3]
	Cells []cell
}

// cell is one figure: Text is what the field of the row says, times Scale.
type cell struct {
	Text  string
	Field string // empty: a label
	Scale float64
}

// column says how a field of a run is shown.
type column struct {
	head  string
	field string
	scale float64
	text  func(r *measure.Run) string
}

func labels(head string, text func(r *measure.Run) string) column {
	return column{head: head, text: text}
}

func figures(head, field string, decimals int, value func(r *measure.Run) float64) column {
	return column{head, field, 1, func(r *measure.Run) string { return fmt.Sprintf("%.*f", decimals, value(r)) }}
}

// optional is for a field that may be null.
func optional(head, field string, decimals int, value func(r *measure.Run) *float64) column {
	return column{head, field, 1, func(r *measure.Run) string {
		if v := value(r); v != nil {
			return fmt.Sprintf("%.*f", decimals, *v)
		}
		return "–"
	}}
}

// millis is for latencies, which the data has in microseconds.
func millis(head, field string, value func(r *measure.Run) int64) column {
	return column{head, field, 1e-3, func(r *measure.Run) string { return fmt.Sprintf("%.2f", float64(value(r))/1e3) }}
}

// The columns of the tables.
var (
	fixColumn     = labels("fix", func(r *measure.Run) string { return name(r.Subject, r.Fix) })
	loadColumn    = labels("load", func(r *measure.Run) string { return loadWord(r) })
	workersColumn = figures("workers", "workers", 0, func(r *measure.Run) float64 { return float64(r.Workers) })

	wakeupsColumn     = figures("wakeups", "wakeups_per_conn", 2, func(r *measure.Run) float64 { return r.WakeupsPerConn })
	modelColumn       = optional("model", "predicted_wakeups_per_conn", 2, func(r *measure.Run) *float64 { return r.PredictedWakeupsPerConn })
	returnsColumn     = figures("returns", "returns_per_conn", 2, func(r *measure.Run) float64 { return r.ReturnsPerConn })
	eagainColumn      = figures("EAGAIN", "eagain_per_conn", 2, func(r *measure.Run) float64 { return r.EagainPerConn })
	pollingColumn     = figures("polling/s", "polling_wakeups_per_s", 1, func(r *measure.Run) float64 { return r.PollingWakeupsPerS })
	wakeupsPerSColumn = figures("wakeups/s", "wakeups_per_s", 1, func(r *measure.Run) float64 { return r.WakeupsPerS })
	predictedColumn   = optional("model/s", "predicted_wakeups_per_s", 1, func(r *measure.Run) *float64 { return r.PredictedWakeupsPerS })
	jainColumn        = figures("Jain", "jain", 2, func(r *measure.Run) float64 { return r.Jain })
	p50Column         = millis("p50 ms", "latency_us.p50", func(r *measure.Run) int64 { return r.LatencyUs.P50 })
	p99Column         = millis("p99 ms", "latency_us.p99", func(r *measure.Run) int64 { return r.LatencyUs.P99 })
	maxColumn         = millis("max ms", "latency_us.max", func(r *measure.Run) int64 { return r.LatencyUs.Max })
	cpuColumn         = figures("CPU us", "cpu_us_per_conn", 1, func(r *measure.Run) float64 { return r.CPUUsPerConn })
)

func loadWord(r *measure.Run) string {
	if r.Load == measure.OneByOne {
		return r.Load
	}
	return RateText(r.Rate)
}

// entry is a run and where in the data it stands.
type entry struct {
	path string
	*measure.Run
}

// entries numbers the runs of a list.
func entries(list string, runs []measure.Run) []entry {
	all := make([]entry, len(runs))
	for i := range runs {
		all[i] = entry{fmt.Sprintf("%s[%d]", list, i), &runs[i]}
	}
	return all
}

// tableOf shows the entries by the given columns.
func tableOf(entries []entry, columns ...column) table {
	var t table
	for _, c := range columns {
		t.Head = append(t.Head, c.head)
	}
	for _, e := range entries {
		r := row{Path: e.path}
		for _, c := range columns {
			r.Cells = append(r.Cells, cell{c.text(e.Run), c.field, c.scale})
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
