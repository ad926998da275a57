package main

import (
	"fmt"
	"go/format"
	"os"
	"slices"

	"herd/tools/srcmap/gutter"
)

// edit replaces the list of C lines at a place in a Go file.
type edit struct {
	lines gutter.Lines
	text  string
}

// repin rewrites the numbers in the gutters, and the map, for the release in
// o.src. Where the C code is not what it was, it says what a person has to
// look at.
func (o *options) repin() error {
	c, err := o.load()
	if err != nil {
		return err
	}
	findings := c.code.Findings
	edits := map[string][]edit{}
	for _, mi := range c.mirrors {
		if mi.c == nil {
			return fmt.Errorf("nginx %s has no %s in %s: take its directive off %s:%d first",
				c.tree.release, mi.ref.Func, mi.ref.File, mi.gos[0].Path, mi.gos[0].Line)
		}
		findings = append(findings, mi.bad...)
		findings = append(findings, mi.review(c.pins.release, c.tree.release)...)
		for _, fn := range mi.gos {
			edits[fn.Path] = append(edits[fn.Path], mi.renumber(fn)...)
		}
	}
	files := map[string][]byte{}
	for path, list := range edits {
		if files[path], err = rewrite(path, list); err != nil {
			return err
		}
	}
	if err := c.writeMap(o.mapFile); err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	for _, f := range findings {
		fmt.Fprintln(o.stderr, f)
	}
	fmt.Fprintf(o.stdout, "the numbers are now those of nginx %s\n", c.tree.release)
	if len(findings) > 0 {
		return errFindings
	}
	return nil
}

// review lists the statements that are not in the new release as they were.
func (mi *mirror) review(from, to string) []gutter.Finding {
	var list []gutter.Finding
	for _, fn := range mi.gos {
		for i := range fn.Stmts {
			s := &fn.Stmts[i]
			for _, pin := range mi.pinned[s] {
				if text := mi.stale(pin, from, to); text != "" {
					list = append(list, gutter.Finding{Path: fn.Path, Line: s.End, Text: text})
				}
			}
		}
	}
	first := mi.gos[0]
	for _, r := range mi.ranges(mi.drift.appeared) {
		list = append(list, gutter.Finding{Path: first.Path, Line: first.Line,
			Text: fmt.Sprintf("C %s of nginx %s: new in %s", inLines(r), to, mi.ref.Func)})
	}
	return list
}

// renumber returns the edits that give fn the lines of the tree at hand.
// Lines that are gone are kept as words, so that check asks about them.
func (mi *mirror) renumber(fn *gutter.Func) []edit {
	var list []edit
	add := func(lines gutter.Lines, stmts []int) {
		if lines.Ranges == nil {
			return
		}
		text := gutter.Format(mi.ranges(stmts))
		if text == "" {
			text = "was " + gutter.Format(lines.Ranges)
		}
		list = append(list, edit{lines, text})
	}
	for i := range fn.Stmts {
		add(fn.Stmts[i].Lines, mi.links[&fn.Stmts[i]])
	}
	for i := range fn.Omits {
		o := &fn.Omits[i]
		add(o.Lines, mi.follow(mi.pinsIn(fn.Path, o.Line, o.Ranges, false)))
	}
	return list
}

// rewrite returns a Go file with edits applied to it, formatted.
func rewrite(path string, edits []edit) ([]byte, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.lines.Pos - b.lines.Pos })
	edits = slices.CompactFunc(edits, func(a, b edit) bool { return a.lines.Pos == b.lines.Pos })
	var out []byte
	end := 0
	for _, e := range edits {
		out = append(out, src[end:e.lines.Pos]...)
		out = append(out, e.text...)
		end = e.lines.Pos + e.lines.Len
	}
	out, err = format.Source(append(out, src[end:]...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// writeMap writes the map for the tree at hand.
func (c *course) writeMap(path string) error {
	m := &pinMap{release: c.tree.release, funcs: map[string][]pin{}}
	var order []string
	for _, mi := range c.mirrors {
		order = append(order, mi.ref.String())
		m.funcs[mi.ref.String()] = mi.repinned()
	}
	slices.Sort(order)
	return m.write(path, order)
}

// repinned returns the pins of the tree at hand.
func (mi *mirror) repinned() []pin {
	pins := pinsOf(mi.c)
	for _, links := range mi.links {
		for _, i := range links {
			pins[i].parts++
		}
	}
	return pins
}
