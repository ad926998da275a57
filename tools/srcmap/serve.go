package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"ids": ids}).Parse(pageHTML))

// ids writes the indices of C statements as the page's script reads them.
func ids(links []int) string {
	return strings.Trim(fmt.Sprint(links), "[]")
}

// pageData is what a page shows: a list of functions, and one of them.
type pageData struct {
	Release   string
	Functions []pageFunction
	Title     string // the C function
	Path      string // the first Go file
	Rows      []row
}

type pageFunction struct {
	Ref      string
	Coverage coverage
	Findings int
}

// serve shows the functions side by side on a page, until it is killed. The
// sources are read anew for each request.
func (o *options) serve() error {
	if _, err := o.load(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%w (choose another address with -addr)", err)
	}
	fmt.Fprintf(o.stdout, "http://%s/\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(o.handle))
}

func (o *options) handle(w http.ResponseWriter, r *http.Request) {
	data, err := o.page(r.URL.Query().Get("f"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Execute(w, data); err != nil {
		fmt.Fprintln(o.stderr, err)
	}
}

// page gathers the list of functions and the one that is called name, if any.
func (o *options) page(name string) (*pageData, error) {
	c, err := o.load()
	if err != nil {
		return nil, err
	}
	data := &pageData{Release: c.tree.release, Title: name}
	found := name == ""
	for _, mi := range c.mirrors {
		if mi.c == nil {
			continue
		}
		n, bad := check(mi, c.pins.release, c.tree.release)
		data.Functions = append(data.Functions, pageFunction{mi.ref.String(), n, len(bad)})
		if mi.ref.String() != name {
			continue
		}
		found = true
		sh, err := newSheet(mi, c.tree)
		if err != nil {
			return nil, err
		}
		data.Path, data.Rows = mi.gos[0].Path, sh.rows
	}
	if !found {
		return nil, fmt.Errorf("no mirrored function is called %s", name)
	}
	return data, nil
}
