// Package gutter reads the Go side of the map: which functions mirror a C
// function, and which C lines each of their statements stands for.
//
// The doc comment of a mirrored function ends with directives:
//
//	//nginx:src/event/ngx_event.c ngx_handle_read_event
//	//nginx:omit 243 epoll is edge-triggered
//
// The first names a C file and a function or macro of it, and may set names
// for its #if lines (NGX_HAVE_ATOMIC_OPS=0). The second declares C lines, or
// a list of them, that have no Go twin, and why.
//
// A comment at the end of a statement's last line (of one with a body: at the
// end of the line with its brace) begins with the C lines it stands for:
//
//	cycle.AcceptDisabled-- // 223
//
// A line stands for the statement that begins there, a range 213-216 for all
// that begin in it; several are separated by commas. A word may follow.
// DIVERGES: and a reason, there or in the comment right above the statement,
// say that the statement is not as in C. If it has no number, that holds for
// its body as well, and after a comment above it for the statements that
// follow without an empty line, up to the first that has a number.
package gutter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Range is the C lines First to Last.
type Range struct{ First, Last int }

func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Contains reports whether line is in the range.
func (r Range) Contains(line int) bool { return r.First <= line && line <= r.Last }

// Format writes ranges as a gutter does.
func Format(ranges []Range) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = r.String()
	}
	return strings.Join(texts, ", ")
}

// numbers matches the lines that a gutter or an omit begins with.
var numbers = regexp.MustCompile(`^\d+(-\d+)?(, ?\d+(-\d+)?)*`)

// Lines is a list of C lines as it stands in a Go file.
type Lines struct {
	Ranges   []Range
	Pos, Len int // where the list is in the file, in bytes
}

// parseLines returns the lines that text, at byte pos of its file, begins
// with, and the rest of text.
func parseLines(text string, pos int) (lines Lines, rest string, err error) {
	list := numbers.FindString(text)
	rest = text[len(list):]
	if list == "" || rest != "" && rest[0] != ' ' {
		return lines, text, nil
	}
	lines.Pos, lines.Len = pos, len(list)
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a == 0 || a > b {
			return lines, "", fmt.Errorf("%q is no line or range of lines", part)
		}
		lines.Ranges = append(lines.Ranges, Range{a, b})
	}
	return lines, strings.TrimSpace(rest), nil
}

// Ref names a C function.
type Ref struct {
	File     string   // from the root of nginx's tree
	Func     string   // a function or macro in it
	Settings []string // NAME=VALUE, for the #if lines
}

func (r Ref) String() string {
	return strings.Join(append([]string{r.File, r.Func}, r.Settings...), " ")
}

// Omit declares C lines without a twin.
type Omit struct {
	Lines
	Line   int // of the directive
	Reason string
}

const prefix = "//nginx:"

// directive reads an //nginx: line of fn's doc comment, at byte pos of the
// file.
func (fn *Func) directive(line, pos int, text string) error {
	if rest, ok := strings.CutPrefix(text, prefix+"omit "); ok {
		lines, reason, err := parseLines(rest, pos+len(prefix+"omit "))
		if err == nil && (lines.Ranges == nil || reason == "") {
			err = fmt.Errorf("an omit is written %somit LINES REASON", prefix)
		}
		fn.Omits = append(fn.Omits, Omit{lines, line, reason})
		return err
	}
	fields := strings.Fields(strings.TrimPrefix(text, prefix))
	if len(fields) < 2 || fn.Ref.Func != "" {
		return fmt.Errorf("one directive is written %sFILE FUNCTION, the others %somit LINES REASON", prefix, prefix)
	}
	fn.Ref = Ref{File: fields[0], Func: fields[1], Settings: fields[2:]}
	return nil
}
