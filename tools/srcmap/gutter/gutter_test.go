package gutter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse reads a Go file made of body and fails the test on a syntax error.
func parse(t *testing.T, body string) *Code {
	t.Helper()
	code := &Code{Unnumbered: map[string]int{}}
	if err := code.Parse("x/x.go", []byte("package x\n\n"+body)); err != nil {
		t.Fatal(err)
	}
	return code
}

// outline writes a function's statements one a line: the line its gutter is
// on, nesting, kind, C lines, reason.
func outline(fn *Func) string {
	var b strings.Builder
	for i := range fn.Stmts {
		s := &fn.Stmts[i]
		depth := 0
		for at := s.Parent; at >= 0; at = fn.Stmts[at].Parent {
			depth++
		}
		fmt.Fprintf(&b, "%s%d", strings.Repeat("  ", depth), s.End)
		if s.Else {
			b.WriteString(" else")
		}
		fmt.Fprintf(&b, " %s", s.Kind)
		if s.Ranges != nil {
			fmt.Fprintf(&b, " // %s", Format(s.Ranges))
		}
		if s.Diverges != "" {
			fmt.Fprintf(&b, " DIVERGES: %s", s.Diverges)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestStatements(t *testing.T) {
	const doc = "// F is f.\n//\n//nginx:src/f.c ngx_f\n"
	for _, test := range []struct{ name, src, want string }{
		{"one of each kind", `func F() {
	a := 1 // 10
	var b int
	var c int // 11
	var (
		d = 2 // 12
		e int
	)
	a++      // 13, 14
	go f()   // 15-17
	defer f() // 18 why
	if a == 1 || // not here
		b == 2 { // 19
		return // 20
	} else if x := f(); x { // 21
		c = 3 // 22
	} else {
		d = 4 // 23
	}
	for i := range 3 { // 24
		if i == 0 { // 25
			continue // 26
		}
		break // 27
	}
	switch a { // 28
	case 1, 2: // 29
		f() // 30
		fallthrough
	default: // 31
	}
loop:
	for { // 32
		goto loop // 33
	}
}`, `7 plain // 10
9 plain // 11
11 plain // 12
14 plain // 13, 14
15 plain // 15-17
16 plain // 18
18 if // 19
  19 return // 20
  20 else if // 21
    21 plain // 22
    23 else plain // 23
25 for // 24
  26 if // 25
    27 continue // 26
  29 break // 27
31 switch // 28
  32 case // 29
    33 plain // 30
    34 fallthrough
  35 case // 31
38 for // 32
  39 goto // 33
`},
		{"a function on one line", "func F() int { return 1 } // 7", "6 return // 7\n"},
		{"a call over several lines", "func F() {\n\tf(1,\n\t\t2) // 7\n}", "8 plain // 7\n"},
		{"a literal's statements are the body of the one it is in", `func F() {
	f(func() { // not here
		g() // 8
	}) // 7
}`, "9 plain // 7\n  8 plain // 8\n"},
		{"a literal on one line is a part", "func F() {\n\tf(func() { g() }) // 7\n}", "7 plain // 7\n"},
		{"DIVERGES at the end", "func F() {\n\tf() // 7 DIVERGES: why not\n\tg() // DIVERGES: no\n\th()\n}",
			"7 plain // 7 DIVERGES: why not\n8 plain DIVERGES: no\n9 plain\n"},
		{"DIVERGES above, to the first number", `func F() {
	// Because, and
	// DIVERGES: for a
	// reason.
	f()
	g()
	h() // 7
	i()

	// DIVERGES: other.
	j() // 8
	k()
}`, `10 plain DIVERGES: for a reason.
11 plain DIVERGES: for a reason.
12 plain // 7
13 plain
16 plain // 8 DIVERGES: other.
17 plain
`},
		{"DIVERGES ends at an empty line", "func F() {\n\t// DIVERGES: a.\n\tf()\n\n\tg()\n}", "8 plain DIVERGES: a.\n10 plain\n"},
		{"what stands for nothing takes its body along", `func F() {
	if a { // DIVERGES: b
		f()
		g() // 7
	}
	if c { // 8 DIVERGES: d
		f()
	}
}`, `7 if DIVERGES: b
  8 plain DIVERGES: b
  9 plain // 7
11 if // 8 DIVERGES: d
  12 plain
`},
		{"a remark is no gutter", "func F() {\n\tf() // like 7\n\tg() // 7th\n}", "7 plain\n8 plain\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code := parse(t, doc+test.src)
			if len(code.Findings) > 0 || len(code.Funcs) != 1 {
				t.Fatalf("%d functions, findings %v", len(code.Funcs), code.Findings)
			}
			if diff := cmp.Diff(test.want, outline(code.Funcs[0])); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDirectives(t *testing.T) {
	code := parse(t, `// Lock is it. Mirrors
// ngx_lock.
//
// DIVERGES: in
// a way.
//
//nginx:src/core/l.c ngx_lock A=0 B=1
//nginx:omit 3-5, 9 no reason
func (l *Lock) Lock() { l.x() } // 2
`)
	if len(code.Findings) > 0 || len(code.Funcs) != 1 {
		t.Fatalf("%d functions, findings %v", len(code.Funcs), code.Findings)
	}
	fn := code.Funcs[0]
	got := fmt.Sprintf("%s %s %v %s %s", fn.Name, fn.Ref, fn.Omits[0].Ranges, fn.Omits[0].Reason, fn.Diverges)
	want := "(*Lock).Lock src/core/l.c ngx_lock A=0 B=1 [3-5 9] no reason in a way."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if calls := fn.Stmts[0].Calls; len(calls) != 1 || calls[0] != "x" {
		t.Errorf("calls %v, want x", calls)
	}
}

func TestFindings(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"a claim beside a numbered function", "//nginx:f.c ngx_f\nfunc F() { f() } // 1\n\n// G. Mirrors ngx_g.\nfunc G() {}",
			"x/x.go:7: G says that it mirrors a C function but has no directive //nginx:FILE FUNCTION"},
		{"another name in the comment", "// F. Mirrors ngx_g.\n//\n//nginx:f.c ngx_f\nfunc F() {}",
			"x/x.go:6: the comment says that F mirrors ngx_g, the directive says ngx_f"},
		{"an omit without a reason", "//nginx:f.c ngx_f\n//nginx:omit 3\nfunc F() {}",
			"x/x.go:4: an omit is written //nginx:omit LINES REASON"},
		{"an omit without lines", "//nginx:f.c ngx_f\n//nginx:omit win32\nfunc F() {}",
			"x/x.go:4: an omit is written //nginx:omit LINES REASON"},
		{"a directive without a function", "//nginx:f.c\nfunc F() {}",
			"x/x.go:3: one directive is written //nginx:FILE FUNCTION, the others //nginx:omit LINES REASON"},
		{"a range that runs backwards", "//nginx:f.c ngx_f\nfunc F() { f() } // 3-2",
			`x/x.go:4: "3-2" is no line or range of lines`},
	} {
		t.Run(test.name, func(t *testing.T) {
			code := parse(t, test.src)
			if len(code.Findings) == 0 || code.Findings[0].String() != test.want {
				t.Errorf("got  %v\nwant %s", code.Findings, test.want)
			}
		})
	}
}

func TestClaimsWithoutNumbersAreCounted(t *testing.T) {
	code := parse(t, "// F. Mirrors ngx_f.\nfunc F() {}\n\n// G. Mirrors ngx_g.\nfunc G() {}\n\n// H is its own.\nfunc H() {}")
	if len(code.Findings) > 0 || code.Unnumbered["x"] != 2 {
		t.Errorf("findings %v, %d functions in x, want none and 2", code.Findings, code.Unnumbered["x"])
	}
}
