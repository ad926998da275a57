package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"herd/tools/measure"
)

const tableHead = `
%s
                    per connection            wakeups per second      share of          latency ms  server CPU
%-18s  wakeups returns EAGAIN    polling    all predicted  busiest  Jain      p50    p99  us/conn
`

// writeTable writes a block of rows for each rate.
func writeTable(w io.Writer, runs []measure.Run) {
	for i := range runs {
		r := &runs[i]
		if i == 0 || r.Rate != runs[i-1].Rate {
			fmt.Fprintf(w, tableHead, regimeText(r), "fix")
		}
		fmt.Fprintf(w, "%-18s %8.2f %7s %6.2f   %8.1f %6s %9s  %6.0f %%  %4.2f  %7.2f %6.1f %8.1f\n",
			label(r), r.WakeupsPerConn, figure(r.ReturnsPerConn, 2), r.EagainPerConn,
			r.PollingWakeupsPerS, figure(r.WakeupsPerS, 1), predicted(r),
			100*r.MaxShare(), r.Jain,
			float64(r.LatencyUs.P50)/1e3, float64(r.LatencyUs.P99)/1e3, r.CPUUsPerConn)
	}
}

// label names a row: the fix, of nginxref unless it says otherwise.
func label(r *measure.Run) string {
	if r.Subject == "nginxref" {
		return r.Fix
	}
	return "  " + r.Subject
}

func regimeText(r *measure.Run) string {
	switch {
	case r.Rate == 0:
		return fmt.Sprintf("burst: %d connections, %d at a time", r.Conns, burstClients)
	case r.Rate <= 2:
		return fmt.Sprintf("%g connections a second, %d of them: nearly idle", r.Rate, r.Conns)
	}
	return fmt.Sprintf("%g connections a second, %d of them: paced", r.Rate, r.Conns)
}

// figure prints x with the given decimals, or without when it is large.
func figure(x float64, decimals int) string {
	if x >= 1000 {
		decimals = 0
	}
	return fmt.Sprintf("%.*f", decimals, x)
}

func predicted(r *measure.Run) string {
	if r.PredictedWakeupsPerS == nil {
		return "-"
	}
	return figure(*r.PredictedWakeupsPerS, 1)
}

// findings are the rows that the text below the table compares.
type findings struct {
	rate                  float64
	none, lockOnly, mutex *measure.Run
}

// find returns the rows of the three fixes at rate; missing ones are nil.
func find(runs []measure.Run, rate float64) findings {
	f := findings{rate: rate}
	for i := range runs {
		if runs[i].Rate != rate {
			continue
		}
		switch runs[i].Fix {
		case "none":
			f.none = &runs[i]
		case "lock-only":
			f.lockOnly = &runs[i]
		case "accept-mutex":
			f.mutex = &runs[i]
		}
	}
	return f
}

// writeFindings says in words what the numbers say about the accept mutex: as
// much of it as was measured.
func writeFindings(w io.Writer, runs []measure.Run, delay time.Duration) {
	compared := false
	for _, rate := range ratesOf(runs) {
		f := find(runs, rate)
		if rate == 0 || f.none == nil || f.mutex == nil {
			continue
		}
		if !compared {
			fmt.Fprintln(w)
		}
		compared = true
		if f.lockOnly != nil && rate > 1/delay.Seconds() {
			writeHalves(w, f)
		}
		writeTrade(w, f)
	}
	if compared {
		writeCrossover(w, delay)
	}
}

// ratesOf returns the rates of runs, highest first, each once.
func ratesOf(runs []measure.Run) []float64 {
	var rates []float64
	for i := len(runs) - 1; i >= 0; i-- {
		if n := len(rates); n == 0 || rates[n-1] != runs[i].Rate {
			rates = append(rates, runs[i].Rate)
		}
	}
	return rates
}

