package gutter

import (
	"cmp"
	"errors"
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

	fset *token.FileSet
	body *ast.BlockStmt
}

// Bare returns the function's name without its receiver.
func (fn *Func) Bare() string { return fn.Name[strings.LastIndexByte(fn.Name, '.')+1:] }

// StmtKind is the kind of a statement.
type StmtKind string

// The kinds of statement.
const (
	Simple   StmtKind = "statement" // assignment, call, declaration with a value
	If       StmtKind = "if"
	For      StmtKind = "for"
	Switch   StmtKind = "switch"
	Case     StmtKind = "case"
	Return   StmtKind = "return"
	Break    StmtKind = "break"
	Continue StmtKind = "continue"
	Goto     StmtKind = "goto"
	Fall     StmtKind = "fallthrough"
)

// Stmt is one statement; of one with a body, its head. Else, blocks and
// declarations without a value are not statements.
type Stmt struct {
	Kind      StmtKind
	Line, End int      // its first line, and the last, which the gutter is on
	Parent    int      // index of the statement whose body it is in, or -1
	Else      bool     // in the else branch of Parent
	Text      string   // the source
	Calls     []string // the functions called, by bare name
	Ranges    []Range  // the C lines in its gutter
	Diverges  string   // why it is not as in C, or ""
	Jumps     bool     // an if whose body ends with a jump
}

// HasBody reports whether statements of fn are in the body of s.
func (fn *Func) HasBody(s *Stmt) bool {
	return slices.ContainsFunc(fn.Stmts, func(t Stmt) bool { return t.Parent >= 0 && &fn.Stmts[t.Parent] == s })
}

// Findings is a list of defects, each with its file and line.
type Findings []string

func (f Findings) Error() string { return strings.Join(f, "\n") }

// mirrors matches the claim at the end of a mirrored function's doc comment.
var mirrors = regexp.MustCompile(`Mirrors\s+(ngx_\w+)`)

// Load reads the mirrored functions in the Go files below root, but not in
// tests. Defects in gutters and directives come back as Findings.
func Load(root string) ([]*Func, error) {
	var (
		funcs    []*Func
		findings Findings
	)
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
		fns, err := Parse(path, src)
		funcs = append(funcs, fns...)
		var more Findings
		if errors.As(err, &more) {
			findings = append(findings, more...)
			return nil
		}
		return err
	})
	if err == nil && len(findings) > 0 {
		err = findings
	}
	return funcs, err
}

// Parse reads the mirrored functions of one Go file.
func Parse(path string, src []byte) ([]*Func, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p := &goFile{fset: fset, src: src, path: path}
	p.comments(file)
	var funcs []*Func
	for _, d := range file.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok && decl.Doc != nil && decl.Body != nil {
			if fn := p.function(decl); fn != nil {
				funcs = append(funcs, fn)
			}
		}
	}
	if len(p.findings) > 0 {
		return funcs, p.findings
	}
	return funcs, nil
}

// goFile is a Go file while its functions are read.
type goFile struct {
	fset     *token.FileSet
	src      []byte
	path     string
	trailing map[int]*ast.Comment      // by line: the comment after code
	above    map[int]*ast.CommentGroup // by last line: a comment on its own
	findings Findings
}

func (p *goFile) line(pos token.Pos) int { return p.fset.Position(pos).Line }

func (p *goFile) report(line int, format string, args ...any) {
	p.findings = append(p.findings, fmt.Sprintf("%s:%d: %s", p.path, line, fmt.Sprintf(format, args...)))
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

// function reads decl, or returns nil if it mirrors nothing.
func (p *goFile) function(decl *ast.FuncDecl) *Func {
	fn := &Func{
		Name: name(decl), Path: p.path,
		Line: p.line(decl.Pos()), End: p.line(decl.End()),
		Diverges: diverges(decl.Doc.Text()),
	}
	for _, c := range decl.Doc.List {
		if strings.HasPrefix(c.Text, prefix) {
			if err := fn.directive(p.line(c.Pos()), c.Text); err != nil {
				p.report(p.line(c.Pos()), "%v", err)
			}
		}
	}
	claim := mirrors.FindStringSubmatch(decl.Doc.Text())
	if fn.Ref.Func == "" {
		if claim != nil || len(fn.Omits) > 0 {
			p.report(fn.Line, "%s says that it mirrors a C function but has no directive %sFILE FUNCTION",
				fn.Name, prefix)
		}
		return nil
	}
	if claim != nil && claim[1] != fn.Ref.Func {
		p.report(fn.Line, "the comment says that %s mirrors %s, the directive says %s",
			fn.Name, claim[1], fn.Ref.Func)
	}
	w := &walker{p: p, fn: fn}
	w.block(decl.Body.List, -1, false)
	return fn
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

// walker lists the statements of a function.
type walker struct {
	p         *goFile
	fn        *Func
	paragraph string // the reason of a DIVERGES comment that heads a paragraph
}

// block lists statements. A DIVERGES comment above one holds for those that
// follow without an empty line, up to the first that has a number.
func (w *walker) block(list []ast.Stmt, parent int, els bool) {
	paragraph, end := "", 0
	for _, s := range list {
		first, above := w.p.line(s.Pos()), w.p.above[w.p.line(s.Pos())-1]
		if above != nil {
			first = w.p.line(above.Pos())
		}
		if first > end+1 {
			paragraph = ""
		}
		if reason := divergesIn(above); reason != "" {
			paragraph = reason
		}
		n := len(w.fn.Stmts)
		w.paragraph = paragraph
		w.stmt(s, parent, els)
		w.paragraph = ""
		if n < len(w.fn.Stmts) && w.fn.Stmts[n].Ranges != nil {
			paragraph = ""
		}
		end = w.p.line(s.End())
	}
}

// add appends a statement that reaches from pos to end, its gutter included,
// and returns its index.
func (w *walker) add(kind StmtKind, pos, end token.Pos, parent int, els bool) int {
	p := w.p
	s := Stmt{Kind: kind, Line: p.line(pos), End: p.line(end - 1), Parent: parent, Else: els}
	s.Text = string(p.src[p.fset.Position(pos).Offset:p.fset.Position(end).Offset])
	paragraph := w.paragraph
	w.paragraph = ""
	s.Diverges = divergesIn(p.above[s.Line-1])
	if c := p.trailing[s.End]; c != nil {
		text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		ranges, rest, err := parseRanges(text)
		if err != nil {
			p.report(s.End, "%v", err)
		}
		s.Ranges = ranges
		if reason := diverges(rest); reason != "" {
			s.Diverges = reason
		}
	}
	if s.Diverges == "" && s.Ranges == nil {
		s.Diverges = paragraph
		if parent >= 0 && w.fn.Stmts[parent].Ranges == nil {
			s.Diverges = cmp.Or(paragraph, w.fn.Stmts[parent].Diverges)
		}
	}
	w.fn.Stmts = append(w.fn.Stmts, s)
	return len(w.fn.Stmts) - 1
}

// simple adds a statement without a body of its own. The statements of the
// function literals in it count as its body.
func (w *walker) simple(kind StmtKind, n ast.Node, parent int, els bool) {
	this := w.add(kind, n.Pos(), n.End(), parent, els)
	w.inspect(this, n)
}

// inspect notes the calls in n, part of the statement at index this, and adds
// the statements of the function literals in it.
func (w *walker) inspect(this int, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.block(n.Body.List, this, false)
			return false
		case *ast.CallExpr:
			if name := called(n.Fun); name != "" {
				w.fn.Stmts[this].Calls = append(w.fn.Stmts[this].Calls, name)
			}
		}
		return true
	})
}

