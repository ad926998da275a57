package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/style.css
var styleCSS []byte

//go:embed assets/book.js
var bookJS []byte

var layout = template.Must(template.New("page").Parse(pageHTML))

// link is an entry of a page's navigation.
type link struct {
	Href, Title string
	Here        bool
	Inside      []link // the headings of the page itself
}

// group is a part of the contents.
type group struct {
	Title string
	Links []link
}

// layoutData is what the layout shows around a page.
type layoutData struct {
	Title    string
	Root     string // the way to the top of the site
	Body     template.HTML
	Wide     bool
	Groups   []group
	Prev     *link
	Next     *link
	IsFront  bool
	Problems []problem
}

// files returns the site.
func (b *book) files() (files, error) {
	site := files{
		"style.css":       styleCSS,
		"book.js":         bookJS,
		"search-index.js": b.searchIndex(),
	}
	for i, p := range b.pages {
		d := b.layoutFor(p.path, p.title, p.body)
		d.IsFront = p.kind == front
		d.Problems = b.problemsOf(p.source)
		if i > 0 {
			d.Prev = &link{Href: p.href(b.pages[i-1].path), Title: b.pages[i-1].title}
		}
		if i+1 < len(b.pages) {
			d.Next = &link{Href: p.href(b.pages[i+1].path), Title: b.pages[i+1].title}
		}
		if err := put(site, p.path, d); err != nil {
			return nil, err
		}
	}
	if err := b.putRuns(site); err != nil {
		return nil, err
	}
	return site, b.putSources(site)
}

func put(site files, name string, d layoutData) error {
	var out bytes.Buffer
	if err := layout.Execute(&out, d); err != nil {
		return err
	}
	site[name] = out.Bytes()
	return nil
}

// problemsOf returns the problems of one source; the front page has all.
func (b *book) problemsOf(source string) (own []problem) {
	for _, p := range b.problems {
		if p.Path == source || source == frontPath {
			own = append(own, p)
		}
	}
	return own
}

// layoutFor returns the layout of a page at name with the contents around it.
func (b *book) layoutFor(name, title, body string) layoutData {
	here := &page{path: name}
	d := layoutData{Title: title, Root: here.href(""), Body: template.HTML(body)}
	for _, g := range []struct {
		title string
		kind  pageKind
	}{{"Chapters", chapter}, {"Labs", labPage}, {"Tools", toolPage}} {
		links := group{Title: g.title}
		for _, p := range b.pages {
			if p.kind != g.kind {
				continue
			}
			l := link{Href: here.href(p.path), Title: p.title, Here: p.path == name}
			if g.kind == chapter {
				l.Title = strings.TrimLeft(path.Base(p.source)[:2], "0") + ". " + p.title
			}
			if l.Here {
				l.Inside = p.headings()
			}
			links.Links = append(links.Links, l)
		}
		d.Groups = append(d.Groups, links)
	}
	return d
}

// headings lists the second level of a page.
func (p *page) headings() (list []link) {
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			list = append(list, link{Href: "#" + string(anchor), Title: plainText(h, p.src)})
		}
	}
	return list
}

// putRuns publishes the recorded runs that pages show.
func (b *book) putRuns(site files) error {
	for _, name := range sortedKeys(b.ran) {
		r := b.ran[name]
		file := b.runPage(r)
		body := fmt.Sprintf("<h1>Recorded run: %s</h1>\n<p>Run it yourself:</p>\n%s<p>It printed:</p>\n%s",
			html.EscapeString(name), codeBlock("", html.EscapeString(r.command)), codeBlock("", html.EscapeString(r.output)))
		d := b.layoutFor(file, "Recorded run: "+name, body)
		d.Wide = true
		if err := put(site, file, d); err != nil {
			return err
		}
	}
	return nil
}

// putSources publishes the files that pages show a part of.
func (b *book) putSources(site files) error {
	for _, name := range sortedKeys(b.sources) {
		text, err := b.lines(name, 1, 0)
		if err != nil {
			return err
		}
		numbers := make([]string, len(text))
		for i := range numbers {
			numbers[i] = fmt.Sprintf(`<a id="L%d" href="#L%d">%d</a>`, i+1, i+1, i+1)
		}
		language := strings.TrimPrefix(path.Ext(name), ".")
		body := "<h1>" + html.EscapeString(name) + "</h1>\n" +
			codeBlock("", highlight(language, strings.Join(text, "\n")+"\n", numbers))
		d := b.layoutFor("source/"+name+".html", name, body)
		d.Wide = true
		if err := put(site, "source/"+name+".html", d); err != nil {
			return err
		}
	}
	return nil
}

// writeSite builds the site in dir.
func writeSite(root, dir string) error {
	b, err := checked(root)
	if err != nil {
		return err
	}
	site, err := b.files()
	if err != nil {
		return err
	}
	for name, text := range site {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s\nopen %s, or: go run ./tools/book -serve 127.0.0.1:8080\n", b.summary(), filepath.Join(dir, "index.html"))
	return nil
}
