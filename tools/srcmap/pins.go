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

// pin is where a C statement stands in the pinned release, and the hash of
// its text.
type pin struct {
	lines gutter.Range
	hash  string
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
		pins[i] = pin{gutter.Range{First: s.Line, Last: s.End}, s.Hash()}
	}
	return pins
}

const pinHeader = `# What the line numbers in nginxref's gutters mean: the statements of each
# mirrored C function, their lines in the release below and the hashes of their
# text. Written by "srcmap repin".
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
			if _, err := fmt.Sscanf(line, "\t%d-%d %s", &p.lines.First, &p.lines.Last, &p.hash); err != nil || ref == "" {
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
			fmt.Fprintf(&b, "\t%d-%d %s\n", p.lines.First, p.lines.Last, p.hash)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// drift says what became of the statements of one function in another release.
type drift struct {
	to       []int // index in the other release, or -1: it vanished
	changed  []bool
	moved    []bool
	appeared []int // indices in the other release
}

// align finds the statements of a, by hash, among those of b. What lies
// between two statements that are the same in both counts as changed if it is
// as many statements; a statement that is elsewhere in b has moved.
func align(a, b []pin) drift {
	d := drift{to: same(a, b), changed: make([]bool, len(a)), moved: make([]bool, len(a))}
	used := make([]bool, len(b))
	for _, j := range d.to {
		if j >= 0 {
			used[j] = true
		}
	}
	d.findMoved(a, b, used)
	d.findChanged(used)
	for j := range b {
		if !used[j] {
			d.appeared = append(d.appeared, j)
		}
	}
	return d
}

// same returns, for each pin of a, the index of its equal in b in a longest
// sequence common to both, or -1.
func same(a, b []pin) []int {
	// length[i][j] is how long the common sequence of a[i:] and b[j:] is.
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].hash == b[j].hash {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	to := make([]int, len(a))
	for i, j := 0, 0; i < len(a); {
		switch {
		case j < len(b) && a[i].hash == b[j].hash:
			to[i] = j
			i, j = i+1, j+1
		case j < len(b) && length[i][j+1] > length[i+1][j]:
			j++
		default:
			to[i] = -1
			i++
		}
	}
	return to
}

func (d *drift) findMoved(a, b []pin, used []bool) {
	for i := range a {
		if d.to[i] >= 0 {
			continue
		}
		for j := range b {
			if !used[j] && a[i].hash == b[j].hash {
				d.to[i], d.moved[i], used[j] = j, true, true
				break
			}
		}
	}
}

// findChanged pairs what is left in gaps of the same size on both sides.
func (d *drift) findChanged(used []bool) {
	from := 0 // what follows the last statement that is in its place
	for i := 0; i < len(d.to); i++ {
		if d.to[i] >= 0 {
			if !d.moved[i] {
				from = d.to[i] + 1
			}
			continue
		}
		end := i
		for end < len(d.to) && d.to[end] < 0 {
			end++
		}
		to := from
		for to < len(used) && !used[to] {
			to++
		}
		if to-from == end-i {
			for ; i < end; i, from = i+1, from+1 {
				d.to[i], d.changed[i], used[from] = from, true, true
			}
		}
		i = end - 1
	}
}
