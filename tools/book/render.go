package main

import (
	"bytes"
	"html"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	goldrenderer "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// renderer renders the nodes of a page that goldmark alone cannot: those that
// refer to the tree.
type renderer struct {
	b *book
	p *page
}

// goldmark returns a renderer of whole pages.
func (r *renderer) goldmark() goldrenderer.Renderer {
	return goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithRendererOptions(goldrenderer.WithNodeRenderers(util.Prioritized(r, 50)))).Renderer()
}

func (r *renderer) RegisterFuncs(reg goldrenderer.NodeRendererFuncRegisterer) {
	reg.Register(kindDirective, r.directive)
	reg.Register(ast.KindLink, r.link)
	reg.Register(ast.KindImage, r.image)
	reg.Register(ast.KindCodeSpan, r.codeSpan)
	reg.Register(ast.KindFencedCodeBlock, r.code)
	reg.Register(ast.KindCodeBlock, r.code)
	reg.Register(ast.KindParagraph, r.paragraph)
	reg.Register(ast.KindHTMLBlock, r.htmlBlock)
	reg.Register(ast.KindRawHTML, r.rawHTML)
	reg.Register(ast.KindHeading, r.heading)
	reg.Register(ast.KindBlockquote, r.blockquote)
	reg.Register(east.KindTable, r.scrollTable)
}

func (r *renderer) report(n ast.Node, format string, args ...any) {
	r.b.report(r.p.source, r.p.line(n), format, args...)
}

func (r *renderer) directive(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		text, err := r.expand(n.(*directive))
		if err != nil {
			r.report(n, "%v", err)
		}
		w.WriteString(text)
	}
	return ast.WalkSkipChildren, nil
}

// tag writes <name attrs> and, on the way out, </name>.
func tag(w util.BufWriter, entering bool, name, attrs string) (ast.WalkStatus, error) {
	if !entering {
		w.WriteString("</" + name + ">")
		return ast.WalkContinue, nil
	}
	if attrs != "" {
		attrs = " " + attrs
	}
	w.WriteString("<" + name + attrs + ">")
	return ast.WalkContinue, nil
}

func (r *renderer) heading(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	name := "h" + string(rune('0'+h.Level))
	if !entering {
		w.WriteString("</" + name + ">\n")
		return ast.WalkContinue, nil
	}
	id, _ := h.AttributeString("id")
	anchor, _ := id.([]byte)
	return tag(w, true, name, `id="`+html.EscapeString(string(anchor))+`"`)
}

// paragraph leaves the tag off around a figure.
func (r *renderer) paragraph(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if n.ChildCount() == 1 && n.FirstChild().Kind() == ast.KindImage {
		return ast.WalkContinue, nil
	}
	if entering && strings.Contains(plainText(n, src), "{{") {
		r.report(n, "a directive {{...}} stands on a line of its own")
	}
	if !entering {
		w.WriteString("</p>\n")
		return ast.WalkContinue, nil
	}
	return tag(w, true, "p", "")
}

// blockquote gives the chapter's question and its claims a style of their own.
func (r *renderer) blockquote(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	class := ""
	switch {
	case r.p.kind == chapter && n == r.p.question():
		class = `class="question"`
	case isClaim(n, src):
		class = `class="claim"`
	}
	return tag(w, entering, "blockquote", class)
}

func (r *renderer) scrollTable(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString("<div class=\"scroll\"><table>\n")
	} else {
		w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

func (r *renderer) image(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	dest := string(n.(*ast.Image).Destination)
	file := path.Join(path.Dir(r.p.source), dest)
	name, isSVG := strings.CutSuffix(path.Base(file), ".svg")
	if path.Dir(file) != figuresDir || !isSVG || n.Parent().ChildCount() != 1 {
		r.report(n, "an image is a figure, figures/NAME.svg, on a line of its own; not %s", dest)
		return ast.WalkSkipChildren, nil
	}
	svg, err := loadFigure(r.b.root, name)
	if err != nil {
		r.report(n, "%v", err)
		return ast.WalkSkipChildren, nil
	}
	r.p.figures[name] = true
	w.WriteString(figureHTML(svg, plainText(n, src), r.inline(n, src)))
	return ast.WalkSkipChildren, nil
}

// inline renders the children of n apart.
func (r *renderer) inline(n ast.Node, src []byte) string {
	var out bytes.Buffer
	md := r.goldmark()
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if err := md.Render(&out, src, c); err != nil {
			r.report(n, "%v", err)
		}
	}
	return out.String()
}

// code renders a block of code that stands in the page itself.
func (r *renderer) code(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	line := r.p.line(n)
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(src))
		line++
	}
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		text := string(s.Value(src))
		if err := r.b.checkCommand(text); err != nil {
			r.b.report(r.p.source, line+i, "%v", err)
		}
		b.WriteString(text)
	}
	if r.p.kind == chapter && (language == "go" || language == "c") {
		r.report(n, "code is not pasted: pull it from the tree by {{twin}}, {{go}} or {{region}}")
	}
	w.WriteString(codeBlock("", highlight(language, b.String(), nil)))
	return ast.WalkSkipChildren, nil
}

var (
	folding = regexp.MustCompile(`^(?:<details>|</details>|<!--.*-->)?$`)
	summary = regexp.MustCompile(`^<summary>(.*)</summary>$`)
)

// htmlBlock lets the tags of folded answers pass, and nothing else.
func (r *renderer) htmlBlock(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		line := strings.TrimSpace(string(s.Value(src)))
		m := summary.FindStringSubmatch(line)
		switch {
		case m != nil:
			w.WriteString("<summary>" + r.fragment(r.p.line(n)+i, m[1]) + "</summary>\n")
		case folding.MatchString(line):
			w.WriteString(line + "\n")
		default:
			r.b.report(r.p.source, r.p.line(n)+i, "of HTML only <details> and <summary>QUESTION</summary>, each on a line of its own, are taken")
		}
	}
	return ast.WalkContinue, nil
}

func (r *renderer) rawHTML(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	s := n.(*ast.RawHTML).Segments.At(0)
	if tag := string(s.Value(src)); tag == "<br>" { // the only way to end a line in a table
		w.WriteString(tag)
	} else {
		r.report(n, "HTML in a sentence is not taken: use Markdown, or put what is no tag between backquotes")
	}
	return ast.WalkSkipChildren, nil
}

// fragment renders Markdown that stands between HTML tags on the given line.
func (r *renderer) fragment(line int, text string) string {
	p := newPage(r.p.kind, r.p.source, []byte(text))
	f := &renderer{b: r.b, p: p}
	before := len(r.b.problems)
	out := ""
	if first := p.doc.FirstChild(); first != nil {
		out = f.inline(first, p.src)
	}
	for i := range r.b.problems[before:] {
		r.b.problems[before+i].Line = line
	}
	for lab := range p.labs {
		r.p.labs[lab] = true
	}
	return out
}
