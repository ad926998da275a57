package main

import (
	"encoding/json"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// entry is a section as the search finds it.
type entry struct {
	Path  string `json:"p"` // with the anchor, from the top of the site
	Title string `json:"t"` // of the page
	Head  string `json:"h"` // of the section
	Text  string `json:"x"`
}

// searchIndex is a script, not a JSON file: a page that was opened from a disk
// may load the one and not the other.
func (b *book) searchIndex() []byte {
	var all []entry
	for _, p := range b.pages {
		all = append(all, p.entries()...)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings only
	}
	return append(append([]byte("const bookIndex = "), text...), ";\n"...)
}

// entries splits the page at its headings.
func (p *page) entries() (list []entry) {
	current := entry{Path: p.path, Title: p.title, Head: p.title}
	var text []string
	flush := func() {
		current.Text = strings.Join(strings.Fields(strings.Join(text, " ")), " ")
		if current.Text != "" {
			list = append(list, current)
		}
		text = nil
	}
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			flush()
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			current = entry{Path: p.path + "#" + string(anchor), Title: p.title, Head: plainText(h, p.src)}
		}
		text = append(text, p.readable(n))
	}
	flush()
	return list
}

// readable is all that a reader may look for in a block: blocks of code and
// what a directive names too.
func (p *page) readable(n ast.Node) string {
	var parts []string
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *directive:
			parts = append(parts, n.args...)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			parts = append(parts, string(p.blockText(n)))
		case *ast.HTMLBlock:
			if m := summary.FindStringSubmatch(strings.TrimSpace(lastLine(string(p.blockText(n))))); m != nil {
				parts = append(parts, m[1])
			}
		case *ast.Text:
			text := string(n.Segment.Value(p.src))
			if n.SoftLineBreak() {
				text += " "
			}
			parts = append(parts, text)
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock {
			parts = append(parts, " ")
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(parts, "")
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
