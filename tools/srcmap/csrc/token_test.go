package csrc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// flat writes tokens one a word, directives in brackets.
func flat(tokens []Token) string {
	var words []string
	for _, t := range tokens {
		if t.Kind == Directive {
			words = append(words, fmt.Sprintf("%d[%s]", t.Line, strings.TrimSpace(t.Text+" "+flat(t.Args))))
			continue
		}
		words = append(words, fmt.Sprintf("%d:%s", t.Line, t.Text))
	}
	return strings.Join(words, " ")
}

func TestTokenize(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"names and operators", "a->b <<= c&&d;", "1:a 1:-> 1:b 1:<<= 1:c 1:&& 1:d 1:;"},
		{"the longest operator wins", "i+++j ... a-->b", "1:i 1:++ 1:+ 1:j 1:... 1:a 1:-- 1:> 1:b"},
		{"numbers", "0x1fUL 1.5e-3 .5 7", "1:0x1fUL 1:1.5e-3 1:.5 1:7"},
		{"a comment is a blank", "a/* x\n * y */b // c\nd", "1:a 2:b 3:d"},
		{"no comment in a string", `f("/* \" // */", '"', '\'');`, `1:f 1:( 1:"/* \" // */" 1:, 1:'"' 1:, 1:'\'' 1:) 1:;`},
		{"a continued line", "a\\\nb c \\\n d", "1:ab 2:c 3:d"},
		{"a continued line of Windows", "a \\\r\n b", "1:a 2:b"},
		{"a comment goes on over a continuation", "a // b \\\n c\nd", "1:a 3:d"},
		{"a directive and its lines", "#define f(x) \\\n  x + 1\ny", "1[define 1:f 1:( 1:x 1:) 2:x 2:+ 2:1] 3:y"},
		{"blanks around the #", "  # if A /* b */ && C\n#endif", "1[if 1:A 1:&& 1:C] 2[endif]"},
		{"a # inside of a line is none", "a # b", "1:a 1:# 1:b"},
		{"what is no C is not read", "#error it's broken\n#include <a\"b.h>\na", "1[error] 2[include] 3:a"},
		{"nothing", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tokens, err := Tokenize([]byte(test.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, flat(tokens)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestTokenizeErrors(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"a\n/* b", "line 2: comment without an end"},
		{"a\nb \"c\nd\"", `line 2: " without its second "`},
		{"'a", "line 1: ' without its second '"},
		{`"a\`, `line 1: " without its second "`},
	} {
		_, err := Tokenize([]byte(test.src))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.src, err, test.want)
		}
	}
}

// FuzzTokenize holds the tokenizer to what any source must give: tokens in
// order, none empty, and the same ones again from their own text.
func FuzzTokenize(f *testing.F) {
	f.Fuzz(func(t *testing.T, src []byte) {
		tokens, err := Tokenize(src)
		if err != nil {
			return
		}
		var text strings.Builder
		line := 1
		for _, tok := range tokens {
			if tok.Line < line {
				t.Fatalf("token %q of line %d comes after line %d", tok.Text, tok.Line, line)
			}
			line = tok.Line
			if tok.Kind == Directive {
				return // its end is not in its text
			}
			if tok.Text == "" {
				t.Fatalf("line %d: a token without text", tok.Line)
			}
			text.WriteString(tok.Text)
			text.WriteByte(' ')
		}
		again, err := Tokenize([]byte(" ; " + text.String()))
		if err != nil {
			t.Fatalf("%q, from %q: %v", text.String(), src, err)
		}
		if len(again) != len(tokens)+1 {
			t.Fatalf("%d tokens, but %d from %q", len(tokens), len(again)-1, text.String())
		}
		for i, tok := range tokens {
			if got := again[i+1]; got.Text != tok.Text || got.Kind != tok.Kind {
				t.Fatalf("token %d: %q, then %q", i, tok.Text, got.Text)
			}
		}
	})
}
