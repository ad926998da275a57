// Package csrc reads C source the way a proof about it needs: a tokenizer, the
// conditional part of the preprocessor for one fixed build, and a splitter of
// function bodies into statements. It knows no types and expands no macros.
package csrc

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of token.
const (
	Ident Kind = iota
	Number
	String
	Char
	Punct
	Directive // a whole preprocessor line; Text is its name, Args the rest
)

// Token is one token and the line it starts on, counted from 1.
type Token struct {
	Kind Kind
	Text string
	Line int
	Args []Token // of a directive; nil for one whose rest is not C (#error)

	// glued is set in an argument of a directive that nothing separates from
	// the token before: it tells #define f(x) from #define f (x).
	glued bool
}

// Error is a defect in a C source file.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// scanner walks over source text from which the line continuations are gone.
type scanner struct {
	src   []byte
	lines []int // lines[i] is the line of src[i]; one more for the end
	pos   int
	fresh bool // no token yet on this line
}

// Tokenize splits src into tokens, without comments.
func Tokenize(src []byte) ([]Token, error) {
	s := newScanner(src)
	var tokens []Token
	for {
		if err := s.skipBlank(true); err != nil {
			return nil, err
		}
		if s.pos == len(s.src) {
			return tokens, nil
		}
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
}

// newScanner joins continued lines and remembers where each byte came from.
func newScanner(src []byte) *scanner {
	s := &scanner{fresh: true}
	line := 1
	for i := 0; i < len(src); i++ {
		if n := continuation(src[i:]); n > 0 {
			i += n - 1
			line++
			continue
		}
		s.src = append(s.src, src[i])
		s.lines = append(s.lines, line)
		if src[i] == '\n' {
			line++
		}
	}
	s.lines = append(s.lines, line)
	return s
}

// continuation returns the length of the backslash and line end that b starts
// with, or 0.
func continuation(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\\\n")):
		return 2
	case bytes.HasPrefix(b, []byte("\\\r\n")):
		return 3
	}
	return 0
}

func (s *scanner) errorf(pos int, format string, args ...any) error {
	return &Error{Line: s.lines[pos], Msg: fmt.Sprintf(format, args...)}
}

// skipBlank skips white space and comments, line ends included if newline is
// set.
func (s *scanner) skipBlank(newline bool) error {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		switch c := rest[0]; {
		case c == '\n':
			if !newline {
				return nil
			}
			s.pos++
			s.fresh = true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			s.pos++
		case bytes.HasPrefix(rest, []byte("//")):
			if i := bytes.IndexByte(rest, '\n'); i >= 0 {
				s.pos += i
			} else {
				s.pos = len(s.src)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			i := bytes.Index(rest[2:], []byte("*/"))
			if i < 0 {
				return s.errorf(s.pos, "comment without an end")
			}
			s.pos += 2 + i + 2
		default:
			return nil
		}
	}
	return nil
}

// next returns the token at s.pos, which is not blank.
func (s *scanner) next() (Token, error) {
	if s.src[s.pos] == '#' && s.fresh {
		return s.directive()
	}
	s.fresh = false
	t := Token{Line: s.lines[s.pos]}
	begin := s.pos
	switch c := s.src[s.pos]; {
	case isLetter(c):
		t.Kind = Ident
		s.skipWhile(func(c byte) bool { return isLetter(c) || isDigit(c) })
	case isDigit(c) || c == '.' && s.pos+1 < len(s.src) && isDigit(s.src[s.pos+1]):
		t.Kind = Number
		s.number()
	case c == '"':
		t.Kind = String
		if err := s.quoted(c); err != nil {
			return t, err
		}
	case c == '\'':
		t.Kind = Char
		if err := s.quoted(c); err != nil {
			return t, err
		}
	default:
		t.Kind = Punct
		s.pos += punctLen(s.src[s.pos:])
	}
	t.Text = string(s.src[begin:s.pos])
	return t, nil
}

// directive reads a preprocessor line, from its # to the end of the line.
func (s *scanner) directive() (Token, error) {
	t := Token{Kind: Directive, Line: s.lines[s.pos]}
	s.fresh = false
	s.pos++
	if err := s.skipBlank(false); err != nil {
		return t, err
	}
	begin := s.pos
	s.skipWhile(func(c byte) bool { return isLetter(c) })
	t.Text = string(s.src[begin:s.pos])
	switch t.Text {
	case "include", "error", "warning", "pragma", "line", "":
		s.skipWhile(func(c byte) bool { return c != '\n' })
		return t, nil
	}
	t.Args = []Token{}
	for {
		before := s.pos
		if err := s.skipBlank(false); err != nil {
			return t, err
		}
		if s.pos == len(s.src) || s.src[s.pos] == '\n' {
			return t, nil
		}
		arg, err := s.next()
		if err != nil {
			return t, err
		}
		arg.glued = before == s.pos-len(arg.Text)
		t.Args = append(t.Args, arg)
	}
}

func (s *scanner) skipWhile(ok func(byte) bool) {
	for s.pos < len(s.src) && ok(s.src[s.pos]) {
		s.pos++
	}
}

// number skips a preprocessing number: digits, letters, dots, and signs after
// an exponent.
func (s *scanner) number() {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		sign := (c == '+' || c == '-') && strings.IndexByte("eEpP", s.src[s.pos-1]) >= 0
		if !isDigit(c) && !isLetter(c) && c != '.' && !sign {
			return
		}
		s.pos++
	}
}

// quoted skips a string or character constant.
func (s *scanner) quoted(quote byte) error {
	begin := s.pos
	for s.pos++; s.pos < len(s.src) && s.src[s.pos] != '\n'; s.pos++ {
		switch s.src[s.pos] {
		case quote:
			s.pos++
			return nil
		case '\\':
			s.pos++
		}
	}
	return s.errorf(begin, "%c without its second %c", quote, quote)
}

// puncts are the operators of more than one character, the longest first.
var puncts = []string{
	"<<=", ">>=", "...",
	"->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##",
}

func punctLen(b []byte) int {
	for _, p := range puncts {
		if bytes.HasPrefix(b, []byte(p)) {
			return len(p)
		}
	}
	return 1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLetter reports whether c may begin a name; every byte above ASCII may.
func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}
