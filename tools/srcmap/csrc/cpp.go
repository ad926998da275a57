package csrc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Conditional is one #if ... #endif of a file, and the names in its
// conditions that the build says nothing about.
type Conditional struct {
	Line, End int
	Unknown   []Token
}

// branch is where Select stands in a conditional.
type branch struct {
	cond  *Conditional
	outer bool // the text around it is compiled
	taken bool // a branch before this one, or this one, is compiled
	on    bool // this branch is compiled
}

// Select returns the tokens that build compiles: what is left once the
// conditional directives have been obeyed. The other directives stay.
func Select(tokens []Token, build Build) ([]Token, []*Conditional, error) {
	var (
		active []Token
		conds  []*Conditional
		stack  []*branch
	)
	on := func() bool { return len(stack) == 0 || stack[len(stack)-1].on }

	for _, t := range tokens {
		if t.Kind == Directive && isConditional(t.Text) {
			if t.Text == "if" || t.Text == "ifdef" || t.Text == "ifndef" {
				c := &Conditional{Line: t.Line}
				conds = append(conds, c)
				stack = append(stack, &branch{cond: c, outer: on()})
			} else if len(stack) == 0 {
				return nil, nil, &Error{t.Line, fmt.Sprintf("#%s without an #if", t.Text)}
			}
			if err := stack[len(stack)-1].step(t, build); err != nil {
				return nil, nil, err
			}
			if t.Text == "endif" {
				stack = stack[:len(stack)-1]
			}
		} else if on() {
			active = append(active, t)
		}
	}
	if len(stack) != 0 {
		return nil, nil, &Error{stack[len(stack)-1].cond.Line, "#if without an #endif"}
	}
	return active, conds, nil
}

func isConditional(name string) bool {
	switch name {
	case "if", "ifdef", "ifndef", "elif", "else", "endif":
		return true
	}
	return false
}

// step moves b on past the directive t.
func (b *branch) step(t Token, build Build) error {
	switch t.Text {
	case "endif":
		b.cond.End = t.Line
		return nil
	case "else":
		b.on = b.outer && !b.taken
		b.taken = true
		return nil
	}
	b.on = false
	if !b.outer || b.taken {
		return nil
	}
	e := &expr{tokens: t.Args, build: build}
	value, err := e.condition(t.Text)
	if err != nil {
		return &Error{t.Line, fmt.Sprintf("#%s: %v", t.Text, err)}
	}
	b.cond.Unknown = append(b.cond.Unknown, e.unknown...)
	b.on, b.taken = value, value
	return nil
}

// expr evaluates the expression of an #if. As in C, a name that is not
// defined counts as 0; one that the build does not list is noted as well.
type expr struct {
	tokens  []Token
	build   Build
	unknown []Token
}

// condition evaluates the whole expression of the named directive.
func (e *expr) condition(directive string) (value bool, err error) {
	switch directive {
	case "ifdef":
		value, err = e.defined()
	case "ifndef":
		value, err = e.defined()
		value = !value
	default:
		var v int64
		v, err = e.ternary()
		value = v != 0
	}
	if err == nil && len(e.tokens) > 0 {
		err = fmt.Errorf("%q is one token too many", e.peek())
	}
	return value, err
}

func (e *expr) peek() string {
	if len(e.tokens) == 0 {
		return ""
	}
	return e.tokens[0].Text
}

func (e *expr) accept(text string) bool {
	if e.peek() != text || text == "" {
		return false
	}
	e.tokens = e.tokens[1:]
	return true
}

func (e *expr) expect(text string) error {
	if !e.accept(text) {
		return fmt.Errorf("%q where %q belongs", e.peek(), text)
	}
	return nil
}

func (e *expr) ternary() (int64, error) {
	v, err := e.binary(0)
	if err != nil || !e.accept("?") {
		return v, err
	}
	yes, err := e.ternary()
	if err != nil {
		return 0, err
	}
	if err := e.expect(":"); err != nil {
		return 0, err
	}
	no, err := e.ternary()
	if v != 0 {
		return yes, err
	}
	return no, err
}

