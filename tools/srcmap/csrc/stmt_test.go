package csrc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline writes statements one a line: line, nesting, text.
func outline(stmts []Stmt) string {
	var b strings.Builder
	for _, s := range stmts {
		depth := 0
		for at := s.Parent; at >= 0; at = stmts[at].Parent {
			depth++
		}
		lines := fmt.Sprint(s.Line)
		if s.End != s.Line {
			lines += fmt.Sprintf("-%d", s.End)
		}
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), lines)
		if s.Else {
			b.WriteString(" else")
		}
		if s.Falls {
			b.WriteString(" falls")
		}
		if s.Implied {
			b.WriteString(" implied")
		}
		fmt.Fprintf(&b, " %s: %s\n", s.Kind, s.Text())
	}
	return b.String()
}

func TestSplit(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"expressions, declarations", `
	int          a, *b;
	ngx_foo_t  **p;
	struct s { int x; } y;
	static int   c = 1;
	ngx_bar_t    d[] = { 1, 2 };
	void       (*fn)(int);
	a = b * c;
	(void) f(a,
	         b);
	;
	*b = 1;`,
			`5 declaration: static int c = 1
6 declaration: ngx_bar_t d [ ] = { 1 , 2 }
8 expression: a = b * c
9-10 expression: ( void ) f ( a , b )
12 expression: * b = 1
`},
		{"if and else", `
	if (a
	    && b)
	{
		c;

	} else if (d) {
		e;
	} else
		f;
	g;`,
			`2-3 if: if ( a && b )
  5 expression: c
  7 else if: if ( d )
    8 expression: e
    10 else expression: f
11 expression: g
`},
		{"loops", `
	for ( ;; ) {
		if (a) {
			break;
		}
		continue;
	}
	while (b--) /* void */ ;
	do {
		c;
	} while (d);
	for (i = 0; i < n; i++) e;`,
			`2 for: for ( ; ; )
  3 if: if ( a )
    4 break: break
  6 continue: continue
8 while: while ( b -- )
9 do: do
  10 expression: c
  11 do's while: while ( d )
12 for: for ( i = 0 ; i < n ; i ++ )
  12 expression: e
`},
		{"switch", `
	switch (a) {
	case f(1): case 2:
	case B ? 3 : 4:
		b;
		/* fall through */
	case 5:
		if (c) {
			break;
		}
		return 1;
	case 6:
		break;
	default:
		d;
	}
	e;`,
			`2 switch: switch ( a )
  3-4 falls case: case f ( 1 ) : case 2 : case B ? 3 : 4 :
    5 expression: b
  7 case: case 5 :
    8 if: if ( c )
      9 break: break
    11 return: return 1
  12 case: case 6 :
    13 implied break: break
  14 case: default :
    15 expression: d
17 expression: e
`},
		{"goto and a bare block", `
	{
		ngx_str_t  s;
		goto failed;
	}
failed:
	return;`,
			`4 goto: goto failed
6 implied label: failed :
7 return: return
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tokens, err := Tokenize([]byte(test.src))
			if err != nil {
				t.Fatal(err)
			}
			stmts, err := split(tokens)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outline(stmts)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestSplitErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"if a;", "line 1: if without a ("},
		{"if (a", `line 1: "(" is never closed`},
		{"f(a]);", `line 1: "]" where ")" belongs`},
		{"a)", `line 1: ")" where the statement of line 1 should end with a semicolon`},
		{"{ a;", `line 1: no "}" to go with this line`},
		{"a; }", "line 1: } without a {"},
		{"do { a; }", "line 1: do without a while"},
		{"case 1: a;", "line 1: case outside of the block of a switch"},
		{"switch (a) { case 1 }", "line 1: case without a colon"},
		{"each(x) { a; }", "line 1: a block after an expression (a macro that loops?), which the splitter cannot place"},
		{"if (a)", "line 1: nothing follows where a statement belongs"},
	} {
		tokens, err := Tokenize([]byte(test.src))
		if err != nil {
			t.Fatal(err)
		}
		_, err = split(tokens)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.src, err, test.want)
		}
	}
}

func TestFunc(t *testing.T) {
	src := `
#define f(x)      \
    (x)->a = 1;   \
    (x)->b = 2

#define g  f
#define h (1)

static int fn(int a);

static int
fn(int a)
{
    if (call(a)) {
        return f(a);
    }
#if (NGX_DEBUG)
    log(a);
#else
    a = 0;
#endif
    return 0;
}
`
	file, err := Parse([]byte(src), testBuild)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, want string }{
		{"f", "2-4\n3 expression: ( x ) -> a = 1\n4 expression: ( x ) -> b = 2\n"},
		{"fn", "12-23\n14 if: if ( call ( a ) )\n  15 return: return f ( a )\n18 expression: log ( a )\n22 return: return 0\n"},
		{"g", ""}, {"h", ""}, {"call", ""}, {"missing", ""},
	} {
		fn, err := file.Func(test.name)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := ""
		if fn != nil {
			got = fmt.Sprintf("%d-%d\n%s", fn.Line, fn.End, outline(fn.Stmts))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestHashIgnoresLayoutAndComments(t *testing.T) {
	hash := func(src string) string {
		tokens, err := Tokenize([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		stmts, err := split(tokens)
		if err != nil {
			t.Fatal(err)
		}
		return stmts[0].Hash()
	}
	if hash("a = f(b, c);") != hash("a=f(b, /* x */\n  c) ;") {
		t.Error("the layout changes the hash")
	}
	if hash("a = f(b, c);") == hash("a = f(c, b);") {
		t.Error("two texts have one hash")
	}
}

// FuzzFunc holds the splitter to what any function must give: statements in
// order, inside of the function, each nested in an earlier one.
func FuzzFunc(f *testing.F) {
	f.Fuzz(func(t *testing.T, body string) {
		file, err := Parse([]byte("int f(void)\n{\n"+body+"\n}\n"), testBuild)
		if err != nil {
			return
		}
		fn, err := file.Func("f")
		if fn == nil || err != nil {
			return
		}
		line := fn.Line
		for i, s := range fn.Stmts {
			if s.Line < line || s.End < s.Line || s.End > fn.End {
				t.Fatalf("statement %d of lines %d-%d, after line %d and in a function that ends at %d",
					i, s.Line, s.End, line, fn.End)
			}
			line = s.Line
			if s.Parent >= i {
				t.Fatalf("statement %d is nested in %d", i, s.Parent)
			}
		}
	})
}
