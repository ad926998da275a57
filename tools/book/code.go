package main

import (
	"html"
	"regexp"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// gutterTag begins each line that has a gutter.
const gutterTag = `<span class="n">`

// highlight renders code. The gutter, if there is one, holds what stands
// before each line: its number, or the C lines that it stands for.
func highlight(language, code string, gutter []string) string {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	it, err := chroma.Coalesce(lexer).Tokenise(nil, code)
	if err != nil {
		return html.EscapeString(code)
	}
	var b strings.Builder
	for i, line := range chroma.SplitTokensIntoLines(it.Tokens()) {
		if i < len(gutter) {
			b.WriteString(gutterTag + gutter[i] + "</span>")
		}
		for _, t := range line {
			text := html.EscapeString(t.Value)
			if class := tokenClass(t.Type); class != "" {
				text = `<span class="` + class + `">` + text + `</span>`
			}
			b.WriteString(text)
		}
	}
	return b.String()
}

// tokenClass is the style of a token; most have none.
func tokenClass(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "com"
	case t.InCategory(chroma.Keyword):
		return "kw"
	case t.InSubCategory(chroma.LiteralString):
		return "str"
	case t.InSubCategory(chroma.LiteralNumber):
		return "num"
	case t == chroma.NameFunction:
		return "fn"
	}
	return ""
}

// gutterComment matches the C lines at the end of a line of mirrored code.
var gutterComment = regexp.MustCompile(`[ \t]*// (\d+(?:-\d+)?(?:, ?\d+(?:-\d+)?)*)(?:$|( .*))`)

// liftGutter takes the C lines off the ends of the lines of mirrored code, and
// returns them apart.
func liftGutter(lines []string) (code string, gutter []string) {
	var b strings.Builder
	for _, line := range lines {
		n := ""
		if m := gutterComment.FindStringSubmatchIndex(line); m != nil && strings.TrimSpace(line[:m[0]]) != "" {
			n = line[m[2]:m[3]]
			rest := ""
			if m[4] >= 0 {
				rest = " //" + line[m[4]:m[5]]
			}
			line = line[:m[0]] + rest
		}
		gutter = append(gutter, n)
		b.WriteString(line + "\n")
	}
	return b.String(), gutter
}

// dedent takes off the tabs that all lines begin with.
func dedent(lines []string) []string {
	least := -1
	for _, line := range lines {
		if t := strings.TrimLeft(line, "\t"); t != "" && (least < 0 || len(line)-len(t) < least) {
			least = len(line) - len(t)
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(least, 0), len(line)):]
	}
	return out
}

// codeBlock wraps highlighted code with a line about where it comes from.
func codeBlock(caption, code string) string {
	if caption != "" {
		caption = "<figcaption>" + caption + "</figcaption>\n"
	}
	class := ""
	if strings.HasPrefix(code, gutterTag) {
		class = ` class="numbered"`
	}
	return "<figure class=\"code\">\n" + caption + "<pre" + class + " tabindex=\"0\"><code>" + code + "</code></pre>\n</figure>\n"
}
