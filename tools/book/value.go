package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// lookup finds the value at path in a JSON value: names and indexes between
// slashes. In a list of objects an element may be picked by what its fields
// say, "fix=none,rate=100", of which "none@100" is short; in an object with a
// list "points" or "runs" that list need not be named. "max", "min", "sum" and "len" of a
// list are computed.
func lookup(v any, path string) (any, error) {
	for _, step := range strings.Split(path, "/") {
		next, err := descend(v, step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		v = next
	}
	return v, nil
}

func descend(v any, step string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if next, ok := v[step]; ok {
			return next, nil
		}
		for _, list := range []string{"points", "runs"} { // of a sweep, of a measurement
			if runs, ok := v[list]; ok && strings.ContainsAny(step, "@=") {
				return descend(runs, step)
			}
		}
		return nil, fmt.Errorf("no %q; there are %s", step, strings.Join(sortedKeys(v), ", "))
	case []any:
		return descendList(v, step)
	}
	return nil, fmt.Errorf("%q is beyond a value that has no parts", step)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func descendList(list []any, step string) (any, error) {
	if i, err := strconv.Atoi(step); err == nil {
		if i < 0 || i >= len(list) {
			return nil, fmt.Errorf("no element %d of %d", i, len(list))
		}
		return list[i], nil
	}
	if strings.ContainsAny(step, "@=") {
		return pick(list, step)
	}
	return aggregate(list, step)
}

// pick returns the one object of list that the conditions in step select.
func pick(list []any, step string) (any, error) {
	conds, err := conditions(step)
	if err != nil {
		return nil, err
	}
	var hit []any
	for _, v := range list {
		if o, ok := v.(map[string]any); ok && satisfies(o, conds) {
			hit = append(hit, v)
		}
	}
	switch len(hit) {
	case 1:
		return hit[0], nil
	case 0:
		return nil, fmt.Errorf("no run is %q", step)
	}
	return nil, fmt.Errorf("%d runs are %q: add what tells them apart, such as ,workers=8 or ,subject=nginx", len(hit), step)
}

// conditions splits "none@100,workers=8" into fields and what they must be.
func conditions(step string) ([][2]string, error) {
	var conds [][2]string
	for _, cond := range strings.Split(step, ",") {
		if fix, load, ok := strings.Cut(cond, "@"); ok {
			conds = append(conds, [2]string{"fix", fix})
			if _, err := strconv.ParseFloat(load, 64); err == nil {
				conds = append(conds, [2]string{"rate", load})
			} else {
				conds = append(conds, [2]string{"load", load})
			}
			continue
		}
		field, value, ok := strings.Cut(cond, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no condition: write FIX@RATE or FIELD=VALUE", cond)
		}
		conds = append(conds, [2]string{field, value})
	}
	return conds, nil
}

func satisfies(o map[string]any, conds [][2]string) bool {
	for _, c := range conds {
		if v, ok := o[c[0]]; !ok || fmt.Sprint(v) != c[1] {
			return false
		}
	}
	return true
}

func aggregate(list []any, name string) (any, error) {
	if name == "len" {
		return json.Number(strconv.Itoa(len(list))), nil
	}
	var nums []float64
	sum := 0.0
	for _, v := range list {
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%q of a list that is not of numbers", name)
		}
		f, _ := n.Float64()
		nums, sum = append(nums, f), sum+f
	}
	if len(nums) == 0 {
		return nil, errors.New("an empty list")
	}
	switch name {
	case "max":
		return number(slices.Max(nums)), nil
	case "min":
		return number(slices.Min(nums)), nil
	case "sum":
		return number(sum), nil
	}
	return nil, fmt.Errorf("%q is no index, no condition, and none of max, min, sum, len", name)
}

func number(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'f', -1, 64)) }

// written matches a number as it stands in a sentence.
var written = regexp.MustCompile(`^(-?[0-9][0-9,]*(?:\.[0-9]+)?)(?:[ \x{a0}]?(%|ms|µs|us|s))?$`)

// agrees reports whether text, with the precision it has, is the value v at
// path, and how v would be written so.
func agrees(text string, v any, path string) (says string, ok bool) {
	n, isNumber := v.(json.Number)
	if !isNumber {
		says = fmt.Sprint(v)
		return strconv.Quote(says), says == text
	}
	m := written.FindStringSubmatch(text)
	f, isFinite := new(big.Rat).SetString(n.String())
	if m == nil || !isFinite {
		return n.String(), false
	}
	digits := strings.ReplaceAll(m[1], ",", "")
	_, decimals, _ := strings.Cut(digits, ".")
	says = f.Mul(f, scale(m[2], path)).FloatString(len(decimals))
	return strings.TrimSpace(says + " " + m[2]), says == digits
}

// scale is what a value of the field at path is multiplied by to be written
// in unit.
func scale(unit, path string) *big.Rat {
	us := strings.Contains(path, "_us")
	switch {
	case unit == "%":
		return big.NewRat(100, 1)
	case unit == "ms" && us:
		return big.NewRat(1, 1000)
	case unit == "s" && us:
		return big.NewRat(1, 1_000_000)
	}
	return big.NewRat(1, 1)
}

// tellAll writes the values of a table's column: numbers with as many decimals
// as the one that needs most for three digits.
func tellAll(column []any) []string {
	decimals := 0
	for _, v := range column {
		decimals = max(decimals, decimalsOf(v))
	}
	out := make([]string, len(column))
	for i, v := range column {
		out[i] = tell(v, decimals)
	}
	return out
}

func decimalsOf(v any) int {
	n, ok := v.(json.Number)
	if !ok || !strings.ContainsAny(n.String(), ".eE") {
		return 0
	}
	f, _ := n.Float64()
	switch {
	case f >= 100:
		return 0
	case f >= 10:
		return 1
	}
	return 2
}

func tell(v any, decimals int) string {
	switch v := v.(type) {
	case json.Number:
		if f, ok := new(big.Rat).SetString(v.String()); ok {
			return f.FloatString(decimals)
		}
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = tell(v[i], decimalsOf(v[i]))
		}
		return strings.Join(parts, " ")
	case nil:
		return "–"
	}
	return fmt.Sprint(v)
}
