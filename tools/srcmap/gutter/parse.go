package gutter

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Func is a Go function that mirrors a C function, or a part of one.
type Func struct {
	Ref
	Name      string // "(*Cycle).HandleReadEvent"
	Path      string // of the Go file
	Line, End int    // from func to the last brace
	Omits     []Omit
	Stmts     []Stmt
	Diverges  string // the reason in the doc comment, or ""
	Claims    bool   // the doc comment says that it mirrors the whole function
}

// Bare returns the function's name without its receiver.
func (fn *Func) Bare() string { return fn.Name[strings.LastIndexByte(fn.Name, '.')+1:] }

// HasBody reports whether statements of fn are in the body of s.
func (fn *Func) HasBody(s *Stmt) bool {
	return slices.ContainsFunc(fn.Stmts, func(t Stmt) bool { return t.Parent >= 0 && &fn.Stmts[t.Parent] == s })
}

// mirrors matches the claim at the end of a mirrored function's doc comment.
var mirrors = regexp.MustCompile(`Mirrors\s+(ngx_\w+)`)

// Code is the mirrored functions of a Go tree.
type Code struct {
	Funcs []*Func
	// Unnumbered counts, by directory, the functions that say that they
	// mirror a C function, but not line by line.
	Unnumbered map[string]int
	Findings   []Finding // defects in gutters and directives
}

// Finding is a defect and where to mend it.
type Finding struct {
	Path string
	Line int
	Text string
}

func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// Load reads the mirrored functions in the Go files below root, but not in
// tests.
func Load(root string) (*Code, error) {
	code := &Code{Unnumbered: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return code.Parse(path, src)
	})
	return code, err
}

// Parse adds the mirrored functions of one Go file. A file is line by line in
// all of its functions or in none.
func (code *Code) Parse(path string, src []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p := &goFile{code: code, fset: fset, src: src, path: path}
	p.comments(file)
	var numbered, claims []*Func
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Doc == nil || decl.Body == nil {
			continue
		}
		switch fn, claim := p.function(decl); {
		case fn.Ref.Func != "":
			numbered = append(numbered, fn)
		case claim:
			claims = append(claims, fn)
		}
	}
	code.Funcs = append(code.Funcs, numbered...)
	if len(numbered) == 0 && len(claims) > 0 {
		code.Unnumbered[filepath.Dir(path)] += len(claims)
		return nil
	}
	for _, fn := range claims {
		p.report(fn.Line, "%s says that it mirrors a C function but has no directive %sFILE FUNCTION", fn.Name, prefix)
	}
	return nil
}

// goFile is a Go file while its functions are read.
type goFile struct {
	code     *Code
	fset     *token.FileSet
	src      []byte
	path     string
	trailing map[int]*ast.Comment      // by line: the comment after code
	above    map[int]*ast.CommentGroup // by last line: a comment on its own
}

func (p *goFile) line(pos token.Pos) int { return p.fset.Position(pos).Line }

func (p *goFile) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

func (p *goFile) report(line int, format string, args ...any) {
	p.code.Findings = append(p.code.Findings, Finding{p.path, line, fmt.Sprintf(format, args...)})
}

func (p *goFile) comments(file *ast.File) {
	p.trailing = map[int]*ast.Comment{}
	p.above = map[int]*ast.CommentGroup{}
	for _, group := range file.Comments {
		first := p.fset.Position(group.Pos())
		lead := string(p.src[first.Offset-first.Column+1 : first.Offset])
		if strings.TrimSpace(lead) == "" {
			p.above[p.line(group.End())] = group
		} else {
			p.trailing[first.Line] = group.List[0]
		}
	}
}

// function reads decl, and reports whether it says that it mirrors a C
// function; its statements are read only if a directive says which.
func (p *goFile) function(decl *ast.FuncDecl) (fn *Func, claims bool) {
	fn = &Func{
		Name: name(decl), Path: p.path,
		Line: p.line(decl.Pos()), End: p.line(decl.End()),
		Diverges: diverges(decl.Doc.Text()),
	}
	for _, c := range decl.Doc.List {
		if strings.HasPrefix(c.Text, prefix) {
			if err := fn.directive(p.line(c.Pos()), p.offset(c.Pos()), c.Text); err != nil {
				p.report(p.line(c.Pos()), "%v", err)
			}
		}
	}
	claim := mirrors.FindStringSubmatch(decl.Doc.Text())
	fn.Claims = claim != nil
	if fn.Ref.Func == "" {
		return fn, fn.Claims || len(fn.Omits) > 0
	}
	if claim != nil && claim[1] != fn.Ref.Func {
		p.report(fn.Line, "the comment says that %s mirrors %s, the directive says %s",
			fn.Name, claim[1], fn.Ref.Func)
	}
	w := &walker{p: p, fn: fn}
	w.block(decl.Body.List, -1, false)
	return fn, true
}

// name returns a function's name with its receiver, as the compiler prints it.
func name(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return decl.Name.Name
	}
	switch t := decl.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := t.X.(*ast.Ident); ok {
			return "(*" + id.Name + ")." + decl.Name.Name
		}
	case *ast.Ident:
		return t.Name + "." + decl.Name.Name
	}
	return decl.Name.Name
}

// diverges returns what follows DIVERGES: in a comment, or "".
func diverges(text string) string {
	_, reason, found := strings.Cut(text, "DIVERGES:")
	if !found {
		return ""
	}
	reason, _, _ = strings.Cut(reason, "\n\n")
	return strings.Join(strings.Fields(reason), " ")
}

// divergesIn is diverges for a comment that may be absent.
func divergesIn(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return diverges(group.Text())
}
