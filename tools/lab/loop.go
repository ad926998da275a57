package lab

import "fmt"

// How many steps a round of an endless loop may have, and how many rounds are
// taken for one.
const (
	maxPeriod = 60
	manyTimes = 20
)

// firstRound looks for rounds of the same steps, of n, that go on to the end.
// It returns how many steps there are up to the end of the first round, and
// what that is: "last step", "last 3 steps"; or "" if there are none.
func firstRound(n int, same func(i, j int) bool) (end int, what string) {
	for period := 1; period <= maxPeriod && period*manyTimes <= n; period++ {
		first := n - period
		for first > 0 && same(first-1, first-1+period) {
			first--
		}
		switch {
		case n-first < manyTimes*period:
		case period == 1:
			return first + 1, "last step"
		default:
			return first + period, fmt.Sprintf("last %d steps", period)
		}
	}
	return 0, ""
}
