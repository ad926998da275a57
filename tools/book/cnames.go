package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

const (
	mapPath   = "tools/srcmap/map.txt"
	namesPath = "chapters/c-names.txt"
)

// cName is where a name of nginx's C source stands.
type cName struct {
	file  string // from the root of nginx's tree
	lines gutter.Range
	from  int // line of namesPath, or 0: from the map
}

// cNames are the C names that the book may speak of: the functions of
// srcmap's map, whose lines are those of their statements, and what
// chapters/c-names.txt lists.
type cNames struct {
	release string
	names   map[string]cName // "ngx_foo", or "ngx_foo NGX_HAVE_X=0"
	files   map[string]bool
	src     string // nginx's source, if there is a copy
}

func loadCNames(root string) (*cNames, []problem) {
	c := &cNames{names: map[string]cName{}, files: map[string]bool{}, src: os.Getenv("NGINX_SRC")}
	var found []problem
	for _, list := range []struct {
		name string
		read func(int, string) error
	}{{mapPath, c.mapLine()}, {namesPath, c.nameLine}} { // what the map has must not be listed again
		name, read := list.name, list.read
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) && name == namesPath {
			continue
		}
		if err != nil {
			found = append(found, problem{name, 0, err.Error()})
			continue
		}
		in := bufio.NewScanner(bytes.NewReader(text))
		for n := 1; in.Scan(); n++ {
			if line := in.Text(); line != "" && line[0] != '#' {
				if err := read(n, line); err != nil {
					found = append(found, problem{name, n, err.Error()})
				}
			}
		}
	}
	return c, found
}

// mapLine returns a reader of the map's lines.
func (c *cNames) mapLine() func(int, string) error {
	var file, name string
	return func(_ int, line string) error {
		if release, ok := strings.CutPrefix(line, "release "); ok {
			c.release = release
			return nil
		}
		if line[0] != '\t' {
			file, name, _ = strings.Cut(line, " ")
			c.files[file] = true
			return nil
		}
		var first, last int
		if _, err := fmt.Sscanf(line, "\t%d-%d", &first, &last); err != nil {
			return errors.New("not a statement; write the map again with srcmap repin")
		}
		n, known := c.names[name]
		if !known {
			n = cName{file: file, lines: gutter.Range{First: first}}
		}
		n.lines.First = min(n.lines.First, first)
		n.lines.Last = max(n.lines.Last, last)
		c.names[name] = n
		return nil
	}
}

// nameLine reads "FILE FIRST-LAST NAME".
func (c *cNames) nameLine(at int, line string) error {
	n := cName{from: at}
	var name string
	count, _ := fmt.Sscanf(line, "%s %d-%d %s", &n.file, &n.lines.First, &n.lines.Last, &name)
	if count != 4 {
		return errors.New("a line is FILE FIRST-LAST NAME, such as src/core/ngx_cycle.c 43-872 ngx_init_cycle")
	}
	if _, twice := c.names[name]; twice {
		return fmt.Errorf("%s is known already: delete this line", name)
	}
	c.names[name] = n
	c.files[n.file] = true
	return nil
}

// find returns where name stands.
func (c *cNames) find(name string) (cName, error) {
	n, ok := c.names[name]
	if ok {
		return n, nil
	}
	line := "FILE FIRST-LAST NAME (with NGINX_SRC set, this says which)"
	if c.src != "" {
		line = c.lookFor(name)
	}
	if line == "" {
		return n, fmt.Errorf("nginx %s has no function %s: correct it", c.release, name)
	}
	return n, fmt.Errorf("no C name %s in %s or %s; correct it, or add to the latter the line %s", name, mapPath, namesPath, line)
}

// lookFor returns the line of chapters/c-names.txt for a function of nginx's
// source, "" if there is none.
func (c *cNames) lookFor(name string) (line string) {
	filepath.WalkDir(filepath.Join(c.src, "src"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".c" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+"(") })
		if first < 0 {
			return nil
		}
		last := first + slices.Index(lines[first:], "}")
		rel, _ := filepath.Rel(c.src, file)
		line = fmt.Sprintf("%s %d-%d %s", filepath.ToSlash(rel), first+1, last+1, name)
		return fs.SkipAll
	})
	return line
}

// where says which lines of its file the name is.
func (n cName) where() string {
	if n.lines.First == n.lines.Last {
		return "line " + n.lines.String()
	}
	return "lines " + n.lines.String()
}

// url returns a page that shows the lines.
func (c *cNames) url(n cName) string {
	return fmt.Sprintf("https://github.com/nginx/nginx/blob/release-%s/%s#L%d-L%d",
		c.release, n.file, n.lines.First, n.lines.Last)
}

// verify holds the names of chapters/c-names.txt against nginx's source, if
// there is a copy. The map's are srcmap's to check.
func (c *cNames) verify() (found []problem) {
	if c.src == "" {
		return nil
	}
	for name, n := range c.names {
		if n.from == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.src, filepath.FromSlash(path.Clean(n.file))))
		if err != nil {
			found = append(found, problem{namesPath, n.from, err.Error()})
			continue
		}
		lines := strings.Split(string(text), "\n")
		if n.lines.First < 1 || n.lines.Last < n.lines.First || n.lines.Last > len(lines) ||
			!strings.Contains(lines[n.lines.First-1], name) {
			found = append(found, problem{namesPath, n.from,
				fmt.Sprintf("line %d of %s does not hold %s; correct the lines", n.lines.First, n.file, name)})
		}
	}
	return found
}
