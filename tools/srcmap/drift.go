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
// the same come too.
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
		list = append(list, c)
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
func (c *command) drift() error {
	if c.to == "" {
		return errors.New("drift from -src DIR to which tree? give -to DIR")
	}
	ref, err := c.load(c.src)
	if err != nil {
		return err
	}
	to, err := openTree(c.to)
	if err != nil {
		return err
	}
	sum := tally{}
	drifted := false
	for _, mi := range ref.mirrors {
		fn, err := to.function(mi.ref)
		if err != nil {
			return err
		}
		if mi.c == nil || fn == nil {
			drifted = drifted || mi.c != fn
			c.printAbsent(mi, fn, ref.tree, to)
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
			c.printChanges(mi, list, ref.tree, to)
		}
	}
	fmt.Fprintf(c.stdout, "nginx %s to %s: %s\n", ref.tree.release, to.release, sum)
	if drifted {
		return errFindings
	}
	return nil
}

func (c *command) printAbsent(mi *mirror, fn *csrc.Func, from, to *tree) {
	switch {
	case mi.c != nil:
		fmt.Fprintf(c.stdout, "%s %s\n  not in %s\n\n", mi.ref.File, mi.ref.Func, to.release)
	case fn != nil:
		fmt.Fprintf(c.stdout, "%s %s\n  not in %s, but in %s\n\n", mi.ref.File, mi.ref.Func, from.release, to.release)
	}
}

// printChanges prints the changes of one function, with the text of both
// releases and the Go lines that stand for the older one.
func (c *command) printChanges(mi *mirror, list []change, from, to *tree) {
	fmt.Fprintf(c.stdout, "%s %s\n", mi.ref.File, mi.ref.Func)
	for _, ch := range list {
		switch ch.kind {
		case "same":
			continue
		case "appeared":
			fmt.Fprintf(c.stdout, "  appeared at %d\n", ch.new.Line)
		case "vanished":
			fmt.Fprintf(c.stdout, "  vanished from %d%s\n", ch.old.Line, mi.twins(ch.index))
		case "changed":
			fmt.Fprintf(c.stdout, "  changed from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		case "moved":
			fmt.Fprintf(c.stdout, "  moved from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		case "nested":
			fmt.Fprintf(c.stdout, "  in another body: from %d to %d%s\n", ch.old.Line, ch.new.Line, mi.twins(ch.index))
		}
		if ch.kind == "changed" || ch.kind == "vanished" {
			c.printText("-", from, mi.ref.File, ch.old)
		}
		if ch.new != nil {
			c.printText("+", to, mi.ref.File, ch.new)
		}
	}
	fmt.Fprintln(c.stdout)
}

func (c *command) printText(sign string, t *tree, file string, s *csrc.Stmt) {
	for _, line := range t.lines[file][s.Line-1 : s.End] {
		fmt.Fprintf(c.stdout, "    %s %s\n", sign, strings.TrimRight(line, " \\"))
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

// table prints, in Markdown, what each of the releases in c.args changed in
// the functions that are mirrored.
func (c *command) table() error {
	ref, err := c.load(c.src)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "| nginx | statements as in %s | what differs |\n|---|---|---|\n", ref.tree.release)
	for _, dir := range c.args {
		to, err := openTree(dir)
		if err != nil {
			return err
		}
		sum := tally{}
		var differ []string
		for _, mi := range ref.mirrors {
			fn, err := to.function(mi.ref)
			if err != nil {
				return err
			}
			if fn == nil {
				differ = append(differ, fmt.Sprintf("no `%s`", mi.ref))
				continue
			}
			n := tally{}
			for _, ch := range changes(mi.c, fn) {
				n[ch.kind]++
			}
			for kind, k := range n {
				sum[kind] += k
			}
			if same := n["same"]; same < len(mi.c.Stmts) || len(n) > 1 {
				delete(n, "same")
				differ = append(differ, fmt.Sprintf("`%s`: %s", mi.ref, strings.TrimPrefix(n.String(), "0 the same, ")))
			}
		}
		if differ == nil {
			differ = []string{"nothing"}
		}
		fmt.Fprintf(c.stdout, "| %s | %d of %d | %s |\n", to.release, sum["same"], ref.total(), strings.Join(differ, "<br>"))
	}
	return nil
}
