package main

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// book is the site while it is built from the tree at root.
type book struct {
	root     string
	c        *cNames
	mirrored *gutter.Code // of nginxref; paths from the top of the tree
	regions  map[string]*region
	packages map[string]*goPackage
	runs     map[string]*run
	text     map[string][]string // lines of files, by path

	toCome   map[string]bool  // paths that the front page says are not there yet
	pages    []*page          // as a reader turns them
	bySource map[string]*page // by path in the tree
	sources  map[string]bool  // Go files that some page shows
	ran      map[string]*run  // runs that some page shows
	problems []problem
}

const (
	chaptersDir = "chapters"
	frontPath   = "chapters/README.md"
	refDir      = "nginxref"
)

// chapterName matches the file of a chapter.
var chapterName = regexp.MustCompile(`^chapters/(\d\d)-[a-z0-9-]+\.md$`)

// build reads the tree and renders every page. The problems are those of the
// whole book; with any, it is not fit to be published.
func build(root string) (*book, error) {
	b := &book{
		root:     root,
		packages: map[string]*goPackage{},
		runs:     map[string]*run{},
		text:     map[string][]string{},
		bySource: map[string]*page{},
		sources:  map[string]bool{},
		ran:      map[string]*run{},
	}
	if _, err := os.Stat(filepath.Join(root, frontPath)); err != nil {
		return nil, fmt.Errorf("%w; run this at the top of the tree, or say where it is with -root", err)
	}
	var found []problem
	b.c, found = loadCNames(root)
	b.problems = append(b.problems, found...)
	b.regions, found = loadRegions(root)
	b.problems = append(b.problems, found...)
	if err := b.loadMirrored(); err != nil {
		return nil, err
	}
	if err := b.loadPages(); err != nil {
		return nil, err
	}
	b.toCome = b.pages[0].listedUnder("To come")
	for _, p := range b.pages {
		p.render(b)
	}
	b.checkWhole()
	b.problems = sortProblems(b.problems)
	return b, nil
}

func (b *book) loadMirrored() error {
	code, err := gutter.Load(filepath.Join(b.root, refDir))
	if err != nil {
		return err
	}
	for _, fn := range code.Funcs {
		rel, err := filepath.Rel(b.root, fn.Path)
		if err != nil {
			return err
		}
		fn.Path = filepath.ToSlash(rel)
	}
	b.mirrored = code
	return nil
}

// loadPages parses the chapters, the labs' handouts and the tools' READMEs.
func (b *book) loadPages() error {
	for _, group := range []struct {
		kind    pageKind
		pattern string
	}{
		{front, frontPath},
		{chapter, "chapters/[0-9][0-9]-*.md"},
		{labPage, "labs/*/README.md"},
		{toolPage, "tools/*/README.md"},
	} {
		names, err := filepath.Glob(filepath.Join(b.root, group.pattern))
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(b.root, name)
			p := newPage(group.kind, filepath.ToSlash(rel), src)
			b.pages = append(b.pages, p)
			b.bySource[p.source] = p
		}
	}
	return nil
}

func (b *book) report(file string, line int, format string, args ...any) {
	b.problems = append(b.problems, problem{file, line, fmt.Sprintf(format, args...)})
}

// exists reports whether the tree has a file or directory at name.
func (b *book) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(name)))
	return err == nil
}

// lines returns the lines first to last of a file.
func (b *book) lines(file string, first, last int) ([]string, error) {
	all, ok := b.text[file]
	if !ok {
		text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		all = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		b.text[file] = all
	}
	if last == 0 {
		last = len(all)
	}
	if first < 1 || last < first || last > len(all) {
		return nil, fmt.Errorf("%s has no lines %d-%d", file, first, last)
	}
	return all[first-1 : last], nil
}

// goPackage returns the declarations in a directory of the tree.
func (b *book) goPackage(dir string) (*goPackage, error) {
	if p, ok := b.packages[dir]; ok {
		return p, nil
	}
	p, err := loadPackage(b.root, dir)
	if err == nil {
		b.packages[dir] = p
	}
	return p, err
}

// goName finds a declaration.
func (b *book) goName(dir, name string) (decl, error) {
	p, err := b.goPackage(path.Clean(dir))
	if err != nil {
		return decl{}, err
	}
	return p.find(dir, name)
}

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

// run returns a recorded run.
func (b *book) run(name string) (*run, error) {
	if r, ok := b.runs[name]; ok {
		return r, nil
	}
	r, err := loadRun(b.root, name)
	if err == nil {
		b.runs[name] = r
	}
	return r, err
}

// runPage publishes r and returns its place in the site.
func (b *book) runPage(r *run) string {
	b.ran[r.name] = r
	return "runs/" + r.name + ".html"
}

// sourcePage publishes a file and returns its place in the site.
func (b *book) sourcePage(file string) string {
	b.sources[file] = true
	return "source/" + file + ".html"
}

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

// summary says in a line what was checked.
func (b *book) summary() string {
	chapters, figures := 0, 0
	for _, p := range b.pages {
		if p.kind == chapter {
			chapters++
		}
		figures += len(p.figures)
	}
	return fmt.Sprintf("%d pages, %d of them chapters; %d figures, %d recorded runs, %d source files: no problem",
		len(b.pages), chapters, figures, len(b.ran), len(b.sources))
}