// operator is a binary operator.
type operator struct {
	text string
	eval func(v, w int64) int64
}

// operators holds the binary operators by precedence, the weakest first.
var operators = [][]operator{
	{{"||", func(v, w int64) int64 { return truth(v != 0 || w != 0) }}},
	{{"&&", func(v, w int64) int64 { return truth(v != 0 && w != 0) }}},
	{{"|", func(v, w int64) int64 { return v | w }}},
	{{"^", func(v, w int64) int64 { return v ^ w }}},
	{{"&", func(v, w int64) int64 { return v & w }}},
	{
		{"==", func(v, w int64) int64 { return truth(v == w) }},
		{"!=", func(v, w int64) int64 { return truth(v != w) }},
	},
	{
		{"<", func(v, w int64) int64 { return truth(v < w) }},
		{">", func(v, w int64) int64 { return truth(v > w) }},
		{"<=", func(v, w int64) int64 { return truth(v <= w) }},
		{">=", func(v, w int64) int64 { return truth(v >= w) }},
	},
	{
		{"<<", func(v, w int64) int64 { return v << (w & 63) }},
		{">>", func(v, w int64) int64 { return v >> (w & 63) }},
	},
	{
		{"+", func(v, w int64) int64 { return v + w }},
		{"-", func(v, w int64) int64 { return v - w }},
	},
	{
		{"*", func(v, w int64) int64 { return v * w }},
		{"/", func(v, w int64) int64 { return v / w }},
		{"%", func(v, w int64) int64 { return v % w }},
	},
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// binary evaluates operators of the given level and of those that bind more.
func (e *expr) binary(level int) (int64, error) {
	if level == len(operators) {
		return e.unary()
	}
	v, err := e.binary(level + 1)
	for err == nil {
		i := slices.IndexFunc(operators[level], func(op operator) bool { return e.accept(op.text) })
		if i < 0 {
			break
		}
		op := operators[level][i]
		var w int64
		if w, err = e.binary(level + 1); err != nil {
			break
		}
		if w == 0 && (op.text == "/" || op.text == "%") {
			return 0, fmt.Errorf("division by zero")
		}
		v = op.eval(v, w)
	}
	return v, err
}

func (e *expr) unary() (int64, error) {
	op := e.peek()
	switch op {
	case "!", "-", "+", "~":
		e.tokens = e.tokens[1:]
	default:
		return e.primary()
	}
	v, err := e.unary()
	switch op {
	case "!":
		v = truth(v == 0)
	case "-":
		v = -v
	case "~":
		v = ^v
	}
	return v, err
}

func (e *expr) primary() (int64, error) {
	if e.accept("(") {
		v, err := e.ternary()
		if err != nil {
			return 0, err
		}
		return v, e.expect(")")
	}
	if e.accept("defined") {
		paren := e.accept("(")
		ok, err := e.defined()
		if err == nil && paren {
			err = e.expect(")")
		}
		return truth(ok), err
	}
	if len(e.tokens) == 0 {
		return 0, fmt.Errorf("it ends too early")
	}
	t := e.tokens[0]
	e.tokens = e.tokens[1:]
	switch t.Kind {
	case Number:
		v, err := strconv.ParseInt(strings.TrimRight(t.Text, "uUlL"), 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", t.Text)
		}
		return v, nil
	case Ident:
		if e.peek() == "(" {
			return 0, fmt.Errorf("%s is used like a function, which this evaluator cannot do", t.Text)
		}
		v, _, known := e.build.Lookup(t.Text)
		if !known {
			e.unknown = append(e.unknown, t)
		}
		return v, nil
	}
	return 0, fmt.Errorf("%q has no value", t.Text)
}

// defined takes a name off the input and reports whether it is defined.
func (e *expr) defined() (bool, error) {
	if len(e.tokens) == 0 || e.tokens[0].Kind != Ident {
		return false, fmt.Errorf("%q where a name belongs", e.peek())
	}
	t := e.tokens[0]
	e.tokens = e.tokens[1:]
	_, defined, known := e.build.Lookup(t.Text)
	if !known {
		e.unknown = append(e.unknown, t)
	}
	return defined, nil
}
