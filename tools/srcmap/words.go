package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// goTokens returns the tokens of Go source, a part of a statement perhaps.
func goTokens(src string) []string {
	var tokens []string
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return tokens
		case tok == token.SEMICOLON && text == "\n":
		case text != "":
			tokens = append(tokens, text)
		default:
			tokens = append(tokens, tok.String())
		}
	}
}

func cTokens(s *csrc.Stmt) []string {
	texts := make([]string, len(s.Tokens))
	for i, t := range s.Tokens {
		texts[i] = t.Text
	}
	return texts
}

// word matches the words in a name, split at capitals, digits and underscores.
var word = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+|[0-9]+`)

// words returns the set of words in tokens, in lower case, and of pairs that
// follow one another. What C and Go spell differently as a rule counts as the
// same word.
func words(tokens []string) map[string]bool {
	set := map[string]bool{}
	last := ""
	for _, t := range tokens {
		for _, w := range word.FindAllString(t, -1) {
			w = strings.ToLower(w)
			switch w {
			case "ngx", "t", "uint", "int", "core", "cycle":
				continue
			case "null":
				w = "nil"
			}
			set[w] = true
			set[last+" "+w] = true
			last = w
		}
	}
	return set
}

// likeness is the share of words that two sets have in common, 0 to 1.
func likeness(a, b map[string]bool) float64 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	if len(a)+len(b) == common {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// A family is a group of constants of which a statement uses one: if C and Go
// both do, it must be the same.
type family struct {
	name      string
	c, goText *regexp.Regexp
}

var families = []family{
	{"status", regexp.MustCompile(`^NGX_(OK|ERROR|AGAIN|BUSY|DONE|DECLINED|ABORT)$`),
		regexp.MustCompile(`^(OK|Error|Again|Busy|Done|Declined|Abort)$`)},
	{"log level", regexp.MustCompile(`^NGX_LOG_(\w+)$`), regexp.MustCompile(`^Log([A-Z]\w+)$`)},
	{"epoll constant", regexp.MustCompile(`^EPOLL(\w+)$`), regexp.MustCompile(`^EPOLL(\w+)$`)},
	{"errno", regexp.MustCompile(`^NGX_E([A-Z]+)$`), regexp.MustCompile(`^E([A-Z]+)$`)},
}

// members returns the constants among tokens that match pattern, as bare
// lower-case words, sorted.
func members(tokens []string, pattern *regexp.Regexp) []string {
	var list []string
	for _, t := range tokens {
		if m := pattern.FindStringSubmatch(t); m != nil {
			list = append(list, strings.ToLower(strings.ReplaceAll(m[1], "_", "")))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// disagree returns what a Go statement and the C statements it stands for
// name differently, or "".
func disagree(s *gutter.Stmt, cs []*csrc.Stmt) string {
	gos := goTokens(s.Text)
	var c []string
	for _, st := range cs {
		c = append(c, cTokens(st)...)
	}
	for _, f := range families {
		inC, inGo := members(c, f.c), members(gos, f.goText)
		if len(inC) > 0 && len(inGo) > 0 && !slices.Equal(inC, inGo) {
			return "the " + f.name + " is " + strings.Join(inC, ", ") + " in C, " + strings.Join(inGo, ", ") + " in Go"
		}
	}
	if a, b := truthOf(c), truthOf(gos); a != "" && b != "" && a != b {
		return "it sets " + a + " in C, " + b + " in Go"
	}
	return ""
}

// truthOf returns the truth value that an assignment assigns, or "".
func truthOf(tokens []string) string {
	n := len(tokens)
	if n < 3 || tokens[n-2] != "=" {
		return ""
	}
	switch tokens[n-1] {
	case "1", "true":
		return "true"
	case "0", "false":
		return "false"
	}
	return ""
}