func called(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.IndexExpr:
		return called(f.X)
	}
	return ""
}

func (w *walker) stmt(s ast.Stmt, parent int, els bool) {
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		w.block(s.List, parent, els)
	case *ast.LabeledStmt:
		w.stmt(s.Stmt, parent, els)
	case *ast.DeclStmt:
		w.decl(s, parent, els)
	case *ast.IfStmt:
		w.ifStmt(s, parent, els)
	case *ast.ForStmt:
		this := w.add(For, s.Pos(), s.Body.Lbrace+1, parent, els)
		w.heads(this, s.Init, s.Cond, s.Post)
		w.block(s.Body.List, this, false)
	case *ast.RangeStmt:
		this := w.add(For, s.Pos(), s.Body.Lbrace+1, parent, els)
		w.heads(this, s.X)
		w.block(s.Body.List, this, false)
	case *ast.SwitchStmt:
		this := w.add(Switch, s.Pos(), s.Body.Lbrace+1, parent, els)
		w.heads(this, s.Init, s.Tag)
		w.block(s.Body.List, this, false)
	case *ast.TypeSwitchStmt:
		this := w.add(Switch, s.Pos(), s.Body.Lbrace+1, parent, els)
		w.heads(this, s.Init, s.Assign)
		w.block(s.Body.List, this, false)
	case *ast.SelectStmt:
		this := w.add(Switch, s.Pos(), s.Body.Lbrace+1, parent, els)
		w.block(s.Body.List, this, false)
	case *ast.CaseClause:
		this := w.add(Case, s.Pos(), s.Colon+1, parent, els)
		for _, e := range s.List {
			w.inspect(this, e)
		}
		w.block(s.Body, this, false)
	case *ast.CommClause:
		this := w.add(Case, s.Pos(), s.Colon+1, parent, els)
		w.heads(this, s.Comm)
		w.block(s.Body, this, false)
	case *ast.ReturnStmt:
		w.simple(Return, s, parent, els)
	case *ast.BranchStmt:
		kinds := map[token.Token]StmtKind{
			token.BREAK: Break, token.CONTINUE: Continue, token.GOTO: Goto, token.FALLTHROUGH: Fall,
		}
		w.simple(kinds[s.Tok], s, parent, els)
	default:
		w.simple(Simple, s, parent, els)
	}
}

// heads inspects the parts of a head, any of which may be absent.
func (w *walker) heads(this int, parts ...ast.Node) {
	for _, n := range parts {
		if n != nil {
			w.inspect(this, n)
		}
	}
}

func (w *walker) ifStmt(s *ast.IfStmt, parent int, els bool) {
	this := w.add(If, s.Pos(), s.Body.Lbrace+1, parent, els)
	w.heads(this, s.Init, s.Cond)
	w.block(s.Body.List, this, false)
	w.fn.Stmts[this].Jumps = jumps(s.Body.List)
	if s.Else != nil {
		w.stmt(s.Else, this, true)
	}
}

// jumps reports whether control never leaves list at its end.
func jumps(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.BlockStmt:
		return jumps(s.List)
	}
	return false
}

// decl adds the variables of a declaration that are given a value, be it the
// zero that a line of C stands for.
func (w *walker) decl(s *ast.DeclStmt, parent int, els bool) {
	for _, spec := range s.Decl.(*ast.GenDecl).Specs {
		if v, ok := spec.(*ast.ValueSpec); ok && (len(v.Values) > 0 || w.p.numbered(v)) {
			w.simple(Simple, v, parent, els)
		}
	}
}

// numbered reports whether a number is at the end of n's line.
func (p *goFile) numbered(n ast.Node) bool {
	c := p.trailing[p.line(n.End())]
	return c != nil && numbers.MatchString(strings.TrimPrefix(c.Text, "// "))
}
