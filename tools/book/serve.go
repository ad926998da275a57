package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
)

// serveSite serves the book of the tree at root on a loopback address. Every
// page is built anew when it is asked for, and shows its problems.
func serveSite(root, addr string) error {
	if err := loopback(addr); err != nil {
		return err
	}
	l := &live{root: root}
	if err := l.build(); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("-serve %s: %w; port 0 takes a free one", addr, err)
	}
	fmt.Printf("http://%s/ (ctrl-C ends it)\n", ln.Addr())
	return http.Serve(ln, l)
}

// loopback says why addr is not one that only this machine can reach.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("-serve %s: give 127.0.0.1:PORT; port 0 takes a free one", addr)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("-serve %s: only loopback is served: give 127.0.0.1:PORT", addr)
	}
	return nil
}

// files is a site: contents by path.
type files map[string][]byte

func (f files) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := siteName(req)
	text, ok := f[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "no-store")
	w.Write(text)
}

// siteName returns the file of a site that is asked for.
func siteName(req *http.Request) string {
	name := strings.TrimPrefix(path.Clean(req.URL.Path), "/")
	if name == "" || name == "." {
		return "index.html"
	}
	return name
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	}
	return "text/html; charset=utf-8"
}

// live serves the book of a tree as the tree is when a page is asked for.
type live struct {
	root string
	mu   sync.Mutex
	site files
}

func (l *live) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.site == nil || path.Ext(siteName(req)) == ".html" {
		if err := l.build(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	l.site.ServeHTTP(w, req)
}

func (l *live) build() error {
	b, err := build(l.root)
	if err != nil {
		return err
	}
	l.site, err = b.files()
	return err
}
