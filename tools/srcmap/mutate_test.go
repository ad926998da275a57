package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"herd/tools/srcmap/gutter"
)

// nginxTree opens the source tree in NGINX_SRC, or skips the test.
func nginxTree(t *testing.T) *tree {
	t.Helper()
	dir := os.Getenv("NGINX_SRC")
	if dir == "" {
		t.Skip("NGINX_SRC names no nginx source tree: the proof on real code is not made")
	}
	tr, err := openTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// mutation is a way to break a mirrored function.
type mutation struct {
	name string
	// apply returns the file with the statements at i and j, neighbours in a
	// block, spoiled, or nil if it cannot be done to them.
	apply func(src []byte, fn *gutter.Func, i, j int) []byte
}

func lineRange(src []byte, first, last int) (from, to int) {
	lines := bytes.SplitAfter(src, []byte("\n"))
	for n, l := range lines {
		if n+1 < first {
			from += len(l)
		}
		if n+1 <= last {
			to += len(l)
		}
	}
	return from, to
}

func plain(s *gutter.Stmt) bool {
	return s.Kind == gutter.Simple && s.Ranges != nil && s.Diverges == ""
}

var mutations = []mutation{
	{"delete", func(src []byte, fn *gutter.Func, i, _ int) []byte {
		s := &fn.Stmts[i]
		if s.Kind != gutter.Simple && s.Kind != gutter.Return || s.Ranges == nil {
			return nil
		}
		from, to := lineRange(src, s.Line, s.End)
		return slices.Concat(src[:from], src[to:])
	}},
	{"swap", func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || !plain(&fn.Stmts[i]) || !plain(&fn.Stmts[j]) || fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		a, b := lineRange(src, fn.Stmts[i].Line, fn.Stmts[i].End)
		c, d := lineRange(src, fn.Stmts[j].Line, fn.Stmts[j].End)
		return slices.Concat(src[:a], src[c:d], src[b:c], src[a:b], src[d:])
	}},
	{"swap text", func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || !plain(&fn.Stmts[i]) || !plain(&fn.Stmts[j]) || fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		s, u := &fn.Stmts[i], &fn.Stmts[j]
		a, b := lineRange(src, s.Line, s.End)
		c, d := lineRange(src, u.Line, u.End)
		one := strings.Replace(string(src[a:b]), s.Text, u.Text, 1)
		two := strings.Replace(string(src[c:d]), u.Text, s.Text, 1)
		return slices.Concat(src[:a], []byte(one), src[b:c], []byte(two), src[d:])
	}},
	{"next number", func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || fn.Stmts[i].Ranges == nil || fn.Stmts[j].Ranges == nil ||
			fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		s, u := &fn.Stmts[i], &fn.Stmts[j]
		return slices.Concat(src[:s.Pos], src[u.Pos:u.Pos+u.Len], src[s.Pos+s.Len:])
	}},
}

func TestMutationsOfTheReference(t *testing.T) {
	tr := nginxTree(t)
	pins, err := readPins("map.txt")
	if err != nil {
		t.Fatal(err)
	}
	code, err := gutter.Load("../../nginxref")
	if err != nil {
		t.Fatal(err)
	}
	tried, missed := map[string]int{}, map[string]int{}
	for _, fn := range code.Funcs {
		src, err := os.ReadFile(fn.Path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fn.Stmts {
			j := -1
			for k := i + 1; k < len(fn.Stmts); k++ {
				if fn.Stmts[k].Parent == fn.Stmts[i].Parent && fn.Stmts[k].Else == fn.Stmts[i].Else {
					j = k
					break
				}
			}
			for _, m := range mutations {
				bad := m.apply(src, fn, i, j)
				if bad == nil {
					continue
				}
				tried[m.name]++
				if !spoiled(t, tr, pins, code, fn, bad) {
					missed[m.name]++
					fmt.Printf("%s: %s:%d\n", m.name, filepath.Base(fn.Path), fn.Stmts[i].Line)
				}
			}
		}
	}
	t.Log(tried, missed)
}

// spoiled reports whether check finds fault with fn's C function once fn's
// file reads src.
func spoiled(t *testing.T, tr *tree, pins *pinMap, code *gutter.Code, fn *gutter.Func, src []byte) bool {
	t.Helper()
	changed := &gutter.Code{Unnumbered: map[string]int{}}
	if err := changed.Parse(fn.Path, src); err != nil {
		return true // the compiler sees to it
	}
	var funcs []*gutter.Func
	for _, f := range slices.Concat(changed.Funcs, code.Funcs) {
		if f.Ref.String() == fn.Ref.String() && (f.Path != fn.Path || slices.Contains(changed.Funcs, f)) {
			funcs = append(funcs, f)
		}
	}
	list, err := mirrors(funcs, pins, tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return true // the map still has the function
	}
	_, findings := check(list[0], pins.release, tr.release)
	return len(changed.Findings)+len(findings) > 0
}
