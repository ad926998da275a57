package main

import (
	"fmt"
	"html"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// link renders a link: to a run's number, a Go name, a C name, another page
// or a place outside.
func (r *renderer) link(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		w.WriteString("</a>")
		return ast.WalkContinue, nil
	}
	dest := string(n.(*ast.Link).Destination)
	if unescaped, err := url.PathUnescape(dest); err == nil {
		dest = unescaped
	}
	href, class, title, err := r.resolve(dest, plainText(n, src))
	if err != nil {
		r.report(n, "%v", err)
	}
	attrs := `href="` + html.EscapeString(href) + `"`
	if class != "" {
		attrs += ` class="` + class + `"`
	}
	if title != "" {
		attrs += ` title="` + html.EscapeString(title) + `"`
	}
	return tag(w, true, "a", attrs)
}

// resolve says where a link with the given text leads.
func (r *renderer) resolve(dest, text string) (href, class, title string, err error) {
	scheme, rest, _ := strings.Cut(dest, ":")
	switch scheme {
	case "https", "http", "mailto":
		return dest, "", "", nil
	case "run":
		href, title, err = r.resolveRun(rest, text)
		return href, "number", title, err
	case "go":
		href, title, err = r.resolveGo(rest)
		if !strings.Contains(text, " ") { // it is the name, not words about it
			class = "name"
		}
		return href, class, title, err
	case "c":
		c, err := r.b.c.find(rest)
		return r.b.c.url(c), "name", c.file + ", " + c.where(), err
	}
	href, err = r.resolveFile(dest)
	return href, "", "", err
}

// resolveRun is a number: NAME.json/PATH or NAME.txt/LABEL.
func (r *renderer) resolveRun(dest, text string) (href, title string, err error) {
	name, at, _ := strings.Cut(dest, "/")
	run, err := r.b.run(name)
	if err != nil {
		return "", "", err
	}
	return r.p.href(r.b.runPage(run)), run.command, run.holds(at, text)
}

// resolveGo is PACKAGE.NAME.
func (r *renderer) resolveGo(dest string) (href, title string, err error) {
	slash := strings.LastIndexByte(dest, '/') + 1
	last, name, ok := strings.Cut(dest[slash:], ".")
	if !ok {
		return "", "", fmt.Errorf("go:%s is no Go name: write go:nginxref/event.Cycle", dest)
	}
	d, err := r.b.goName(dest[:slash]+last, name)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s#L%d", r.p.href(r.b.sourcePage(d.path)), d.first), d.path, nil
}

// resolveFile is a path from the page to another one, or to a file that is
// then published too.
func (r *renderer) resolveFile(dest string) (string, error) {
	file, anchor, hasAnchor := strings.Cut(dest, "#")
	if hasAnchor {
		anchor = "#" + anchor
	}
	target := path.Join(path.Dir(r.p.source), file)
	if file == "" {
		target = r.p.source
	}
	p := r.b.bySource[target]
	if p == nil {
		p = r.b.bySource[path.Join(target, "README.md")]
	}
	switch {
	case p != nil && hasAnchor && !p.ids[anchor[1:]]:
		return "", fmt.Errorf("%s has no heading %s; there are %s", target, anchor, strings.Join(sortedKeys(p.ids), ", "))
	case p != nil && p == r.p:
		return anchor, nil
	case p != nil:
		r.p.links[p.source] = true
		return r.p.href(p.path) + anchor, nil
	case !r.b.exists(target) || strings.HasPrefix(target, "../"):
		return "", fmt.Errorf("dead link: there is no %s", target)
	}
	if _, err := r.b.lines(target, 1, 0); err != nil {
		return "", fmt.Errorf("%s is no page and no file that can be shown; name it between backquotes instead", target)
	}
	return r.p.href(r.b.sourcePage(target)), nil
}

var (
	cWord    = regexp.MustCompile(`^(ngx_\w+)(\(\))?$`)
	cFile    = regexp.MustCompile(`^src/[\w/]+\.[ch]$`)
	treePath = regexp.MustCompile(`^(?:\./)?(?:nginxref|labs|solutions|tools|chapters)(?:/[\w.-]+)*/?$`)
	labName  = regexp.MustCompile(`^lab\d\d-[a-z0-9]+$`)
)

// codeSpan checks what stands between backquotes, and links what it names.
func (r *renderer) codeSpan(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	text := plainText(n, src)
	href, err := r.nameOf(text)
	if err != nil {
		r.report(n, "%v", err)
	}
	code := "<code>" + html.EscapeString(text) + "</code>"
	if goCommand.MatchString(text) {
		code = "<code>" + words(text) + "</code>"
	}
	if href != "" && n.Parent().Kind() != ast.KindLink {
		code = `<a href="` + html.EscapeString(href) + `">` + code + `</a>`
	}
	w.WriteString(code)
	return ast.WalkSkipChildren, nil
}

// nameOf returns where a name leads; "" if it is nothing that can be led to.
func (r *renderer) nameOf(text string) (href string, err error) {
	if m := cWord.FindStringSubmatch(text); m != nil {
		c, err := r.b.c.find(m[1])
		if err != nil {
			return "", err
		}
		return r.b.c.url(c), nil
	}
	if cFile.MatchString(text) && !r.b.c.files[text] {
		return "", fmt.Errorf("no C file %s in %s or %s; correct it, or add a line FILE FIRST-LAST NAME to the latter", text, mapPath, namesPath)
	}
	if treePath.MatchString(text) {
		return r.treeFile(strings.Trim(strings.TrimPrefix(text, "./"), "/"))
	}
	if labName.MatchString(text) {
		return r.treeFile("labs/" + text)
	}
	return "", r.b.checkCommand(text)
}

// treeFile returns the page of a file or directory of the tree, if it has one.
func (r *renderer) treeFile(name string) (string, error) {
	if lab, ok := strings.CutPrefix(name, "labs/"); ok {
		lab, _, _ = strings.Cut(lab, "/")
		r.p.labs[lab] = true
	}
	for _, source := range []string{name, name + "/README.md"} {
		if p := r.b.bySource[source]; p != nil {
			if p == r.p {
				return "", nil
			}
			return r.p.href(p.path), nil
		}
	}
	if !r.b.exists(name) && !r.b.planned(name) {
		return "", fmt.Errorf("there is no %s; correct it, or list it in %s under \"To come\"", name, frontPath)
	}
	if strings.HasSuffix(name, ".go") {
		return r.p.href(r.b.sourcePage(name)), nil
	}
	return "", nil
}

// planned reports whether the front page lists name, or the lab or chapter it
// is in, as to come.
func (b *book) planned(name string) bool {
	for ; name != "." && name != ""; name = path.Dir(name) {
		if b.toCome[name] {
			return true
		}
	}
	return false
}
