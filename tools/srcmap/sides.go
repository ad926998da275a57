package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// A row is a stretch of the C source beside the Go lines that stand for it.
// Either side may be empty.
type row struct {
	C, Go []sourceLine
	Links []int  // the C statements, by index; those of a Go line may be rows away
	Note  string // why a side is empty or is not as the other
}

// sourceLine is a line of a file.
type sourceLine struct {
	Number int
	Text   string
}

// A sheet is a C function and its Go mirror side by side.
type sheet struct {
	mi   *mirror
	rows []row

	cLines  []string
	goLines map[string][]string // by path
	next    int                 // the first C statement that is in no row yet
	walked  map[*gutter.Func]bool
}

// newSheet lays mi out, in the order in which C has it.
func newSheet(mi *mirror, t *tree) (*sheet, error) {
	sh := &sheet{mi: mi, cLines: t.lines[mi.ref.File], goLines: map[string][]string{}, walked: map[*gutter.Func]bool{}}
	for _, fn := range mi.gos {
		src, err := os.ReadFile(fn.Path)
		if err != nil {
			return nil, err
		}
		sh.goLines[fn.Path] = strings.Split(strings.ReplaceAll(string(src), "\t", "    "), "\n")
	}
	for _, fn := range mi.callersFirst() {
		if !sh.walked[fn] {
			sh.function(fn)
		}
	}
	sh.flush(len(mi.c.Stmts))
	return sh, nil
}

// function lays out fn, and in their places the functions that it calls.
func (sh *sheet) function(fn *gutter.Func) {
	sh.walked[fn] = true
	head := row{Go: sh.goText(fn, fn.Line, sh.start(fn, 0)), Note: diverges(fn.Diverges)}
	if len(sh.rows) == 0 {
		head.C = sh.cText(sh.mi.c.Line, sh.cStart(0))
	}
	sh.rows = append(sh.rows, head)
	for i := range fn.Stmts {
		s := &fn.Stmts[i]
		r := row{Go: sh.goText(fn, sh.start(fn, i), sh.start(fn, i+1)), Links: sh.mi.links[s]}
		if i == 0 || s.Diverges != fn.Stmts[i-1].Diverges {
			r.Note = diverges(s.Diverges)
		}
		if len(r.Links) > 0 && r.Links[0] >= sh.next {
			sh.flush(r.Links[0])
			sh.next = r.Links[0] + 1
			for slices.Contains(r.Links, sh.next) || sh.mi.isImplied(sh.next) {
				sh.next++
			}
			r.C = sh.cText(sh.cStart(r.Links[0]), sh.cStart(sh.next))
		}
		sh.rows = append(sh.rows, r)
		for _, h := range sh.mi.helpers(fn, s) {
			if !sh.walked[h] {
				sh.function(h)
			}
		}
	}
}

func diverges(reason string) string {
	if reason == "" {
		return ""
	}
	return "DIVERGES: " + reason
}

// start returns the first line of fn's statement i, with the comment above it,
// or the line after the function.
func (sh *sheet) start(fn *gutter.Func, i int) int {
	if i == len(fn.Stmts) {
		return fn.End + 1
	}
	line := fn.Stmts[i].Line
	lines := sh.goLines[fn.Path]
	for line > fn.Line+1 && strings.HasPrefix(strings.TrimSpace(lines[line-2]), "//") {
		line--
	}
	return line
}

// cStart returns the first line of C statement i, or the line after the
// function.
func (sh *sheet) cStart(i int) int {
	if i >= len(sh.mi.c.Stmts) {
		return sh.mi.c.End + 1
	}
	return sh.mi.c.Stmts[i].Line
}

// flush adds the C statements before end that have no row yet.
func (sh *sheet) flush(end int) {
	for ; sh.next < end; sh.next++ {
		r := row{C: sh.cText(sh.cStart(sh.next), sh.cStart(sh.next+1)), Links: []int{sh.next}}
		if o, ok := sh.mi.omitted[sh.next]; ok {
			r.Note = "omitted: " + o.Reason
		}
		if n := len(sh.rows) - 1; n >= 0 && sh.rows[n].Go == nil && sh.rows[n].Note == r.Note {
			sh.rows[n].C = append(sh.rows[n].C, r.C...)
			sh.rows[n].Links = append(sh.rows[n].Links, sh.next)
			continue
		}
		sh.rows = append(sh.rows, r)
	}
}

func (sh *sheet) cText(from, to int) []sourceLine {
	return text(sh.cLines, from, to)
}

// numbered matches the gutter at the end of a line. Side by side the numbers
// say nothing more, and a reason is the row's note.
var numbered = regexp.MustCompile(`(\S)\s*// (?:\d[\d, -]*)?(?:DIVERGES: .*)?$`)

func (sh *sheet) goText(fn *gutter.Func, from, to int) []sourceLine {
	list := text(sh.goLines[fn.Path], from, to)
	for i := range list {
		list[i].Text = numbered.ReplaceAllString(list[i].Text, "$1")
	}
	reason := false // in a comment that is the row's note
	return slices.DeleteFunc(list, func(l sourceLine) bool {
		comment := strings.HasPrefix(strings.TrimSpace(l.Text), "//")
		reason = comment && (reason || strings.HasPrefix(strings.TrimSpace(l.Text), "// DIVERGES:"))
		return reason
	})
}

// text returns lines from up to, but not with, to, without empty ones at the
// end.
func text(lines []string, from, to int) []sourceLine {
	var list []sourceLine
	for n := from; n < to && n <= len(lines); n++ {
		list = append(list, sourceLine{n, strings.TrimRight(strings.TrimSuffix(lines[n-1], "\\"), " \r")})
	}
	for len(list) > 0 && list[len(list)-1].Text == "" {
		list = list[:len(list)-1]
	}
	return list
}
