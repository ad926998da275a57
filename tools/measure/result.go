package measure

import (
	"math"
	"time"
)

// Run is what one fix did under one load. The JSON names are the tool's
// output format.
type Run struct {
	Subject  string  `json:"subject"`         // nginxref, nginx, or a lab's directory
	Build    string  `json:"build,omitempty"` // of a lab: differs if its code does
	Fix      string  `json:"fix"`
	Workers  int     `json:"workers"`
	Load     string  `json:"load"`              // paced, burst or one by one
	Rate     float64 `json:"rate"`              // connections a second if paced, else 0
	Clients  int     `json:"clients,omitempty"` // connections in flight in a burst
	Conns    int     `json:"conns"`
	Accepted int     `json:"accepted"`
	Refused  int     `json:"refused,omitempty"` // with Load.Hold: got no reply

	WakeupsPerConn float64 `json:"wakeups_per_conn"` // polling not among them
	ReturnsPerConn float64 `json:"returns_per_conn"`
	EagainPerConn  float64 `json:"eagain_per_conn"`

	PollingWakeupsPerS   float64  `json:"polling_wakeups_per_s"`
	WakeupsPerS          float64  `json:"wakeups_per_s"`
	PredictedWakeupsPerS *float64 `json:"predicted_wakeups_per_s"` // null: no model

	PredictedWakeupsPerConn *float64 `json:"predicted_wakeups_per_conn"` // null: no model

	Shares []int   `json:"shares"` // connections of each worker
	Jain   float64 `json:"jain"`

	LatencyUs    Percentiles `json:"latency_us"`
	LatencyCDF   []Quantile  `json:"latency_cdf"` // coarser below, finer above
	Slow         int         `json:"-"`           // replies that took longer than SlowReply
	CPUUsPerConn float64     `json:"cpu_us_per_conn"`

	// ReadyMsec is how long the processes took until all workers were ready.
	ReadyMsec float64 `json:"-"`

	Lab [4]uint64 `json:"-"` // what a lab's code has counted (stat.Worker.Lab)

	// Witness names the second account that the counts were held against,
	// and Disagreements says where the two differ by more than 1 %.
	Witness       string   `json:"witness,omitempty"`
	Disagreements []string `json:"disagreements,omitempty"`
}

// SlowReply is longer than any worker takes that is not kept from its loop.
const SlowReply = 50 * time.Millisecond

// Percentiles are latencies in microseconds.
type Percentiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Quantile says that so many percent of the connections took no longer than
// so many microseconds.
type Quantile struct {
	Percent float64 `json:"percent"`
	Us      int64   `json:"us"`
}

// MaxShare returns the largest worker's part of all connections, 0 to 1.
func (r *Run) MaxShare() float64 {
	sum, most := 0, 0
	for _, n := range r.Shares {
		sum += n
		most = max(most, n)
	}
	return ratio(float64(most), float64(sum))
}

// Jain returns Jain's fairness index of shares: 1 when all are equal, 1/n
// when one has everything. (R. Jain, DEC-TR-301, 1984.)
func Jain(shares []int) float64 {
	var sum, squares float64
	for _, n := range shares {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return ratio(sum*sum, float64(len(shares))*squares)
}

// ratio returns a/b, or 0 if there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// predict fills in what the fix's model says. There is none for a burst, in
// which the workers have no time to fall asleep.
func (r *Run) predict(fix *Fix, load Load, delay float64) {
	if load.Clients > 0 {
		return
	}
	perConn := fix.Wakeups(float64(r.Workers), 1, math.Inf(1))
	r.PredictedWakeupsPerConn = &perConn
	if load.Rate > 0 {
		perS := fix.Wakeups(float64(r.Workers), load.Rate, delay)
		r.PredictedWakeupsPerS = &perS
	}
}

// fill computes the run's figures from the workers' samples before and after
// a window of the given length in seconds.
func (r *Run) fill(before, after []Sample, seconds float64, lat *Latencies) {
	r.Shares = make([]int, r.Workers)
	for i := range r.Shares {
		r.Shares[i] = int(after[i].Accepted - before[i].Accepted)
	}
	d := sum(before, after)
	conns := float64(d.Accepted)
	r.Accepted = int(d.Accepted)
	r.WakeupsPerConn = ratio(float64(d.Wakeups-d.WakeupsTimeout), conns)
	r.ReturnsPerConn = ratio(float64(d.ReturnsEvents), conns)
	r.EagainPerConn = ratio(float64(d.Again), conns)
	r.PollingWakeupsPerS = ratio(float64(d.WakeupsTimeout), seconds)
	r.WakeupsPerS = ratio(float64(d.Wakeups), seconds)
	r.Lab = d.Lab
	r.Jain = Jain(r.Shares)
	r.CPUUsPerConn = ratio(float64(d.CPUNsec)/1e3, conns)
	r.LatencyUs = Percentiles{
		P50: lat.ValueAtQuantile(50),
		P99: lat.ValueAtQuantile(99),
		Max: lat.Max(),
	}
	r.LatencyCDF = lat.cdf()
	r.Slow = lat.over(SlowReply)
}
