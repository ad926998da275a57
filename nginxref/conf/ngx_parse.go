package conf

import (
	"math"
	"strings"
)

// Atoi returns the number that s, digits only, spells; Unset if it does not
// or is too large. Mirrors ngx_atoi.
func Atoi(s string) int {
	if len(s) == 0 {
		return Unset
	}

	const cutoff, cutlim = math.MaxInt / 10, math.MaxInt % 10
	value := 0

	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return Unset
		}

		digit := int(c - '0')
		if value >= cutoff && (value > cutoff || digit > cutlim) {
			return Unset
		}

		value = value*10 + digit
	}

	return value
}

// ParseSize returns a size in bytes, such as 512, 8k or 1m; Unset if s is
// none. Mirrors ngx_parse_size.
func ParseSize(s string) int {
	if len(s) == 0 {
		return Unset
	}

	unit := s[len(s)-1]
	scale := 1

	switch unit {
	case 'K', 'k':
		s = s[:len(s)-1]
		scale = 1024

	case 'M', 'm':
		s = s[:len(s)-1]
		scale = 1024 * 1024
	}

	size := Atoi(s)
	if size == Unset || size > math.MaxInt/scale {
		return Unset
	}

	return size * scale
}

// timeUnits are the letters of ParseTime, longest unit first: an order that
// no time may break.
var timeUnits = [...]struct {
	letter  byte
	seconds int
}{
	{'y', 60 * 60 * 24 * 365},
	{'M', 60 * 60 * 24 * 30},
	{'w', 60 * 60 * 24 * 7},
	{'d', 60 * 60 * 24},
	{'h', 60 * 60},
	{'m', 60},
	{'s', 1},
}

// Places in the order of units. A space in a time stands for seconds and may
// only be followed by more spaces.
const (
	stepYear  = 1
	stepMonth = 2
	stepSec   = 7
	stepMsec  = 8
	stepLast  = 9
)

// ParseTime returns a time such as 90, 1h30m or, unless isSec is set, 500ms,
// in seconds if isSec is set and milliseconds otherwise; Unset if s is none.
// A number without a unit counts seconds. Mirrors ngx_parse_time.
func ParseTime(s string, isSec bool) int {
	valid := false
	value, total := 0, 0
	const cutoff, cutlim = math.MaxInt / 10, math.MaxInt % 10
	step := stepMonth
	if isSec {
		step = 0
	}

	for p := 0; p < len(s); {

		if s[p] >= '0' && s[p] <= '9' {
			digit := int(s[p] - '0')
			if value >= cutoff && (value > cutoff || digit > cutlim) {
				return Unset
			}

			value = value*10 + digit
			p++
			valid = true
			continue
		}

		next, scale, width := timeUnit(s[p:], step, isSec)
		if next == Unset {
			return Unset
		}
		step = next
		p += width

		if value > math.MaxInt/scale {
			return Unset
		}

		value *= scale

		if total > math.MaxInt-value {
			return Unset
		}

		total += value

		value = 0

		p = len(s) - len(strings.TrimLeft(s[p:], " "))
	}

	if !valid {
		return Unset
	}

	if !isSec {
		if value > math.MaxInt/1000 {
			return Unset
		}

		value *= 1000
	}

	if total > math.MaxInt-value {
		return Unset
	}

	return total + value
}

// timeUnit reads the unit that s begins with: its place in the order, Unset
// if it may not follow step, what it is worth in ParseTime's unit, and its
// width in bytes.
//
// DIVERGES: its own function; in nginx it is the switch of ngx_parse_time.
func timeUnit(s string, step int, isSec bool) (next, scale, width int) {
	scale = 1000
	if isSec {
		scale = 1
	}

	if s[0] == ' ' {
		if step >= stepSec {
			return Unset, 0, 0
		}
		return stepLast, scale, 1
	}

	if strings.HasPrefix(s, "ms") {
		if isSec || step >= stepMsec {
			return Unset, 0, 0
		}
		return stepMsec, 1, 2
	}

	for i, unit := range timeUnits {
		if s[0] != unit.letter {
			continue
		}

		next = stepYear + i
		if step >= next {
			return Unset, 0, 0
		}
		return next, unit.seconds * scale, 1
	}

	return Unset, 0, 0
}
