package csrc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testBuild = newBuild("ONE NGX_DEBUG", "ZERO", "NONE")

func TestSelect(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"if", "#if (ONE)\na\n#endif\n#if (NONE)\nb\n#endif", "2:a"},
		{"else", "#if NONE\na\n#else\nb\n#endif", "4:b"},
		{"the first true branch is taken", "#if NONE\na\n#elif ONE\nb\n#elif ONE\nc\n#else\nd\n#endif", "4:b"},
		{"nested in what is left out", "#if 0\n#if ONE\na\n#else\nb\n#endif\n#else\nc\n#endif", "8:c"},
		{"ifdef and ifndef", "#ifdef ZERO\na\n#endif\n#ifndef ONE\nb\n#endif\n#ifndef NONE\nc\n#endif", "2:a 8:c"},
		{"an else-if chain cut by a condition",
			"if (x) {\na;\n#if NONE\n} else if (y) {\nb;\n#endif\n}",
			"1:if 1:( 1:x 1:) 1:{ 2:a 2:; 7:}"},
		{"a guard of a header", "#ifndef _NGX_X_H_INCLUDED_\na\n#endif", "2:a"},
		{"other directives stay", "#define A\n#if 0\n#define B\n#endif", "1[define 1:A]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tokens, err := Tokenize([]byte(test.src))
			if err != nil {
				t.Fatal(err)
			}
			active, _, err := Select(tokens, testBuild)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, flat(active)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for _, test := range []struct {
		expr string
		want bool
	}{
		{"1", true}, {"0", false}, {"ONE", true}, {"ZERO", false}, {"NONE", false},
		{"!NONE", true}, {"!(NONE)", true}, {"-1 < 0", true}, {"~0 == -1", true}, {"+1", true},
		{"defined ONE", true}, {"defined(ZERO)", true}, {"defined NONE", false},
		{"ONE && defined NONE", false}, {"NONE || ONE", true},
		{"1 + 2 * 3 == 7", true}, {"(1 + 2) * 3 == 9", true}, {"7 / 2 == 3 && 7 % 2 == 1", true},
		{"1 << 4 == 16", true}, {"256 >> 4 == 16", true}, {"6 - 2 - 1 == 3", true},
		{"0x10 == 16 && 010 == 8 && 10UL == 10", true},
		{"2 >= 2 && 2 <= 2 && 3 > 2 && 2 != 3", true},
		{"(6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5", true},
		{"ZERO != 0|0", false}, // != binds more than |
		{"NONE ? 0 : 1", true}, {"ONE ? 0 : 1", false},
	} {
		tokens, err := Tokenize([]byte("#if " + test.expr + "\nyes\n#endif"))
		if err != nil {
			t.Fatal(err)
		}
		active, _, err := Select(tokens, testBuild)
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
		} else if got := len(active) == 1; got != test.want {
			t.Errorf("%s is %v, want %v", test.expr, got, test.want)
		}
	}
}

func TestSelectErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"#endif", "line 1: #endif without an #if"},
		{"a\n#if ONE", "line 2: #if without an #endif"},
		{"#if\n#endif", "line 1: #if: it ends too early"},
		{"#if (ONE\n#endif", `line 1: #if: "" where ")" belongs`},
		{"#if 1 / ZERO\n#endif", "line 1: #if: division by zero"},
		{"#if 1 2\n#endif", `line 1: #if: "2" is one token too many`},
		{"#if ONE(2)\n#endif", "line 1: #if: ONE is used like a function, which this evaluator cannot do"},
		{"#if 1.5\n#endif", `line 1: #if: "1.5" is not a whole number`},
		{"#if \"a\"\n#endif", `line 1: #if: "\"a\"" has no value`},
		{"#ifdef 1\n#endif", `line 1: #ifdef: "1" where a name belongs`},
		{"#if ONE ? 1\n#endif", `line 1: #if: "" where ":" belongs`},
	} {
		tokens, err := Tokenize([]byte(test.src))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Select(tokens, testBuild)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.src, err, test.want)
		}
	}
}

func TestUnknownNamesAreRefusedWhereTheyDecide(t *testing.T) {
	src := `
#if (NGX_ELSEWHERE)
int x;
#endif
int f(void)
{
#if (NGX_MYSTERY)
    a;
#endif
}
int g(void)
{
    b;
}`
	file, err := Parse([]byte(src), testBuild)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Func("f"); err == nil || !strings.HasPrefix(err.Error(), "line 7: an #if asks for NGX_MYSTERY") {
		t.Errorf("f: %v, want a complaint about NGX_MYSTERY", err)
	}
	if _, err := file.Func("g"); err != nil {
		t.Errorf("g, which no unknown name touches: %v", err)
	}
}

func TestSettingsOverrideTheBuild(t *testing.T) {
	build, err := testBuild.With("ONE=0", "NONE=3")
	if err != nil {
		t.Fatal(err)
	}
	if _, defined, known := build.Lookup("ONE"); defined || !known {
		t.Error("ONE=0 leaves ONE defined or unknown")
	}
	if v, defined, _ := build.Lookup("NONE"); v != 3 || !defined {
		t.Errorf("NONE=3 makes it %d", v)
	}
	if _, defined, _ := testBuild.Lookup("ONE"); !defined {
		t.Error("With changed the build that it was called on")
	}
	if _, err := testBuild.With("ONE"); err == nil {
		t.Error("a setting without a value is accepted")
	}
}
