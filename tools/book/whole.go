package main

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// checkWhole holds what is true of the whole book only.
func (b *book) checkWhole() {
	for _, name := range sortedKeys(b.regions) {
		if r := b.regions[name]; !r.used && r.last > 0 {
			b.report(r.path, r.first-1, "no chapter shows this region: take the marks away, or show it by {{region %s}}", name)
		}
	}
	b.checkFigures()
	for _, p := range b.pages {
		if p.kind == chapter && !b.pages[0].links[p.source] {
			b.report(p.source, 1, "the front page does not lead to this chapter: list it in %s", frontPath)
		}
	}
	for _, p := range b.pages {
		if p.kind == labPage && !b.mentioned(p.lab()) && !b.toCome["labs/"+p.lab()] {
			b.report(p.source, 1, "no chapter mentions %s: do so under its heading \"The lab\"", p.lab())
		}
	}
	b.problems = append(b.problems, b.c.verify()...)
}

func (b *book) mentioned(lab string) bool {
	return slices.ContainsFunc(b.pages, func(p *page) bool { return p.kind == chapter && p.labs[lab] })
}

// checkFigures looks for drawings that no page shows.
func (b *book) checkFigures() {
	dots, _ := filepath.Glob(filepath.Join(b.root, figuresDir, "*.*"))
	for _, name := range dots {
		base := filepath.Base(name)
		figure, ext := strings.TrimSuffix(base, filepath.Ext(base)), filepath.Ext(base)
		file := path.Join(figuresDir, base)
		switch {
		case ext != ".dot" && ext != ".svg":
			b.report(file, 0, "neither a figure's source (.dot) nor its drawing (.svg)")
		case ext == ".svg" && !b.exists(path.Join(figuresDir, figure+".dot")):
			b.report(file, 0, "its source %s.dot is missing: write it, or delete the drawing", figure)
		case ext == ".dot" && !slices.ContainsFunc(b.pages, func(p *page) bool { return p.figures[figure] }):
			b.report(file, 0, "no page shows this figure: do so by ![CAPTION](figures/%s.svg), or delete it", figure)
		}
	}
}
