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
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/ (ctrl-C ends it)\n", ln.Addr())
	return http.Serve(ln, &handler{root: root})
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

type handler struct {
	root string
	mu   sync.Mutex
	site map[string][]byte
}

func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := strings.TrimPrefix(path.Clean(req.URL.Path), "/")
	if name == "" || name == "." {
		name = "index.html"
	}
	text, ok, err := h.file(name)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !ok:
		http.NotFound(w, req)
	default:
		w.Header().Set("Content-Type", contentType(name))
		w.Header().Set("Cache-Control", "no-store")
		w.Write(text)
	}
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

// file returns a file of the site; for a page the site is built first.
func (h *handler) file(name string) (text []byte, ok bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.site == nil || path.Ext(name) == ".html" {
		b, err := build(h.root)
		if err != nil {
			return nil, false, err
		}
		if h.site, err = b.files(); err != nil {
			return nil, false, err
		}
	}
	text, ok = h.site[name]
	return text, ok, nil
}
