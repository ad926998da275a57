package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"herd/tools/measure"
)

// Figure prints x with the given decimals, or without when it is large.
func Figure(x float64, decimals int) string {
	if x >= 1000 {
		decimals = 0
	}
	return fmt.Sprintf("%.*f", decimals, x)
}

// RateText names a load in a word.
func RateText(rate float64) string {
	if rate == 0 {
		return "burst"
	}
	return fmt.Sprintf("%g/s", rate)
}

// LoadText says how the connections of a run came.
func LoadText(r *measure.Run) string {
	switch {
	case r.Load == measure.OneByOne:
		return fmt.Sprintf("%d connections, one by one", r.Conns)
	case r.Rate == 0:
		return fmt.Sprintf("burst: %d connections, %d at a time", r.Conns, r.Clients)
	case r.Rate == 1:
		return fmt.Sprintf("1 connection a second, %d of them: nearly idle", r.Conns)
	case r.Rate <= 2:
		return fmt.Sprintf("%g connections a second, %d of them: nearly idle", r.Rate, r.Conns)
	}
	return fmt.Sprintf("%g connections a second, %d of them: paced", r.Rate, r.Conns)
}

// name returns the fix, of nginxref unless it says otherwise.
func name(subject, fix string) string {
	if subject == "nginxref" {
		return fix
	}
	return ShortSubject(subject) + " " + fix
}

// ShortSubject names a subject where there is little room:
// labs/lab03-acceptmutex is labs/lab03.
func ShortSubject(subject string) string {
	short, _, _ := strings.Cut(subject, "-")
	return short
}

// Findings says in words what the runs say about the accept mutex: as much of
// it as was measured.
func Findings(runs []measure.Run, delay float64) []string {
	var list []string
	for _, rate := range ratesOf(runs) {
		none, lock, mutex := find(runs, "none", rate), find(runs, "lock-only", rate), find(runs, "accept-mutex", rate)
		if none == nil || mutex == nil {
			continue
		}
		if lock != nil && rate > 1/delay {
			list = append(list, halves(none, lock, mutex)...)
		}
		list = append(list, trade(none, mutex))
	}
	if list == nil {
		return nil
	}
	return append(list, fmt.Sprintf("Polling is (N-1)/delay a second whether or not anyone connects; "+
		"the herd is N for each connection. They cross at r* = 1/delay = %g connections a second.", 1/delay))
}

// ratesOf returns the rates of the paced runs, highest first.
func ratesOf(runs []measure.Run) []float64 {
	var rates []float64
	for _, r := range runs {
		if r.Rate > 0 && !slices.Contains(rates, r.Rate) {
			rates = append(rates, r.Rate)
		}
	}
	slices.Sort(rates)
	slices.Reverse(rates)
	return rates
}

// find returns nginxref's run of the fix at rate, or nil.
func find(runs []measure.Run, fix string, rate float64) *measure.Run {
	for i := range runs {
		if r := &runs[i]; r.Fix == fix && r.Rate == rate && r.Subject == "nginxref" {
			return r
		}
	}
	return nil
}

// halves tells which half of the mutex did what.
func halves(none, lock, mutex *measure.Run) []string {
	return []string{
		fmt.Sprintf("At %g/s the lock removes the erroneous accepts: %.2f EAGAIN per connection without a fix, "+
			"%.2f with the lock alone. It leaves the wakeups: %.2f per connection, then %.2f; and its losers "+
			"see the event again and again, %s returns per connection.",
			none.Rate, none.EagainPerConn, lock.EagainPerConn,
			none.WakeupsPerConn, lock.WakeupsPerConn, Figure(lock.ReturnsPerConn, 1)),
		fmt.Sprintf("The registration that moves with the lock changes the wakeups: %.2f per connection "+
			"with the whole accept mutex. The others now poll.", mutex.WakeupsPerConn),
	}
}

// trade tells what the mutex saves or costs in wakeups.
func trade(none, mutex *measure.Run) string {
	verb := "fewer"
	if mutex.WakeupsPerS > none.WakeupsPerS {
		verb = "more"
	}
	return fmt.Sprintf("At %g/s the accept mutex wakes %s processes than the herd: %.1f a second, "+
		"%.1f of them by polling, against %.1f.",
		none.Rate, verb, mutex.WakeupsPerS, mutex.PollingWakeupsPerS, none.WakeupsPerS)
}

// model returns how many wakeups per connection a fix is predicted to cost
// with n workers, polling not among them.
func model(fix string, n float64) (float64, bool) {
	f, err := measure.FixByName(fix)
	if err != nil {
		return 0, false
	}
	return f.Wakeups(n, 1, math.Inf(1)), true
}

// Plural counts things.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// quoteList joins words for a sentence: a, b and c.
func quoteList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
