package gutter

import (
	"cmp"
	"go/ast"
	"go/token"
	"strings"
)

// StmtKind is the kind of a statement.
type StmtKind string

// The kinds of statement.
const (
	Simple   StmtKind = "plain" // assignment, call, declaration with a value
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
	Lines              // the C lines in its gutter
	Diverges  string   // why it is not as in C, or ""
	Jumps     bool     // an if whose body ends with a jump
	Falls     bool     // a case whose body ends with fallthrough
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
	s.Text = string(p.src[p.offset(pos):p.offset(end)])
	paragraph := w.paragraph
	w.paragraph = ""
	s.Diverges = divergesIn(p.above[s.Line-1])
	if c := p.trailing[s.End]; c != nil {
		lines, rest, err := parseLines(strings.TrimPrefix(c.Text, "// "), p.offset(c.Pos())+len("// "))
		if err != nil {
			p.report(s.End, "%v", err)
		}
		s.Lines = lines
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
			if w.p.line(n.Body.Lbrace) == w.p.line(n.Body.Rbrace) {
				return true // on one line: a part of the statement
			}
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
		w.fn.Stmts[this].Falls = falls(s.Body)
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

func falls(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	s, ok := list[len(list)-1].(*ast.BranchStmt)
	return ok && s.Tok == token.FALLTHROUGH
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
