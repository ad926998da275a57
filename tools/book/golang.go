package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// decl is a Go declaration and where it stands.
type decl struct {
	path  string // of the file, from the top of the tree
	doc   int    // first line of its comment, or first
	first int    // line
	last  int
	text  string // the comment's text
	node  ast.Node
}

// goPackage is the declarations of a directory of Go files, tests included:
// "Func", "Type", "Type.Method", "Type.Field", constants and variables.
type goPackage struct {
	fset  *token.FileSet
	decls map[string]decl
}

// loadPackage parses the Go files of dir, a path from the top of the tree.
func loadPackage(root, dir string) (*goPackage, error) {
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s is no Go package of this tree", dir)
	}
	p := &goPackage{fset: token.NewFileSet(), decls: map[string]decl{}}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(p.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			p.declare(path.Join(dir, filepath.Base(name)), d)
		}
	}
	return p, nil
}

func (p *goPackage) line(pos token.Pos) int { return p.fset.Position(pos).Line }

func (p *goPackage) declare(file string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		p.add(funcName(d), file, d, d.Doc)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			p.specify(file, d, spec)
		}
	}
}

// specify adds a type, or constants or variables; the declaration's keyword
// and comment belong to it if it stands there alone.
func (p *goPackage) specify(file string, d *ast.GenDecl, spec ast.Spec) {
	var node ast.Node = spec
	var doc *ast.CommentGroup
	switch s := spec.(type) {
	case *ast.TypeSpec:
		doc = s.Doc
	case *ast.ValueSpec:
		doc = s.Doc
	}
	if !d.Lparen.IsValid() {
		node, doc = d, d.Doc
	}
	switch s := spec.(type) {
	case *ast.TypeSpec:
		p.add(s.Name.Name, file, node, doc)
		p.fields(file, s)
	case *ast.ValueSpec:
		for _, name := range s.Names {
			p.add(name.Name, file, node, doc)
		}
	}
}

func (p *goPackage) fields(file string, t *ast.TypeSpec) {
	var list *ast.FieldList
	switch s := t.Type.(type) {
	case *ast.StructType:
		list = s.Fields
	case *ast.InterfaceType:
		list = s.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, name := range f.Names {
			p.add(t.Name.Name+"."+name.Name, file, f, f.Doc)
		}
	}
}

func (p *goPackage) add(name, file string, node ast.Node, doc *ast.CommentGroup) {
	d := decl{path: file, first: p.line(node.Pos()), last: p.line(node.End()), node: node}
	d.doc = d.first
	if doc != nil {
		d.doc, d.text = p.line(doc.Pos()), doc.Text()
	}
	if f, ok := node.(*ast.FuncDecl); ok {
		d.first = p.line(f.Type.Func)
	}
	p.decls[name] = d
}

// funcName returns "Func", or "Type.Method".
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok { // a generic type
		t = index.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + d.Name.Name
	}
	return d.Name.Name
}

// find returns the declaration called name: in full, or a method or field
// without its type if there is only one.
func (p *goPackage) find(dir, name string) (decl, error) {
	if d, ok := p.decls[name]; ok {
		return d, nil
	}
	var full []string
	for n := range p.decls {
		if strings.HasSuffix(n, "."+name) {
			full = append(full, n)
		}
	}
	switch slices.Sort(full); len(full) {
	case 0:
		return decl{}, fmt.Errorf("%s has no %s; correct the name, or the package", dir, name)
	case 1:
		return p.decls[full[0]], nil
	}
	return decl{}, fmt.Errorf("%s has several %s: write %s", dir, name, strings.Join(full, " or "))
}

// stmtEnd returns the last line of the statement of d that begins on line.
func (p *goPackage) stmtEnd(d decl, line int) int {
	end := line
	ast.Inspect(d.node, func(n ast.Node) bool {
		if s, ok := n.(ast.Stmt); ok && p.line(s.Pos()) == line {
			end = max(end, p.line(s.End()))
		}
		return true
	})
	return end
}
