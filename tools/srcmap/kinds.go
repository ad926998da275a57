package main

import (
	"slices"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// kindFits reports whether s, in frames, can by its kind stand for one of the
// C statements.
func (k *checker) kindFits(s *gutter.Stmt, stmts []int, frames []frame) bool {
	return slices.ContainsFunc(stmts, func(i int) bool { return mayBe(k.c.Stmts[i].Kind, s.Kind, frames) })
}

// mayBe reports whether a Go statement of kind g, in frames, can stand for a
// C statement of kind c.
func mayBe(c csrc.StmtKind, g gutter.StmtKind, frames []frame) bool {
	switch c {
	case csrc.Break, csrc.Continue:
		inLoop := slices.ContainsFunc(frames, func(f frame) bool { return f.s.Kind == gutter.For })
		return string(g) == string(c) || g == gutter.Return && !inLoop // of a helper that is the loop's body
	}
	return slices.Contains(twins[c], g)
}

// twins lists the kinds of Go statement that can stand for one of C.
var twins = map[csrc.StmtKind][]gutter.StmtKind{
	csrc.Expr:    {gutter.Simple, gutter.If, gutter.For, gutter.Switch, gutter.Return},
	csrc.Decl:    {gutter.Simple, gutter.If, gutter.For, gutter.Switch, gutter.Return},
	csrc.If:      {gutter.If, gutter.For, gutter.Switch, gutter.Case, gutter.Return},
	csrc.For:     {gutter.For},
	csrc.While:   {gutter.For},
	csrc.Do:      {gutter.For},
	csrc.DoWhile: {gutter.For, gutter.If},
	csrc.Switch:  {gutter.Switch, gutter.If},
	csrc.Case:    {gutter.Case, gutter.If},
	csrc.Return:  {gutter.Return},
	csrc.Goto:    {gutter.Goto, gutter.Continue, gutter.Break, gutter.Return},
}

// mayHelp reports whether a Go statement of kind g can do a part of what a C
// statement of kind c does, beside one that stands for it.
func mayHelp(c csrc.StmtKind, g gutter.StmtKind) bool {
	switch c {
	case csrc.If, csrc.Switch:
		return g == gutter.Simple
	case csrc.For, csrc.While, csrc.DoWhile:
		return g == gutter.Simple || g == gutter.If || g == gutter.Break
	}
	return false
}
