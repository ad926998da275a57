package main

import (
	"errors"
	"fmt"
	"go/ast"
	"html"
	"path"
	"regexp"
	"strconv"
	"strings"

	"herd/tools/srcmap/gutter"
)

// span matches an argument FIRST-LAST.
var span = regexp.MustCompile(`^(\d+)-(\d+)$`)

// cutSpan takes a span off the end of args; it is 0 if there is none.
func cutSpan(args []string) (rest []string, lines gutter.Range) {
	if n := len(args); n > 0 {
		if m := span.FindStringSubmatch(args[n-1]); m != nil {
			lines.First, _ = strconv.Atoi(m[1])
			lines.Last, _ = strconv.Atoi(m[2])
			return args[:n-1], lines
		}
	}
	return args, lines
}

// twin renders {{twin C_NAME [GO_NAME] [FIRST-LAST]}}.
func (r *renderer) twin(args []string) (string, error) {
	args, lines := cutSpan(args)
	if len(args) < 1 || len(args) > 2 {
		return "", errors.New("write {{twin C_NAME}}, {{twin C_NAME GO_NAME}}, or either with FIRST-LAST behind")
	}
	m, err := r.b.mirror(args[0], strings.Join(args[1:], ""))
	if err != nil {
		return "", err
	}
	c, err := r.b.c.find(strings.TrimSpace(args[0] + " " + m.settings))
	if err != nil {
		return "", err
	}
	if lines.Last == 0 {
		lines = m.lines
	} else {
		c.lines = lines
		if lines, err = r.b.statements(m, lines); err != nil {
			return "", err
		}
	}
	caption := fmt.Sprintf(`<span>C: <a href="%s">%s</a>, <code>%s</code>, %s of nginx %s</span>`,
		r.b.c.url(c), c.file, args[0], c.where(), r.b.c.release)
	more := ""
	if m.fn != nil {
		more = command("side by side", "go run ./tools/srcmap show "+args[0])
	}
	r.p.has.twin++
	return r.goLines(caption, m.path, lines, m.name, more)
}

// plainName makes "Type.Method" of "(*Type).Method".
func plainName(name string) string {
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}

// place says where Go code stands.
func (r *renderer) place(file string, line int, name string) string {
	if name != "" {
		name = ", <code>" + html.EscapeString(name) + "</code>"
	}
	return fmt.Sprintf(`<span>Go: <a href="%s#L%d">%s</a>%s</span>`, r.p.href(r.b.sourcePage(file)), line, file, name)
}

// command shows a command, and what it is for.
func command(what, text string) string {
	return `<span>` + what + `: <code>` + words(text) + `</code></span>`
}

// longWord is what hardly fits a line of a phone.
const longWord = 32

// words makes a command line break between its words only, but for a word that
// needs a line to itself: what follows that would begin another line.
func words(text string) string {
	list := strings.Fields(text)
	for i, word := range list {
		list[i] = html.EscapeString(word)
		if len(word) < longWord {
			list[i] = `<span class="w">` + list[i] + `</span>`
		}
	}
	return strings.Join(list, " ")
}

// testCommand says how to run d, if it is a test.
func testCommand(d decl) string {
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok || !isTest(d.path, fn.Name.Name) {
		return ""
	}
	return command("run it", fmt.Sprintf("go test ./%s -run '^%s$'", path.Dir(d.path), fn.Name.Name))
}

func isTest(file, name string) bool {
	return strings.HasSuffix(file, "_test.go") && strings.HasPrefix(name, "Test")
}

// golang renders {{go PACKAGE NAME [doc]}}.
func (r *renderer) golang(args []string) (string, error) {
	doc := len(args) == 3 && args[2] == "doc"
	if len(args) != 2 && !doc {
		return "", errors.New("write {{go PACKAGE NAME}}, such as {{go nginxref/event Cycle.FindTimer}}, or with doc behind")
	}
	d, err := r.b.goName(args[0], args[1])
	if err != nil {
		return "", err
	}
	lines := gutter.Range{First: d.first, Last: d.last}
	if doc {
		lines.First = d.doc
	}
	return r.goLines("", d.path, lines, args[1], testCommand(d))
}

// goLines renders lines of a Go file. Above them it says where they are, and
// what is to be said before and after that.
func (r *renderer) goLines(before, file string, lines gutter.Range, name, after string) (string, error) {
	text, err := r.b.lines(file, lines.First, lines.Last)
	if err != nil {
		return "", err
	}
	code, left := liftGutter(dedent(text))
	if strings.Join(left, "") == "" {
		left = nil
	}
	return codeBlock(before+r.place(file, lines.First, name)+after, highlight("go", code, left)), nil
}

// region renders {{region FILE NAME}}.
func (r *renderer) region(args []string) (string, error) {
	if len(args) != 2 {
		return "", errors.New("write {{region FILE NAME}}")
	}
	reg := r.b.regions[args[0]+" "+args[1]]
	if reg == nil {
		return "", fmt.Errorf("%s has no region %s: mark it by // %s%s and // %s", args[0], args[1], mark, args[1], regionEnd)
	}
	reg.used = true
	return r.goLines("", reg.path, gutter.Range{First: reg.first, Last: reg.last}, "", "")
}

// topology renders {{topology PACKAGE TestName}}: the drawing in the test's
// comment.
func (r *renderer) topology(args []string) (string, error) {
	if len(args) != 2 {
		return "", errors.New("write {{topology PACKAGE TestName}}")
	}
	d, err := r.b.goName(args[0], args[1])
	if err != nil {
		return "", err
	}
	var drawing []string
	for line := range strings.Lines(d.text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "\t") || line == "" && len(drawing) > 0 {
			drawing = append(drawing, strings.TrimPrefix(line, "\t"))
		}
	}
	text := strings.TrimRight(strings.Join(drawing, "\n"), "\n ")
	if text == "" {
		return "", fmt.Errorf("the comment of %s has no drawing: indent it there by a tab", args[1])
	}
	return codeBlock(r.place(d.path, d.first, args[1])+testCommand(d), html.EscapeString(text)), nil
}

// output renders {{output RUN [FIRST-LAST]}}.
func (r *renderer) output(args []string) (string, error) {
	args, lines := cutSpan(args)
	if len(args) != 1 {
		return "", errors.New("write {{output RUN}} or {{output RUN FIRST-LAST}}")
	}
	run, err := r.b.run(args[0])
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(run.output, "\n")
	if lines.Last > 0 {
		all := strings.Split(text, "\n")
		if lines.First < 1 || lines.Last < lines.First || lines.Last > len(all) {
			return "", fmt.Errorf("%s printed %d lines: there are no lines %s", args[0], len(all), lines)
		}
		text = strings.Join(all[lines.First-1:lines.Last], "\n")
	}
	r.p.has.run++
	return codeBlock(r.ran(run), html.EscapeString(text)), nil
}

// ran says which command was run.
func (r *renderer) ran(run *run) string {
	return fmt.Sprintf(`%s<span><a href="%s">the whole run</a></span>`,
		command("printed by", run.command), r.p.href(r.b.runPage(run)))
}
