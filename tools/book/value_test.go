package main

import (
	"encoding/json"
	"testing"
)

// What a sentence says of a number, and whether the number bears it out.
func TestNumberAgreesToThePrecisionItIsWrittenWith(t *testing.T) {
	for _, c := range []struct {
		text, value, path string
		want              bool
	}{
		{"8", "8", "x", true}, {"8", "8.4", "x", true}, {"8", "8.5", "x", false}, {"9", "8.5", "x", true},
		{"8.0", "8.04", "x", true}, {"8.00", "8.004", "x", true}, {"8.00", "8.005", "x", false},
		{"0.58", "0.575", "x", true}, // not a matter of how a machine rounds
		{"0.00", "0", "x", true}, {"0", "0.4", "x", true}, {"-3", "-3", "x", true},
		{"1,200", "1200", "x", true}, {"1200", "1200.2", "x", true},
		{"29 %", "0.29", "x", true}, {"29%", "0.294", "x", true}, {"29 %", "29", "x", false},
		{"0.7 ms", "712", "latency_us/p50", true}, {"712 µs", "712", "latency_us/p50", true},
		{"0.7 ms", "0.7", "latency/p50", true},
		{"eight", "8", "x", false}, {"", "8", "x", false}, {"8 or 9", "8", "x", false},
	} {
		if says, got := agrees(c.text, json.Number(c.value), c.path); got != c.want {
			t.Errorf("%q of %s: %v, it says %s", c.text, c.value, got, says)
		}
	}
	if _, ok := agrees("paced", "paced", "load"); !ok {
		t.Error("a word is not the same word")
	}
	if says, ok := agrees("burst", "paced", "load"); ok {
		t.Errorf("burst is %s", says)
	}
}

func TestLookupFindsWhatIsMeantOrSaysWhatThereIs(t *testing.T) {
	r := &run{name: "x.json"}
	err := r.parseJSON([]byte(`{"command": "x", "output": {"at": {"x": 3}, "list": [4, 5.5], "runs": [
		{"fix": "none", "rate": 20, "workers": 8, "n": 1},
		{"fix": "none", "rate": 20, "workers": 16, "n": 2},
		{"fix": "none", "rate": 0, "load": "burst", "workers": 8, "n": 3}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"at/x", "3"}, {"list/1", "5.5"}, {"list/sum", "9.5"}, {"list/max", "5.5"}, {"list/min", "4"}, {"list/len", "2"},
		{"none@20,workers=16/n", "2"}, {"none@burst/n", "3"}, {"runs/none@burst/n", "3"}, {"runs/2/n", "3"},
		{"fix=none,rate=20,workers=8/n", "1"},
		{"none@20/n", `none@20/n: 2 runs are "none@20": add what tells them apart, such as ,workers=8 or ,subject=nginx`},
		{"et@20/n", `et@20/n: no run is "et@20"`},
		{"at/y", `at/y: no "y"; there are x`},
		{"list/7", "list/7: no element 7 of 2"},
		{"list/mean", `list/mean: "mean" is no index, no condition, and none of max, min, sum, len`},
		{"at/x/z", `at/x/z: "z" is beyond a value that has no parts`},
		{"runs/none@20,8/n", `runs/none@20,8/n: "8" is no condition: write FIX@RATE or FIELD=VALUE`},
		{"runs/max", `runs/max: "max" of a list that is not of numbers`},
	} {
		got := ""
		if v, err := lookup(r.value, c.path); err != nil {
			got = err.Error()
		} else {
			got = string(v.(json.Number))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.path, got, c.want)
		}
	}
}

func TestWordOfATextIsAWholeWord(t *testing.T) {
	for _, c := range []struct {
		line, word string
		want       bool
	}{
		{"shares 17 6 1 1", "17", true}, {"shares 17 6 1 1", "7", false}, {"shares 17 6 1 1", "1", true},
		{"none 8.00 0.67", "8.00", true}, {"none 8.00", "8", false}, {"none 8.00", "00", false},
		{"ends with 8.", "8", true}, {"epoll timer: -1", "-1", true}, {"fd:3 op:1", "3", true},
		{"two words here", "two words", true}, {"", "1", false}, {"x", "", false},
	} {
		if got := containsWord(c.line, c.word); got != c.want {
			t.Errorf("%q in %q: %v", c.word, c.line, got)
		}
	}
}

func TestTableTellsWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"none@20", []string{"none, 20/s"}},
		{"none@20,et@20", []string{"none", "et"}},
		{"none@20,workers=1,none@20,workers=2", []string{"1\u00a0worker", "2\u00a0workers"}},
		{"none@1,none@burst", []string{"1/s", "burst"}},
	} {
		got := rowTitles(splitSelectors(c.list))
		if len(got) != len(c.want) {
			t.Fatalf("%s: %q, want %q", c.list, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.list, got, c.want)
			}
		}
	}
	column := []any{json.Number("1"), json.Number("1.025"), json.Number("12.5"), nil}
	want := []string{"1.00", "1.03", "12.50", "–"}
	for i, got := range tellAll(column) {
		if got != want[i] {
			t.Errorf("row %d is %s, want %s", i, got, want[i])
		}
	}
}