// writeHalves tells which half of the mutex did what.
func writeHalves(w io.Writer, f findings) {
	fmt.Fprintf(w, `At %g connections a second:
- The lock removes the erroneous accepts: %.2f EAGAIN per connection without a
  fix, %.2f with the lock alone. It leaves the wakeups: %.2f per connection, then
  %.2f; and its losers see the event again and again, %s returns per connection.
- The registration that moves with the lock changes the wakeups: %.2f per
  connection with the whole accept mutex. The others now poll.
`, f.rate, f.none.EagainPerConn, f.lockOnly.EagainPerConn,
		f.none.WakeupsPerConn, f.lockOnly.WakeupsPerConn, figure(f.lockOnly.ReturnsPerConn, 1),
		f.mutex.WakeupsPerConn)
}

// writeTrade tells what the mutex saves or costs in wakeups at this rate.
func writeTrade(w io.Writer, f findings) {
	verb := "fewer"
	if f.mutex.WakeupsPerS > f.none.WakeupsPerS {
		verb = "more"
	}
	fmt.Fprintf(w, `- At %g/s the accept mutex wakes %s processes than the herd: %.1f a second, %.1f of
  them by polling, against %.1f.
`, f.rate, verb, f.mutex.WakeupsPerS, f.mutex.PollingWakeupsPerS, f.none.WakeupsPerS)
}

// writeCrossover tells where the two are equal.
func writeCrossover(w io.Writer, delay time.Duration) {
	fmt.Fprintf(w, `- Polling is (N-1)/delay a second whether or not anyone connects; the herd is N
  for each connection. They cross at r* = 1/delay = %g connections a second.
`, 1/delay.Seconds())
}

// writeRatios compares each run of nginxref with the run of nginx that
// follows it.
func writeRatios(w io.Writer, runs []measure.Run) {
	head := `
nginxref divided by nginx
                      wakeups  returns   EAGAIN    polling      all      p50      p99      CPU
`
	for i := 1; i < len(runs); i++ {
		ours, nginx := &runs[i-1], &runs[i]
		if ours.Subject == nginx.Subject || ours.Fix != nginx.Fix || ours.Rate != nginx.Rate {
			continue
		}
		fmt.Fprint(w, head)
		head = ""
		fmt.Fprintf(w, "%-14s %-6s %8s %8s %8s   %8s %8s %8s %8s %8s\n", shortFix(ours.Fix), rateText(ours.Rate),
			quotient(ours.WakeupsPerConn, nginx.WakeupsPerConn),
			quotient(ours.ReturnsPerConn, nginx.ReturnsPerConn),
			quotient(ours.EagainPerConn, nginx.EagainPerConn),
			quotient(ours.PollingWakeupsPerS, nginx.PollingWakeupsPerS),
			quotient(ours.WakeupsPerS, nginx.WakeupsPerS),
			quotient(float64(ours.LatencyUs.P50), float64(nginx.LatencyUs.P50)),
			quotient(float64(ours.LatencyUs.P99), float64(nginx.LatencyUs.P99)),
			quotient(ours.CPUUsPerConn, nginx.CPUUsPerConn))
	}
}

// shortFix fits the longest name into the table of ratios.
func shortFix(fix string) string { return strings.Replace(fix, "exclusive-reorder", "excl-reorder", 1) }

// quotient prints a/b; two zeros are equal, and nothing can be divided by one.
func quotient(a, b float64) string {
	switch {
	case a == b:
		return "1.00"
	case b == 0:
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// writeWitness says whether the two accounts of the paced runs agree.
func writeWitness(w io.Writer, runs []measure.Run) {
	fmt.Fprintln(w)
	compared, differ := map[string]int{}, 0
	for i := range runs {
		r := &runs[i]
		if r.Witness != "" {
			compared[r.Witness]++
		}
		for _, d := range r.Disagreements {
			differ++
			fmt.Fprintf(w, "The witnesses disagree: %s %s, %s: %s\n", r.Subject, r.Fix, rateText(r.Rate), d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(compared)) {
		fmt.Fprintf(w, "Held against %s in %d runs; they differ on %d figures by more than 1 %%.\n", name, compared[name], differ)
	}
	if err := measure.WitnessMissing(); err != nil {
		fmt.Fprintf(w, "Only the workers' own counters speak: %v.\n", err)
	}
}
