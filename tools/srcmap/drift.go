package main

import (
	"errors"
	"fmt"
	"strings"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// A change is what became of one C statement between two releases.
type change struct {
	kind     string // same, changed, moved, nested, vanished, appeared
	old, new *csrc.Stmt
	index    int // of old
}

// changes compares a function's statements in two releases. Those that are
// the same come too, but for labels and the breaks of cases.
func changes(old, new *csrc.Func) []change {
	d := align(pinsOf(old), pinsOf(new))
	var list []change
	for i, j := range d.to {
		c := change{kind: "same", old: &old.Stmts[i], index: i}
		switch {
		case j < 0:
			c.kind = "vanished"
		case d.changed[i]:
			c.kind = "changed"
		case d.moved[i]:
			c.kind = "moved"
		case d.nested(old, new, i):
			c.kind = "nested"
		}
		if j >= 0 {
			c.new = &new.Stmts[j]
		}
		if c.kind != "same" || !c.old.Implied {
			list = append(list, c)
		}
	}
	for _, j := range d.appeared {
		list = append(list, change{kind: "appeared", new: &new.Stmts[j]})
	}
	return list
}

// nested reports whether statement i of old is in the body of another
// statement, or in the other branch, in new. A body whose own statement
// vanished or appeared is reported by that.
func (d *drift) nested(old, new *csrc.Func, i int) bool {
	was, is := &old.Stmts[i], &new.Stmts[d.to[i]]
	switch {
	case was.Parent < 0 || is.Parent < 0:
		return was.Parent != is.Parent && !d.isNew(is.Parent) && !(was.Parent >= 0 && d.to[was.Parent] < 0)
	case d.to[was.Parent] == is.Parent:
		return was.Else != is.Else
	}
	return d.to[was.Parent] >= 0 && !d.isNew(is.Parent)
}

func (d *drift) isNew(j int) bool {
	for _, n := range d.appeared {
		if n == j {
			return true
		}
	}
	return false
}

// tally counts changes by kind.
type tally map[string]int

// driftKinds are the kinds of change, in the order of a report.
var driftKinds = []string{"changed", "moved", "nested", "vanished", "appeared"}

func (n tally) String() string {
	parts := []string{fmt.Sprintf("%d the same", n["same"])}
	for _, kind := range driftKinds {
		if n[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[kind], kind))
		}
	}
	return strings.Join(parts, ", ")
}

// drift prints what changed in the mirrored functions between two releases.
func (o *options) drift() error {
	if o.to == "" {
		return errors.New("drift from -src DIR to which tree? give -to DIR")
	}
	c, err := o.load()
	if err != nil {
		return err
	}
	to, err := openTree(o.to)
	if err != nil {
		return err
	}
	sum := tally{}
	drifted := false
	for _, mi := range c.mirrors {
		fn, err := to.function(mi.ref)
		if err != nil {
			return err
		}
		if mi.c == nil || fn == nil {
			drifted = drifted || mi.c != fn
			o.printAbsent(mi, fn, c.tree, to)
			continue
		}
		n := tally{}
		list := changes(mi.c, fn)
		for _, ch := range list {
			n[ch.kind]++
			sum[ch.kind]++
		}
		if n["same"] < len(list) {
			drifted = true
			o.printChanges(mi, list, c.tree, to)
		}
	}
	fmt.Fprintf(o.stdout, "nginx %s to %s: %s\n", c.tree.release, to.release, sum)
	if drifted {
		return errFindings
	}
	return nil
}

func (o *options) printAbsent(mi *mirror, fn *csrc.Func, from, to *tree) {
	switch {
	case mi.c != nil:
		fmt.Fprintf(o.stdout, "%s %s\n  not in %s\n\n", mi.ref.File, mi.ref.Func, to.release)
	case fn != nil:
		fmt.Fprintf(o.stdout, "%s %s\n  not in %s, but in %s\n\n", mi.ref.File, mi.ref.Func, from.release, to.release)
	}
}

// printChanges prints the changes of one function, with the text of both
// releases and the Go lines that stand for the older one.
func (o *options) printChanges(mi *mirror, list []change, from, to *tree) {
	fmt.Fprintf(o.stdout, "%s %s\n", mi.ref.File, mi.ref.Func)
	for _, ch := range list {
		switch ch.kind {
		case "same":
			continue
		case "appeared":
			fmt.Fprintf(o.stdout, "  appeared at %d\n", ch.new.Line)
		case "vanished":
			fmt.Fprintf(o.stdout, "  vanished from %d%s\n", ch.old.Line, mi.twins(ch.index))
		case "changed":
			fmt.Fprintf(o.stdout, "  changed from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		case "moved":
			fmt.Fprintf(o.stdout, "  moved from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		case "nested":
			fmt.Fprintf(o.stdout, "  in another body: from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		}
		if ch.kind == "changed" || ch.kind == "vanished" {
			o.printText("-", from, mi.ref.File, ch.old)
		}
		if ch.new != nil {
			o.printText("+", to, mi.ref.File, ch.new)
		}
	}
	fmt.Fprintln(o.stdout)
}

func (o *options) printText(sign string, t *tree, file string, s *csrc.Stmt) {
	for _, line := range t.lines[file][s.Line-1 : s.End] {
		fmt.Fprintf(o.stdout, "    %s %s\n", sign, strings.TrimRight(line, " \\"))
	}
}

// twins names the Go statements that stand for C statement i.
func (mi *mirror) twins(i int) string {
	if o, ok := mi.omitted[i]; ok {
		return fmt.Sprintf(" (omitted: %s)", o.Reason)
	}
	var places []string
	for _, fn := range mi.gos {
		for j := range fn.Stmts {
			if s := &fn.Stmts[j]; mi.standsFor(s, i) {
				places = append(places, fmt.Sprintf("%s:%d", fn.Path, s.Line))
			}
		}
	}
	if places == nil {
		return ""
	}
	return " (" + strings.Join(places, ", ") + ")"
}

func (mi *mirror) standsFor(s *gutter.Stmt, i int) bool {
	for _, link := range mi.links[s] {
		if link == i {
			return true
		}
	}
	return false
}

// table prints, in Markdown, what each of the releases in o.args changed in
// the functions that are mirrored.
func (o *options) table() error {
	c, err := o.load()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.stdout, "| nginx | statements as in %s | what differs |\n|---|---|---|\n", c.tree.release)
	last, lastRelease := "", ""
	for _, dir := range o.args {
		to, err := openTree(dir)
		if err != nil {
			return err
		}
		sum := tally{}
		var differ []string
		for _, mi := range c.mirrors {
			fn, err := to.function(mi.ref)
			if err != nil {
				return err
			}
			if fn == nil {
				differ = append(differ, fmt.Sprintf("no `%s`", mi.name()))
				continue
			}
			n := tally{}
			for _, ch := range changes(mi.c, fn) {
				n[ch.kind]++
			}
			for kind, k := range n {
				sum[kind] += k
			}
			if delete(n, "same"); len(n) > 0 {
				differ = append(differ, fmt.Sprintf("`%s`: %s", mi.name(), strings.TrimPrefix(n.String(), "0 the same, ")))
			}
		}
		what := strings.Join(differ, "<br>")
		switch what {
		case "":
			what = "nothing"
		case last:
			what = "as in " + lastRelease
		default:
			last, lastRelease = what, to.release
		}
		fmt.Fprintf(o.stdout, "| %s | %d of %d | %s |\n", to.release, sum["same"], c.total(), what)
	}
	return nil
}
