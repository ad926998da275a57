package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"herd/tools/measure"
)

// parseWorkers reads a list of numbers of workers: single ones, ranges such as
// 1..8, and ranges that multiply, such as 1..64x2 for 1, 2, 4 and so on. They
// come back in order, each once.
func parseWorkers(list string) ([]int, error) {
	var numbers []int
	for _, item := range strings.Split(list, ",") {
		from, to, factor, err := parseRange(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		for n := from; n <= to; {
			numbers = append(numbers, n)
			if factor > 1 {
				n *= factor
			} else {
				n++
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// parseRange reads N, N..M or N..MxF.
func parseRange(item string) (from, to, factor int, err error) {
	first, last, isRange := strings.Cut(item, "..")
	last, by, multiplies := strings.Cut(last, "x")
	if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	var err3 error
	if multiplies {
		factor, err3 = strconv.Atoi(by)
	}
	if err1 != nil || err2 != nil || err3 != nil || multiplies && factor < 2 {
		return 0, 0, 0, fmt.Errorf("-workers %q: give numbers such as 1,2,4, a range such as 1..8, or one that multiplies such as 1..64x2", item)
	}
	if from < 1 || to < from || to > measure.MaxWorkers {
		return 0, 0, 0, fmt.Errorf("-workers %q: give 1 to %d", item, measure.MaxWorkers)
	}
	return from, to, factor, nil
}

// parseRates reads a list of connections per second; burst is 0. They come
// back in order, a burst last.
func parseRates(list string) ([]float64, error) {
	var rates []float64
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		if item == "burst" {
			item = "0"
		}
		rate, err := strconv.ParseFloat(item, 64)
		if err != nil || !validRate(rate) {
			return nil, fmt.Errorf("-rates %q: give connections per second, up to %d, or burst", item, maxRate)
		}
		rates = append(rates, rate)
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	if rates[0] == 0 {
		rates = append(rates[1:], 0)
	}
	return rates, nil
}
