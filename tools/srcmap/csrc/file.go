package csrc

import (
	"fmt"
	"slices"
)

// File is a C source file as one build sees it.
type File struct {
	tokens []Token
	conds  []*Conditional
}

// Func is a function, or a macro with parameters.
type Func struct {
	Name      string
	Line, End int // from the line of its name to its last
	Stmts     []Stmt
}

// Parse reads a C source file.
func Parse(src []byte, build Build) (*File, error) {
	tokens, err := Tokenize(src)
	if err != nil {
		return nil, err
	}
	active, conds, err := Select(tokens, build)
	if err != nil {
		return nil, err
	}
	return &File{active, conds}, nil
}

// Func returns the function or macro of that name, or nil if the build has
// none.
func (f *File) Func(name string) (*Func, error) {
	for i, t := range f.tokens {
		if t.Kind == Directive && t.Text == "define" && isMacro(t.Args, name) {
			return f.macro(t)
		}
		if t.Kind == Ident && t.Text == name {
			if open, end := body(f.tokens[i:]); open > 0 {
				return f.function(f.tokens[i:i+end+1], open)
			}
		}
	}
	return nil, nil
}

// body returns where the braces open and close if tokens begin with the
// definition of a function, and 0, 0 otherwise.
func body(tokens []Token) (open, end int) {
	if len(tokens) < 2 || tokens[1].Text != "(" {
		return 0, 0
	}
	n, err := matching(tokens[1:])
	if err != nil {
		return 0, 0
	}
	open = n + 2
	if open >= len(tokens) || tokens[open].Text != "{" {
		return 0, 0
	}
	n, err = matching(tokens[open:])
	if err != nil {
		return 0, 0
	}
	return open, open + n
}

func (f *File) function(tokens []Token, open int) (*Func, error) {
	last := len(tokens) - 1
	fn := &Func{Name: tokens[0].Text, Line: tokens[0].Line, End: tokens[last].Line}
	return fn, f.fill(fn, tokens[open+1:last])
}

// isMacro reports whether args, of a #define, define name with parameters.
func isMacro(args []Token, name string) bool {
	return len(args) > 1 && args[0].Text == name && args[1].Text == "(" && args[1].glued
}

func (f *File) macro(define Token) (*Func, error) {
	args := define.Args
	n, err := matching(args[1:])
	if err != nil {
		return nil, err
	}
	fn := &Func{Name: args[0].Text, Line: define.Line, End: args[len(args)-1].Line}
	return fn, f.fill(fn, args[n+2:])
}

// fill splits the body of fn, whose lines are known, and refuses conditions
// that the build cannot answer.
func (f *File) fill(fn *Func, body []Token) error {
	for _, c := range f.conds {
		inside := fn.Line <= c.Line && c.End <= fn.End
		around := c.Line <= fn.Line && fn.End <= c.End
		if len(c.Unknown) > 0 && (inside || around) {
			t := c.Unknown[0]
			return &Error{t.Line, fmt.Sprintf("an #if asks for %s, about which the build says nothing: "+
				"add it to the table in tools/srcmap/csrc/build.go", t.Text)}
		}
	}
	var err error
	fn.Stmts, err = split(body)
	return err
}

// At returns the index of the statement that begins on a line, or of the
// first one after it, and whether it begins there.
func (fn *Func) At(line int) (int, bool) {
	return slices.BinarySearchFunc(fn.Stmts, line, func(s Stmt, line int) int { return s.Line - line })
}
