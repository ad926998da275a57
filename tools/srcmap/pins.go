package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// pin is where a C statement stands in the pinned release, the hash of its
// text, and how many Go statements stand for it, 0 if it is omitted.
type pin struct {
	lines gutter.Range
	hash  string
	parts int
}

// pinMap says what the line numbers in the gutters mean: it lists the
// statements of every mirrored C function as they stand in one release.
type pinMap struct {
	release string
	funcs   map[string][]pin // by gutter.Ref's text
}

func pinsOf(fn *csrc.Func) []pin {
	pins := make([]pin, len(fn.Stmts))
	for i := range fn.Stmts {
		s := &fn.Stmts[i]
		pins[i] = pin{lines: gutter.Range{First: s.Line, Last: s.End}, hash: s.Hash()}
	}
	return pins
}

const pinHeader = `# What the line numbers in nginxref's gutters mean: the statements of each
# mirrored C function, their lines in the release below, the hashes of their text,
# and how many Go statements stand for each. Written by "srcmap repin".
`

// readPins reads the map at path; a map that is not there yet is empty.
func readPins(path string) (*pinMap, error) {
	m := &pinMap{funcs: map[string][]pin{}}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ref string
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "release "):
			m.release = line[len("release "):]
		case line[0] != '\t':
			ref = line
			m.funcs[ref] = []pin{}
		default:
			var p pin
			_, err := fmt.Sscanf(line, "\t%d-%d %s %d", &p.lines.First, &p.lines.Last, &p.hash, &p.parts)
			if err != nil || ref == "" {
				return nil, fmt.Errorf("%s:%d: not a statement (write the map again with repin)", path, n)
			}
			m.funcs[ref] = append(m.funcs[ref], p)
		}
	}
	return m, in.Err()
}

// write stores the map, the functions in the given order.
func (m *pinMap) write(path string, order []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%srelease %s\n", pinHeader, m.release)
	for _, ref := range order {
		fmt.Fprintf(&b, "\n%s\n", ref)
		for _, p := range m.funcs[ref] {
			fmt.Fprintf(&b, "\t%d-%d %s %d\n", p.lines.First, p.lines.Last, p.hash, p.parts)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
