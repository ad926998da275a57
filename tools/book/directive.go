package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// directive is a line "{{verb argument ...}}", which pulls something into the
// page.
type directive struct {
	ast.BaseBlock
	verb string
	args []string
}

var kindDirective = ast.NewNodeKind("Directive")

func (d *directive) Kind() ast.NodeKind { return kindDirective }

func (d *directive) Dump(source []byte, level int) {
	ast.DumpHelper(d, source, level, map[string]string{"verb": d.verb}, nil)
}

// directiveParser makes directives of the lines that are one.
type directiveParser struct{}

func (directiveParser) Trigger() []byte { return []byte{'{'} }

func (directiveParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	inner, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("{{"))
	if !ok {
		return nil, parser.NoChildren
	}
	inner, ok = bytes.CutSuffix(inner, []byte("}}"))
	if !ok {
		return nil, parser.NoChildren
	}
	reader.Advance(segment.Len() - 1)
	fields := strings.Fields(string(inner))
	if len(fields) == 0 {
		fields = []string{""}
	}
	return &directive{verb: fields[0], args: fields[1:]}, parser.NoChildren
}

func (directiveParser) Continue(ast.Node, text.Reader, parser.Context) parser.State {
	return parser.Close
}

func (directiveParser) Close(ast.Node, text.Reader, parser.Context) {}
func (directiveParser) CanInterruptParagraph() bool                 { return true }
func (directiveParser) CanAcceptIndentedLine() bool                 { return false }

// verbs are the directives. Each returns HTML.
var verbs map[string]func(r *renderer, args []string) (string, error)

func init() {
	verbs = map[string]func(r *renderer, args []string) (string, error){
		"twin":     (*renderer).twin,
		"go":       (*renderer).golang,
		"region":   (*renderer).region,
		"topology": (*renderer).topology,
		"output":   (*renderer).output,
		"table":    (*renderer).table,
	}
}

// expand renders d.
func (r *renderer) expand(d *directive) (string, error) {
	verb, ok := verbs[d.verb]
	if !ok {
		return "", fmt.Errorf("no directive {{%s}}; there are %s", d.verb, strings.Join(sortedKeys(verbs), ", "))
	}
	return verb(r, d.args)
}
