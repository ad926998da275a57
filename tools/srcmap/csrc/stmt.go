package csrc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// StmtKind is the kind of a statement.
type StmtKind string

// The kinds of statement.
const (
	Expr     StmtKind = "expression"
	Decl     StmtKind = "declaration" // with an initialiser
	If       StmtKind = "if"
	For      StmtKind = "for"
	While    StmtKind = "while"
	Do       StmtKind = "do"
	DoWhile  StmtKind = "do's while"
	Switch   StmtKind = "switch"
	Case     StmtKind = "case" // with all labels of one place
	Return   StmtKind = "return"
	Break    StmtKind = "break"
	Continue StmtKind = "continue"
	Goto     StmtKind = "goto"
	Label    StmtKind = "label"
)

// Stmt is one statement; of one with a body, its head: if (...), for (...).
//
// Not statements: braces, else, declarations without an initialiser, the
// empty statement.
type Stmt struct {
	Kind      StmtKind
	Line, End int     // its first and last line
	Parent    int     // index of the statement whose body it is in, or -1
	Else      bool    // in the else branch of Parent
	Tokens    []Token // without a final semicolon
	Falls     bool    // of a case: it runs on into the next one
	Implied   bool    // a label, or the break that ends a case: Go needs none
}

// Text returns the statement's tokens, one blank apart.
func (s *Stmt) Text() string {
	texts := make([]string, len(s.Tokens))
	for i, t := range s.Tokens {
		texts[i] = t.Text
	}
	return strings.Join(texts, " ")
}

// Hash names the statement by its text, whatever its layout.
func (s *Stmt) Hash() string {
	sum := sha256.Sum256([]byte(s.Text()))
	return hex.EncodeToString(sum[:6])
}

// splitter turns tokens into statements.
type splitter struct {
	tokens []Token
	stmts  []Stmt
}

// split returns the statements in tokens, the inside of a function's braces or
// of a macro.
func split(tokens []Token) ([]Stmt, error) {
	s := &splitter{tokens: tokens}
	if err := s.block(-1, false); err != nil {
		return nil, err
	}
	if len(s.tokens) > 0 {
		return nil, &Error{s.tokens[0].Line, "} without a {"}
	}
	return s.stmts, nil
}

// block reads statements up to a } or the end.
func (s *splitter) block(parent int, els bool) error {
	last := "" // what the statement before begins with
	for len(s.tokens) > 0 && s.tokens[0].Text != "}" {
		first := s.tokens[0].Text
		if first == "case" || first == "default" {
			if parent >= 0 && s.stmts[parent].Kind == Case {
				s.stmts[parent].Falls = !isJump(last)
				parent = s.stmts[parent].Parent
			}
			if err := s.caseLabel(parent); err != nil {
				return err
			}
			parent, els = len(s.stmts)-1, false
			continue
		}
		if err := s.stmt(parent, els); err != nil {
			return err
		}
		last = first
	}
	return nil
}

func isJump(keyword string) bool {
	switch keyword {
	case "break", "continue", "return", "goto":
		return true
	}
	return false
}

// stmt reads one statement, with its body.
func (s *splitter) stmt(parent int, els bool) error {
	if len(s.tokens) == 0 {
		return &Error{s.stmts[len(s.stmts)-1].End, "nothing follows where a statement belongs"}
	}
	first := s.tokens[0]
	if first.Kind == Directive {
		s.tokens = s.tokens[1:]
		return nil
	}
	switch first.Text {
	case "{":
		s.tokens = s.tokens[1:]
		if err := s.block(parent, els); err != nil {
			return err
		}
		return s.expect("}", first.Line)
	case "}":
		return &Error{first.Line, "} where a statement belongs"}
	case "if", "for", "while", "switch":
		return s.compound(parent, els)
	case "do":
		return s.doWhile(parent, els)
	}
	if len(s.tokens) > 1 && first.Kind == Ident && s.tokens[1].Text == ":" {
		s.add(Label, parent, els, s.take(2))
		s.stmts[len(s.stmts)-1].Implied = true
		return nil
	}
	return s.simple(parent, els)
}

// add appends a statement made of tokens.
func (s *splitter) add(kind StmtKind, parent int, els bool, tokens []Token) {
	s.stmts = append(s.stmts, Stmt{
		Kind: kind, Line: tokens[0].Line, End: tokens[len(tokens)-1].Line,
		Parent: parent, Else: els, Tokens: tokens,
	})
}

func (s *splitter) expect(text string, line int) error {
	if len(s.tokens) == 0 {
		return &Error{line, fmt.Sprintf("no %q to go with this line", text)}
	}
	if t := s.tokens[0]; t.Text != text {
		return &Error{t.Line, fmt.Sprintf("%q where %q belongs", t.Text, text)}
	}
	s.tokens = s.tokens[1:]
	return nil
}

// compound reads if, for, while or switch, with what depends on it.
func (s *splitter) compound(parent int, els bool) error {
	head, err := s.head()
	if err != nil {
		return err
	}
	kinds := map[string]StmtKind{"if": If, "for": For, "while": While, "switch": Switch}
	kind := kinds[head[0].Text]
	s.add(kind, parent, els, head)
	this := len(s.stmts) - 1
	if err := s.stmt(this, false); err != nil {
		return err
	}
	if kind == If && len(s.tokens) > 0 && s.tokens[0].Text == "else" {
		s.tokens = s.tokens[1:]
		return s.stmt(this, true)
	}
	return nil
}

