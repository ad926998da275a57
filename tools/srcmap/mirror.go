package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// mirror is a C function and the Go functions that stand for it.
type mirror struct {
	ref     gutter.Ref
	c       *csrc.Func     // in the tree at hand; nil if that release has none
	gos     []*gutter.Func // by place
	pins    []pin
	isNew   bool                   // not in the map yet: pins are those of c
	drift   drift                  // of the pins against c
	pinned  map[*gutter.Stmt][]int // the pins that a Go statement names
	links   map[*gutter.Stmt][]int // the C statements that it stands for, ascending
	omitted map[int]omission       // by C statement
	bad     []gutter.Finding       // numbers that name no statement
}

// omission is the directive that declares a statement omitted.
type omission struct {
	path string
	*gutter.Omit
}

// mirrors pairs the Go functions with the C functions of t, in the order of
// the Go files.
func mirrors(funcs []*gutter.Func, m *pinMap, t *tree) ([]*mirror, error) {
	var list []*mirror
	byRef := map[string]*mirror{}
	for _, fn := range funcs {
		key := fn.Ref.String()
		mi := byRef[key]
		if mi == nil {
			mi = &mirror{ref: fn.Ref, pins: m.funcs[key]}
			byRef[key] = mi
			list = append(list, mi)
		}
		mi.gos = append(mi.gos, fn)
	}
	for _, mi := range list {
		if err := mi.resolve(t); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// name returns the C function's name, with the settings that set it apart.
func (mi *mirror) name() string {
	return strings.Join(append([]string{mi.ref.Func}, mi.ref.Settings...), " ")
}

// resolve reads the C function and follows the gutters' numbers to its
// statements: the number is looked up in the map, which has the hash of the
// statement that stands there in the pinned release, and the hash in the tree.
func (mi *mirror) resolve(t *tree) error {
	c, err := t.function(mi.ref)
	if err != nil {
		return err
	}
	mi.c = c
	mi.pinned = map[*gutter.Stmt][]int{}
	mi.links = map[*gutter.Stmt][]int{}
	mi.omitted = map[int]omission{}
	if c == nil {
		return nil
	}
	if mi.pins == nil {
		mi.pins, mi.isNew = pinsOf(c), true
	}
	mi.drift = align(mi.pins, pinsOf(c))
	for _, fn := range mi.gos {
		for i := range fn.Stmts {
			s := &fn.Stmts[i]
			mi.pinned[s] = mi.pinsIn(fn.Path, s.End, s.Ranges, true)
			mi.links[s] = mi.follow(mi.pinned[s])
		}
		for i := range fn.Omits {
			o := &fn.Omits[i]
			for _, c := range mi.follow(mi.pinsIn(fn.Path, o.Line, o.Ranges, false)) {
				mi.omitted[c] = omission{fn.Path, o}
			}
		}
	}
	return nil
}

// follow returns the C statements of the tree that the pins are.
func (mi *mirror) follow(pins []int) []int {
	var stmts []int
	for _, i := range pins {
		if to := mi.drift.to[i]; to >= 0 {
			stmts = append(stmts, to)
		}
	}
	slices.Sort(stmts)
	return stmts
}

// pinsIn returns the pins that ranges, written at path:line, name. With exact
// set, a range must begin where a statement does.
func (mi *mirror) pinsIn(path string, line int, ranges []gutter.Range, exact bool) []int {
	var pins []int
	for _, r := range ranges {
		found := false
		for i, p := range mi.pins {
			if !r.Contains(p.lines.First) || mi.isImplied(mi.drift.to[i]) {
				continue
			}
			if !found && exact && p.lines.First != r.First {
				break
			}
			found = true
			pins = append(pins, i)
		}
		if !found {
			mi.bad = append(mi.bad, gutter.Finding{Path: path, Line: line, Text: mi.misses(r)})
		}
	}
	slices.Sort(pins)
	return slices.Compact(pins)
}

// misses says why no statement begins at the first line of r.
func (mi *mirror) misses(r gutter.Range) string {
	var before, after int // the lines of the statements around it
	for i, p := range mi.pins {
		switch {
		case mi.isImplied(mi.drift.to[i]):
		case p.lines.Contains(r.First):
			return fmt.Sprintf("C line %d is inside of the statement of line %d: write %d",
				r.First, p.lines.First, p.lines.First)
		case p.lines.First < r.First:
			before = p.lines.First
		case after == 0:
			after = p.lines.First
		}
	}
	return fmt.Sprintf("no statement of %s begins at C line %d: the one before begins at %d, the one after at %d (0: none)",
		mi.ref.Func, r.First, before, after)
}

// helpers returns the functions other than fn that stand for the same C
// function and that s calls: C has their statements in this place.
func (mi *mirror) helpers(fn *gutter.Func, s *gutter.Stmt) []*gutter.Func {
	var list []*gutter.Func
	for _, other := range mi.gos {
		if other != fn && filepath.Dir(other.Path) == filepath.Dir(fn.Path) &&
			slices.Contains(s.Calls, other.Bare()) {
			list = append(list, other)
		}
	}
	return list
}

// callersFirst returns the Go functions, those that no other one calls before
// the rest.
func (mi *mirror) callersFirst() []*gutter.Func {
	called := map[*gutter.Func]bool{}
	for _, fn := range mi.gos {
		for i := range fn.Stmts {
			for _, h := range mi.helpers(fn, &fn.Stmts[i]) {
				called[h] = true
			}
		}
	}
	first := slices.DeleteFunc(slices.Clone(mi.gos), func(fn *gutter.Func) bool { return called[fn] })
	rest := slices.DeleteFunc(slices.Clone(mi.gos), func(fn *gutter.Func) bool { return !called[fn] })
	return append(first, rest...)
}

// isImplied reports whether C statement i needs nothing to stand for it.
func (mi *mirror) isImplied(i int) bool {
	return 0 <= i && i < len(mi.c.Stmts) && mi.c.Stmts[i].Implied
}

// inLines writes a range for a message.
func inLines(r gutter.Range) string {
	if r.First == r.Last {
		return "line " + r.String()
	}
	return "lines " + r.String()
}

// stale says how a pin of one release is not as it was in the tree at hand,
// which is another, or "".
func (mi *mirror) stale(pin int, from, to string) string {
	was := mi.pins[pin].lines.First
	switch i := mi.drift.to[pin]; {
	case i < 0:
		return fmt.Sprintf("C line %d of nginx %s is not in %s", was, from, to)
	case mi.drift.changed[pin]:
		return fmt.Sprintf("C line %d of nginx %s reads differently in %s, line %d", was, from, to, mi.c.Stmts[i].Line)
	}
	return ""
}

// ranges returns the lines of C statements, those in a row as one range.
func (mi *mirror) ranges(stmts []int) []gutter.Range {
	var list []gutter.Range
	next := -1
	for _, i := range stmts {
		s := &mi.c.Stmts[i]
		if i == next {
			list[len(list)-1].Last = s.End
		} else {
			list = append(list, gutter.Range{First: s.Line, Last: s.Line})
		}
		for next = i + 1; mi.isImplied(next); next++ {
		}
	}
	return list
}
