package main

import (
	"fmt"
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
