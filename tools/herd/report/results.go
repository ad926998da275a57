// Package report writes what was measured as one page: a table and plots that
// need no network and no script to be read, and beneath them the figures
// themselves as JSON, which everything on the page points into.
package report

import (
	"time"

	"herd/tools/measure"
)

// Results are everything that was measured: the object that -json prints and
// the report carries.
type Results struct {
	Runs     []measure.Run      `json:"runs"`               // every fix under every load
	Scaling  []measure.Run      `json:"scaling,omitempty"`  // one by one, over the number of workers
	Rates    []measure.Run      `json:"rates,omitempty"`    // paced, over the rate
	Points   []Point            `json:"points,omitempty"`   // of a sweep: what the repeats in Runs say
	Regimes  []Regime           `json:"regimes,omitempty"`  // of a sweep: the best fix for each point
	Timeline []measure.Timeline `json:"timeline,omitempty"` // what each worker did when

	// TimelineMissing says why there is none, where one was asked for.
	TimelineMissing string `json:"timeline_missing,omitempty"`

	DelayMs    int64           `json:"accept_mutex_delay_ms"`
	MeasuredAt time.Time       `json:"measured_at"`
	Machine    measure.Machine `json:"machine"`
}

// delay returns accept_mutex_delay in seconds.
func (r *Results) delay() float64 { return float64(r.DelayMs) / 1e3 }
