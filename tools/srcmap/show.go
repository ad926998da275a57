package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// show prints the functions that o.args name, by their C or Go names.
func (o *options) show() error {
	c, err := o.load()
	if err != nil {
		return err
	}
	if len(o.args) == 0 {
		return errors.New("which function? show FUNCTION takes a C name or a Go name")
	}
	for _, name := range o.args {
		found := false
		for _, mi := range c.mirrors {
			if mi.c == nil || !mi.isNamed(name) {
				continue
			}
			found = true
			sh, err := newSheet(mi, c.tree)
			if err != nil {
				return err
			}
			sh.print(o)
		}
		if !found {
			return fmt.Errorf("no mirrored function is called %s; check lists them", name)
		}
	}
	return nil
}

func (mi *mirror) isNamed(name string) bool {
	return mi.ref.Func == name || slices.ContainsFunc(mi.gos, func(fn *gutter.Func) bool {
		return fn.Name == name || fn.Bare() == name
	})
}

// cWidth is how many columns show gives to C: nginx's lines end at 80.
const cWidth = 80

func (sh *sheet) print(o *options) {
	fmt.Fprintf(o.stdout, "     %-*s  %s\n", cWidth, sh.mi.ref, sh.mi.gos[0].Path)
	for _, r := range sh.rows {
		if r.Note != "" {
			fmt.Fprintf(o.stdout, "     %*s  -- %s\n", cWidth, "", r.Note)
		}
		for i := range max(len(r.C), len(r.Go)) {
			left, right := "", ""
			if i < len(r.C) {
				left = fmt.Sprintf("%4d %-*s", r.C[i].Number, cWidth, r.C[i].Text)
			}
			if i < len(r.Go) {
				right = fmt.Sprintf("%4d %s", r.Go[i].Number, r.Go[i].Text)
			}
			fmt.Fprintln(o.stdout, strings.TrimRight(fmt.Sprintf("%-*s  %s", cWidth+5, left, right), " "))
		}
	}
	fmt.Fprintln(o.stdout)
}
