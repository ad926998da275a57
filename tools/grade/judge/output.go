package judge

import (
	"regexp"
	"strings"
	"unicode"
)

// How much of what a program printed is kept.
const (
	deathLines   = 20
	printedLines = 30
)

// where says at which lines of the student's files the stacks in output are.
func (g *grading) where(output string) string {
	list := g.lab.Where(output)
	var b strings.Builder
	for _, at := range list[:min(len(list), 5)] {
		b.WriteString("\n  at " + at)
	}
	return b.String()
}

// lastWords begins what a Go program says when it dies.
var lastWords = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: |SIGQUIT: |--- FAIL: TestLab)`)

// death returns the first lines of what a dying program said.
func death(output string) string {
	at := lastWords.FindStringIndex(output)
	if at == nil {
		return ""
	}
	lines := strings.SplitN(output[at[0]:], "\n", deathLines+1)
	return "\n" + strings.Join(lines[:min(len(lines), deathLines)], "\n")
}

// printed returns the last lines that the code printed, without what the test
// or the runtime say at the end.
func printed(output string) string {
	if at := lastWords.FindStringIndex(output); at != nil {
		output = output[:at[0]]
	}
	output = strings.TrimSuffix(strings.TrimSpace(output), "PASS")
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-printedLines):], "\n")
}

// clean drops what could take hold of a terminal or break a file format.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
