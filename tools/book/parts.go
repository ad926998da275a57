package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// The headings that every chapter ends with, in this order.
const (
	surprises = "What surprises people"
	yourself  = "Check yourself"
	theLab    = "The lab"
)

// minAnswers is how many folded answers a chapter has at least.
const minAnswers = 3

// question returns the block quote right behind the title, or nil.
func (p *page) question() ast.Node {
	first := p.doc.FirstChild()
	if first == nil || first.Kind() != ast.KindHeading {
		return nil
	}
	if next := first.NextSibling(); next != nil && next.Kind() == ast.KindBlockquote {
		return next
	}
	return nil
}

// sections returns the blocks under each heading of the second level, and the
// headings in order.
func (p *page) sections() (order []string, blocks map[string][]ast.Node) {
	blocks = map[string][]ast.Node{}
	title := ""
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level <= 2 {
			title = plainText(h, p.src)
			order = append(order, title)
			continue
		}
		blocks[title] = append(blocks[title], n)
	}
	return order, blocks
}

// listedUnder returns what stands between backquotes under a heading.
func (p *page) listedUnder(heading string) map[string]bool {
	names := map[string]bool{}
	_, blocks := p.sections()
	for _, block := range blocks[heading] {
		ast.Walk(block, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && n.Kind() == ast.KindCodeSpan {
				names[plainText(n, p.src)] = true
			}
			return ast.WalkContinue, nil
		})
	}
	return names
}

// checkParts reports the parts of a chapter that are missing.
func (p *page) checkParts(b *book) {
	missing := func(format string, args ...any) {
		b.report(p.source, 1, "the chapter has no %s", fmt.Sprintf(format, args...))
	}
	if !chapterName.MatchString(p.source) {
		b.report(p.source, 1, "a chapter's file is called NN-name.md, in small letters")
	}
	if q := p.question(); q == nil || !strings.HasSuffix(strings.TrimSpace(plainText(q, p.src)), "?") {
		missing("question: right behind the title write > QUESTION?")
	}
	if len(p.figures) == 0 {
		missing("figure: ![CAPTION](figures/NAME.svg)")
	}
	if p.has.twin == 0 {
		missing("C function with its Go twin: {{twin C_NAME}}")
	}
	if p.has.run == 0 {
		missing("recorded run: {{output NAME.txt}} or {{table NAME.json ...}}")
	}
	order, blocks := p.sections()
	p.checkEnd(b, order)
	for _, heading := range []string{surprises, yourself, theLab} {
		if len(blocks[heading]) == 0 {
			missing("section ## %s, or nothing stands in it", heading)
		}
	}
	if n := p.answers(blocks[yourself]); n < minAnswers {
		b.report(p.source, 1, "%d folded answers under %q, want at least %d: <details>, <summary>QUESTION</summary>, the answer, </details>", n, yourself, minAnswers)
	}
	if len(p.labs) == 0 {
		missing("lab: name it under ## %s, such as `lab00-herd`", theLab)
	}
	p.checkClaims(b)
}

// checkEnd wants the last headings to be those that every chapter ends with.
func (p *page) checkEnd(b *book, order []string) {
	want := []string{surprises, yourself, theLab}
	if n := len(order); n < len(want) || strings.Join(order[n-len(want):], "|") != strings.Join(want, "|") {
		b.report(p.source, 1, "a chapter ends with the sections ## %s, in this order", strings.Join(want, ", ## "))
	}
}

// answers counts the folded answers that have a question and an answer.
func (p *page) answers(blocks []ast.Node) (n int) {
	for _, block := range blocks {
		if block.Kind() != ast.KindHTMLBlock || !bytes.Contains(p.blockText(block), []byte("<summary>")) {
			continue
		}
		if next := block.NextSibling(); next != nil && next.Kind() != ast.KindHTMLBlock {
			n++
		}
	}
	return n
}

func (p *page) blockText(n ast.Node) []byte {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(p.src))
	}
	return b.Bytes()
}

// claimParts begin the paragraphs of a claim.
var claimParts = []string{"Claim.", "Test.", "Verdict."}

// isClaim reports whether a block quote states a claim of the literature.
func isClaim(n ast.Node, src []byte) bool {
	first := n.FirstChild()
	return first != nil && strings.HasPrefix(plainText(first, src), claimParts[0])
}

// checkClaims wants a test and a verdict with every claim.
func (p *page) checkClaims(b *book) {
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindBlockquote || !isClaim(n, p.src) {
			continue
		}
		i := 0
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			text := plainText(c, p.src)
			if i < len(claimParts) && strings.HasPrefix(text, claimParts[i]) {
				if i == 1 && !strings.Contains(text, "go run ") && !strings.Contains(text, "go test ") {
					b.report(p.source, p.line(c), "the claim's test is no command: `go run ...` or `go test ...`")
				}
				i++
			}
		}
		if i < len(claimParts) {
			b.report(p.source, p.line(n), "a claim has no **%s**: its paragraphs begin with **Claim.**, **Test.** and **Verdict.**", claimParts[i])
		}
	}
}
