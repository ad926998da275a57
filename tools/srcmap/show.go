package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// show prints the functions that c.args name, by their C or Go names.
func (c *command) show() error {
	ref, err := c.load(c.src)
	if err != nil {
		return err
	}
	if len(c.args) == 0 {
		return errors.New("which function? show FUNCTION takes a C name or a Go name")
	}
	for _, name := range c.args {
		found := false
		for _, mi := range ref.mirrors {
			if mi.c == nil || !mi.isNamed(name) {
				continue
			}
			found = true
			sh, err := newSheet(mi, ref.tree)
			if err != nil {
				return err
			}
			sh.print(c)
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

func (sh *sheet) print(c *command) {
	fmt.Fprintf(c.stdout, "     %-*s  %s\n", cWidth, sh.mi.ref, sh.mi.gos[0].Path)
	for _, r := range sh.rows {
		if r.Note != "" {
			fmt.Fprintf(c.stdout, "     %*s  -- %s\n", cWidth, "", r.Note)
		}
		for i := range max(len(r.C), len(r.Go)) {
			left, right := "", ""
			if i < len(r.C) {
				left = fmt.Sprintf("%4d %-*s", r.C[i].Number, cWidth, r.C[i].Text)
			}
			if i < len(r.Go) {
				right = fmt.Sprintf("%4d %s", r.Go[i].Number, r.Go[i].Text)
			}
			fmt.Fprintln(c.stdout, strings.TrimRight(fmt.Sprintf("%-*s  %s", cWidth+5, left, right), " "))
		}
	}
	fmt.Fprintln(c.stdout)
}
