package main

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// mirror is a Go function that stands for a C function.
type mirror struct {
	name     string // "Type.Method"
	settings string // for the C file's #if lines
	path     string
	lines    gutter.Range
	fn       *gutter.Func // nil: not line by line
	whole    bool         // of the whole C function
}

// mirrors lists the Go functions that stand for the C function or a part of it.
func (b *book) mirrors(c string) (list []mirror) {
	for _, fn := range b.mirrored.Funcs {
		if fn.Func == c {
			list = append(list, mirror{plainName(fn.Name), strings.Join(fn.Settings, " "), fn.Path,
				gutter.Range{First: fn.Line, Last: fn.End}, fn, fn.Claims})
		}
	}
	if len(list) > 0 {
		return list
	}
	part := regexp.MustCompile(`\b` + c + `\b`)
	claim := regexp.MustCompile(`Mirrors\s+` + c + `\b`)
	for _, dir := range b.goDirs(refDir) {
		p, err := b.goPackage(dir)
		if err != nil {
			continue
		}
		for _, name := range sortedKeys(p.decls) {
			d := p.decls[name]
			if _, isFunc := d.node.(*ast.FuncDecl); isFunc && part.MatchString(d.text) {
				list = append(list, mirror{name: name, path: d.path, lines: gutter.Range{First: d.first, Last: d.last},
					whole: claim.MatchString(d.text)})
			}
		}
	}
	return list
}

// goDirs returns the directories at and below dir, but not those of test data.
func (b *book) goDirs(dir string) (dirs []string) {
	filepath.WalkDir(filepath.Join(b.root, dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() {
			rel, _ := filepath.Rel(b.root, name)
			dirs = append(dirs, filepath.ToSlash(rel))
		}
		return nil
	})
	return dirs
}

// mirror returns the Go function that stands for the C function; goName
// chooses where several do.
func (b *book) mirror(c, goName string) (mirror, error) {
	all := b.mirrors(c)
	var fit, whole []mirror
	var names []string
	for _, m := range all {
		names = append(names, m.name)
		if goName == "" || goName == m.name || strings.HasSuffix(m.name, "."+goName) {
			fit = append(fit, m)
			if m.whole {
				whole = append(whole, m)
			}
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(whole) == 1:
		return whole[0], nil
	case len(all) == 0:
		return mirror{}, fmt.Errorf("no Go function mirrors %s; correct the name: go run ./tools/srcmap check lists those that are mirrored", c)
	case len(fit) == 0:
		return mirror{}, fmt.Errorf("%s mirrors no part of %s; there are %s", goName, c, strings.Join(names, ", "))
	}
	return mirror{}, fmt.Errorf("several Go functions mirror %s: write {{twin %s NAME}} with one of %s", c, c, strings.Join(names, ", "))
}

// statements returns the lines of m that stand for the given C lines.
func (b *book) statements(m mirror, c gutter.Range) (gutter.Range, error) {
	fn := m.fn
	if fn == nil {
		return c, fmt.Errorf("%s does not mirror line by line: leave out the lines", m.name)
	}
	p, err := b.goPackage(path.Dir(fn.Path))
	if err != nil {
		return c, err
	}
	d, err := p.find(path.Dir(fn.Path), m.name)
	if err != nil {
		return c, err
	}
	var lines gutter.Range
	for _, s := range fn.Stmts {
		if !slices.ContainsFunc(s.Ranges, func(r gutter.Range) bool { return c.First <= r.Last && r.First <= c.Last }) {
			continue
		}
		if lines.First == 0 {
			lines = gutter.Range{First: s.Line, Last: s.End}
		}
		lines.First = min(lines.First, s.Line)
		lines.Last = max(lines.Last, s.End, p.stmtEnd(d, s.Line))
	}
	if lines.First == 0 {
		return c, fmt.Errorf("no statement of %s stands for the C lines %s", m.name, c)
	}
	return lines, nil
}
