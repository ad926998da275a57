package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// tree is an unpacked nginx source tree.
type tree struct {
	dir     string
	release string // "1.22.1"
	files   map[string]*csrc.File
	lines   map[string][]string
}

var version = regexp.MustCompile(`#define\s+NGINX_VERSION\s+"([^"]+)"`)

// openTree opens the source tree at dir, the directory that has src in it.
func openTree(dir string) (*tree, error) {
	header := filepath.Join(dir, "src/core/nginx.h")
	text, err := os.ReadFile(header)
	if err != nil {
		return nil, fmt.Errorf("%s is no nginx source tree (unpack nginx-1.22.1.tar.gz and give its directory): %w",
			dir, err)
	}
	m := version.FindSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s: no NGINX_VERSION in it", header)
	}
	return &tree{
		dir: dir, release: string(m[1]),
		files: map[string]*csrc.File{}, lines: map[string][]string{},
	}, nil
}

// function returns the C function that ref names, or nil if this release has
// none.
func (t *tree) function(ref gutter.Ref) (*csrc.Func, error) {
	key := strings.Join(append([]string{ref.File}, ref.Settings...), " ")
	file, ok := t.files[key]
	if !ok {
		build, err := csrc.Linux.With(ref.Settings...)
		if err != nil {
			return nil, err
		}
		src, err := os.ReadFile(filepath.Join(t.dir, ref.File))
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if file, err = csrc.Parse(src, build); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(t.dir, ref.File), err)
		}
		t.files[key] = file
		t.lines[ref.File] = strings.Split(string(src), "\n")
	}
	fn, err := file.Func(ref.Func)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", filepath.Join(t.dir, ref.File), ref.Func, err)
	}
	return fn, nil
}