// doWhile reads do ... while (...);
func (s *splitter) doWhile(parent int, els bool) error {
	s.add(Do, parent, els, s.tokens[:1])
	this := len(s.stmts) - 1
	s.tokens = s.tokens[1:]
	if err := s.stmt(this, false); err != nil {
		return err
	}
	if len(s.tokens) == 0 || s.tokens[0].Text != "while" {
		return &Error{s.stmts[this].Line, "do without a while"}
	}
	head, err := s.head()
	if err != nil {
		return err
	}
	s.add(DoWhile, this, false, head)
	if len(s.tokens) == 0 { // the end of a macro
		return nil
	}
	return s.expect(";", head[0].Line)
}

// head takes a keyword and the parentheses after it off the input.
func (s *splitter) head() ([]Token, error) {
	if len(s.tokens) < 2 || s.tokens[1].Text != "(" {
		return nil, &Error{s.tokens[0].Line, fmt.Sprintf("%s without a (", s.tokens[0].Text)}
	}
	n, err := matching(s.tokens[1:])
	if err != nil {
		return nil, err
	}
	return s.take(n + 2), nil
}

// take takes n tokens off the input.
func (s *splitter) take(n int) []Token {
	tokens := s.tokens[:n:n]
	s.tokens = s.tokens[n:]
	return tokens
}

// caseLabel reads case X: or default:. Labels in a row are one statement.
func (s *splitter) caseLabel(parent int) error {
	if parent < 0 || s.stmts[parent].Kind != Switch {
		return &Error{s.tokens[0].Line, s.tokens[0].Text + " outside of the block of a switch"}
	}
	end, questions := 1, 0
	for ; end < len(s.tokens); end++ {
		if t := s.tokens[end].Text; t == "?" {
			questions++
		} else if t == ":" {
			if questions == 0 {
				break
			}
			questions--
		}
	}
	if end == len(s.tokens) {
		return &Error{s.tokens[0].Line, s.tokens[0].Text + " without a colon"}
	}
	label := s.take(end + 1)
	if last := len(s.stmts) - 1; s.stmts[last].Kind == Case && s.stmts[last].Parent == parent {
		prev := &s.stmts[last]
		prev.Tokens = append(prev.Tokens, label...)
		prev.Falls = false
		prev.End = label[len(label)-1].Line
		return nil
	}
	s.add(Case, parent, false, label)
	return nil
}

// simple reads a statement that ends with a semicolon.
func (s *splitter) simple(parent int, els bool) error {
	n, err := s.simpleLen()
	if err != nil {
		return err
	}
	tokens := s.take(n)
	if len(s.tokens) > 0 {
		s.tokens = s.tokens[1:] // the semicolon
	}
	if n == 0 {
		return nil
	}
	kind := Expr
	switch tokens[0].Text {
	case "return":
		kind = Return
	case "continue":
		kind = Continue
	case "goto":
		kind = Goto
	case "break":
		kind = Break
	default:
		if isDeclaration(tokens) {
			if !hasInitialiser(tokens) {
				return nil
			}
			kind = Decl
		}
	}
	s.add(kind, parent, els, tokens)
	s.stmts[len(s.stmts)-1].Implied = kind == Break && parent >= 0 && s.stmts[parent].Kind == Case
	return nil
}

// simpleLen returns the number of tokens before the semicolon that ends the
// statement, or before the end of a macro.
func (s *splitter) simpleLen() (int, error) {
	for i := 0; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; t.Text {
		case ";":
			return i, nil
		case ")", "]", "}":
			return 0, &Error{t.Line, fmt.Sprintf("%q where the statement of line %d should end with a semicolon",
				t.Text, s.tokens[0].Line)}
		case "(", "[", "{":
			if t.Text == "{" && i > 0 && s.tokens[i-1].Text == ")" && !isDeclaration(s.tokens[:i]) {
				return 0, &Error{t.Line, "a block after an expression (a macro that loops?), which the splitter cannot place"}
			}
			n, err := matching(s.tokens[i:])
			if err != nil {
				return 0, err
			}
			i += n
		}
	}
	return len(s.tokens), nil
}

// matching returns the index of the bracket that closes the one that tokens
// begin with.
func matching(tokens []Token) (int, error) {
	closes := map[string]string{"(": ")", "[": "]", "{": "}"}
	var open []string
	for i, t := range tokens {
		if t.Kind != Punct {
			continue
		}
		switch t.Text {
		case "(", "[", "{":
			open = append(open, closes[t.Text])
		case ")", "]", "}":
			if want := open[len(open)-1]; t.Text != want {
				return 0, &Error{t.Line, fmt.Sprintf("%q where %q belongs", t.Text, want)}
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return i, nil
			}
		}
	}
	return 0, &Error{tokens[0].Line, fmt.Sprintf("%q is never closed", tokens[0].Text)}
}

// isDeclaration reports whether a statement is one: it begins with a word that
// only types have, or with a name, stars and another name.
func isDeclaration(tokens []Token) bool {
	i := 0
	for ; i < len(tokens) && tokens[i].Kind == Ident; i++ {
		switch tokens[i].Text {
		case "struct", "union", "enum", "static", "const", "volatile", "extern", "register",
			"void", "char", "short", "int", "long", "signed", "unsigned", "float", "double":
			return true
		}
	}
	if i >= 2 {
		return true
	}
	if i == 0 {
		return false
	}
	stars := i
	for i < len(tokens) && (tokens[i].Text == "*" || tokens[i].Text == "const") {
		i++
	}
	return i > stars && i < len(tokens) && tokens[i].Kind == Ident
}

// hasInitialiser reports whether a declaration has an = outside of brackets.
func hasInitialiser(tokens []Token) bool {
	depth := 0
	for _, t := range tokens {
		switch t.Text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "=":
			if depth == 0 {
				return true
			}
		}
	}
	return false
}
