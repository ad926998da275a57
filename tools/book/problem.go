package main

import (
	"cmp"
	"fmt"
	"slices"
)

// problem is something wrong in the book, where, and what to do about it.
type problem struct {
	Path string // from the top of the tree
	Line int    // 0: the whole file
	Text string
}

func (p problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Path, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// sortProblems orders them as a reader meets them, each once.
func sortProblems(list []problem) []problem {
	slices.SortStableFunc(list, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(list)
}
