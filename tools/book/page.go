package main

import (
	"bytes"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

type pageKind int

const (
	front pageKind = iota
	chapter
	labPage
	toolPage
)

// page is a Markdown file and what becomes of it.
type page struct {
	kind   pageKind
	source string // path in the tree
	path   string // in the site
	title  string
	src    []byte
	doc    ast.Node
	body   string
	ids    map[string]bool // anchors

	figures map[string]bool // that it shows, by name
	labs    map[string]bool // that it mentions
	links   map[string]bool // pages that it leads to, by source
	has     struct{ twin, run int }
}

// markdown parses all pages.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(
		parser.WithAutoHeadingID(),
		parser.WithBlockParsers(util.Prioritized(directiveParser{}, 50)),
	),
)

func newPage(kind pageKind, source string, src []byte) *page {
	p := &page{kind: kind, source: source, path: sitePath(kind, source), src: src,
		ids: map[string]bool{}, figures: map[string]bool{}, labs: map[string]bool{}, links: map[string]bool{}}
	p.doc = markdown.Parser().Parse(text.NewReader(src))
	ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			if id, ok := h.AttributeString("id"); ok {
				p.ids[string(id.([]byte))] = true
			}
			if h.Level == 1 && p.title == "" {
				p.title = plainText(h, src)
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// sitePath returns where a page is in the site.
func sitePath(kind pageKind, source string) string {
	dir := path.Base(path.Dir(source))
	switch kind {
	case front:
		return "index.html"
	case labPage:
		return "labs/" + dir + ".html"
	case toolPage:
		return "tools/" + dir + ".html"
	}
	return strings.TrimSuffix(path.Base(source), ".md") + ".html"
}

// lab returns the name of the lab that p is the handout of.
func (p *page) lab() string { return path.Base(path.Dir(p.source)) }

// href returns the way from p to a place in the site.
func (p *page) href(to string) string {
	return strings.Repeat("../", strings.Count(p.path, "/")) + to
}

// line returns the line of the source that n begins on.
func (p *page) line(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if at := n.Pos(); at >= 0 && at <= len(p.src) {
			return bytes.Count(p.src[:at], []byte("\n")) + 1
		}
	}
	return 0
}

// render makes the page's HTML and notes what is wrong with it.
func (p *page) render(b *book) {
	r := &renderer{b: b, p: p}
	var out bytes.Buffer
	if err := r.goldmark().Render(&out, p.src, p.doc); err != nil {
		b.report(p.source, 0, "%v", err)
	}
	p.body = out.String()
	if p.title == "" {
		b.report(p.source, 1, "a page begins with its title: # TITLE")
	}
	if p.kind == chapter {
		p.checkParts(b)
	}
}

// plainText returns what a reader reads of n.
func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
