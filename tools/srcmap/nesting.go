package main

import (
	"fmt"
	"slices"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// nesting checks that s is in the same bodies as the C statements that it
// stands for.
func (k *checker) nesting(fn *gutter.Func, s *gutter.Stmt, frames []frame) {
	for _, i := range k.links[s] {
		if text := k.misplaced(s, i, frames); text != "" {
			k.report(fn, s.Line, "C line %d %s", k.line(i), text)
			return
		}
	}
}

// misplaced says how the bodies that C statement i is in differ from those
// that s is in, or "".
func (k *checker) misplaced(s *gutter.Stmt, i int, frames []frame) string {
	inside := map[int]bool{} // of C statement, in the else branch
	for at := i; k.c.Stmts[at].Parent >= 0; at = k.c.Stmts[at].Parent {
		inside[k.c.Stmts[at].Parent] = k.c.Stmts[at].Else
	}
	around := map[int]bool{}
	for _, f := range frames {
		if text := k.outside(inside, k.links[s], f); text != "" {
			return text
		}
		for _, p := range k.links[f.s] {
			around[p] = true
		}
	}
	for p, els := range inside {
		if around[p] || slices.Contains(k.links[s], p) {
			continue
		}
		if twin := k.bodyOf(p); twin != nil && !(els && (twin.Jumps || twin.Kind == gutter.Case)) {
			return fmt.Sprintf("is in the body of line %d, but here it is not in that of line %d",
				k.line(p), twin.Line)
		}
	}
	return ""
}

// outside says that a C statement, in the bodies inside, cannot be in that of
// f, or "". One of the statements that f stands for must hold it.
func (k *checker) outside(inside map[int]bool, own []int, f frame) string {
	text := ""
	for _, p := range k.links[f.s] {
		els, ok := inside[p]
		switch {
		case ok && els == f.els:
			return ""
		case f.s.Diverges != "" || slices.Contains(own, p) || !hasBody(k.c, p):
		case ok:
			text = fmt.Sprintf("is in the other branch of line %d", k.line(p))
		default:
			text = fmt.Sprintf("is not in the body of line %d, as it is here", k.line(p))
		}
	}
	return text
}

// hasBody reports whether C statement p has statements in its body.
func hasBody(c *csrc.Func, p int) bool {
	return p+1 < len(c.Stmts) && c.Stmts[p+1].Parent == p
}

// bodyOf returns the Go statement with a body that stands for C statement p,
// or nil.
func (k *checker) bodyOf(p int) *gutter.Stmt {
	for _, fn := range k.gos {
		for i := range fn.Stmts {
			s := &fn.Stmts[i]
			if slices.Contains(k.links[s], p) && s.Diverges == "" && fn.HasBody(s) {
				return s
			}
		}
	}
	return nil
}
