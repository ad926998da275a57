package conf

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{
		"0": 0, "1": 1, "012": 12, "4k": 4096, "4K": 4096, "2m": 2 << 20, "2M": 2 << 20,
		"9007199254740991k":    9007199254740991 << 10,
		"9007199254740992k":    Unset, // 2^63
		"9223372036854775807":  math.MaxInt,
		"9223372036854775808":  Unset,
		"8796093022207m":       8796093022207 << 20,
		"8796093022208m":       Unset,
		"":                     Unset,
		"k":                    Unset,
		"1g":                   Unset,
		"-1":                   Unset,
		"1 k":                  Unset,
		"99999999999999999999": Unset,
	} {
		if got := ParseSize(s); got != want {
			t.Errorf("ParseSize(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for _, test := range []struct {
		s         string
		sec, msec int
	}{
		{"0", 0, 0},
		{"30", 30, 30_000},
		{"30s", 30, 30_000},
		{"1h 30m", 5400, 5_400_000},
		{"1h30m", 5400, 5_400_000},
		{"1d2h3m4s", 93784, 93_784_000},
		{"1m 30", 90, 90_000},
		{"1 ", 1, 1_000},
		{"500ms", Unset, 500},
		{"1s500ms", Unset, 1_500},
		{"1s 500ms", Unset, 1_500},
		{"1y", 31536000, Unset}, // milliseconds go no further than weeks
		{"1M", 2592000, Unset},
		{"2w", 1209600, 1_209_600_000},
		{"1y2M3w4d5h6m7s", 31536000 + 2*2592000 + 3*604800 + 4*86400 + 5*3600 + 6*60 + 7, Unset},
		{"30m1h", Unset, Unset},
		{"1s1s", Unset, Unset},
		{"1s1", 2, 2_000},
		{"1 1s", Unset, Unset}, // the first 1 counts seconds
		{"ms", Unset, Unset},
		{"s", Unset, Unset}, // nothing counted
		{"", Unset, Unset},
		{" ", Unset, Unset},
		{"1x", Unset, Unset},
		{"-1", Unset, Unset},
		{"9223372036854775807", math.MaxInt, Unset},
		{"9223372036854775", 9223372036854775, 9223372036854775000},
		{"9223372036854775808", Unset, Unset},
		{"153722867280912930m", 9223372036854775800, Unset},
		{"153722867280912931m", Unset, Unset},
	} {
		if got := ParseTime(test.s, true); got != test.sec {
			t.Errorf("ParseTime(%q) in seconds = %d, want %d", test.s, got, test.sec)
		}
		if got := ParseTime(test.s, false); got != test.msec {
			t.Errorf("ParseTime(%q) in milliseconds = %d, want %d", test.s, got, test.msec)
		}
	}
}

// FuzzParseTime adds up what is spelled out and compares: a time made of
// parts in order is their sum, and whatever else is accepted is not negative.
func FuzzParseTime(f *testing.F) {
	f.Add("1d2h", uint16(1), uint16(2), uint16(3))
	f.Add("90", uint16(0), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, s string, hours, minutes, seconds uint16) {
		for _, isSec := range []bool{true, false} {
			if got := ParseTime(s, isSec); got < Unset {
				t.Errorf("ParseTime(%q, %t) = %d", s, isSec, got)
			}
		}
		spelled := fmt.Sprintf("%dh%dm%ds", hours, minutes, seconds)
		want := int(hours)*3600 + int(minutes)*60 + int(seconds)
		if got := ParseTime(spelled, true); got != want {
			t.Errorf("ParseTime(%q) = %d, want %d", spelled, got, want)
		}
		if got := ParseTime(strings.ReplaceAll(spelled, "m", "m  "), false); got != want*1000 {
			t.Errorf("ParseTime(%q) in milliseconds = %d, want %d", spelled, got, want*1000)
		}
	})
}
