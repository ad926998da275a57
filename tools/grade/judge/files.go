package judge

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"herd/tools/lab"
)

// maxFile is the size that a student's file may have, in bytes.
const maxFile = 1 << 20

// overlay says which file stands in for which, as go build -overlay has it.
type overlay struct{ Replace map[string]string }

// collect copies the student's files into the scratch directory and lays them
// over the course's. What it refuses is the student's doing.
func (g *grading) collect() (o *overlay, refused string, err error) {
	root, err := os.OpenRoot(g.result.Dir) // no symbolic link leads out of it
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	dir := find(root, g.lab)
	g.own = g.isOwn(dir)
	o = &overlay{map[string]string{}}
	for _, name := range g.lab.Files {
		text, why := read(root, path.Join(dir, name))
		if why != "" && g.own {
			return nil, fmt.Sprintf("%s %s: bring it back, as it was handed out", name, why), nil
		}
		if why != "" {
			g.note("%s %s; the course's empty one is graded in its place", name, why)
			continue
		}
		if why := forbidden(text); why != "" {
			return nil, name + " " + why, nil
		}
		copied := filepath.Join(g.scratch, name)
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return nil, "", err
		}
		o.Replace[filepath.Join(g.dir(), name)] = copied
	}
	extra := g.extra(root, dir)
	for _, name := range extra {
		if g.own {
			o.Replace[filepath.Join(g.dir(), name)] = "" // it is not there
		}
	}
	if len(extra) > 0 {
		g.note("not taken: %s; a solution is in %s alone", strings.Join(extra, ", "), strings.Join(g.lab.Files, " and "))
	}
	return o, "", nil
}

// dir returns the lab's directory in the course's tree.
func (g *grading) dir() string { return filepath.Join(g.Root, "labs", g.lab.Name) }

// isOwn reports whether what was handed in in dir is that very directory: a
// student grades in the tree that was handed out.
func (g *grading) isOwn(dir string) bool {
	theirs, err1 := os.Stat(filepath.Join(g.result.Dir, dir))
	ours, err2 := os.Stat(g.dir())
	return err1 == nil && err2 == nil && os.SameFile(theirs, ours)
}

func (g *grading) note(format string, args ...any) {
	g.result.Notes = append(g.result.Notes, fmt.Sprintf(format, args...))
}

// find returns the directory in root that has the student's files: root
// itself, or where they are in a whole course tree or a folder of labs.
func find(root *os.Root, l *lab.Lab) string {
	for _, dir := range []string{".", l.Name, "labs/" + l.Name} {
		for _, name := range l.Files {
			if _, err := root.Lstat(path.Join(dir, name)); err == nil {
				return dir
			}
		}
	}
	return "."
}

// Holds reports whether what was handed in in dir has a file of the lab's.
func Holds(dir string, l *lab.Lab) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	from := find(root, l)
	return slices.ContainsFunc(l.Files, func(name string) bool {
		_, err := root.Lstat(path.Join(from, name))
		return err == nil
	})
}

// read returns what the file holds, or why it is not taken.
func read(root *os.Root, name string) (text []byte, why string) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, "is missing"
	case !info.Mode().IsRegular():
		return nil, "is not a regular file"
	case info.Size() > maxFile:
		return nil, fmt.Sprintf("is larger than %d KB", maxFile>>10)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, "cannot be read"
	}
	defer f.Close()
	if text, err = io.ReadAll(io.LimitReader(f, maxFile)); err != nil {
		return nil, "cannot be read"
	}
	return text, ""
}

// forbidden says what the file imports that would let it reach its judge. A
// file that cannot be parsed is left to the compiler.
func forbidden(text []byte) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err != nil {
		return ""
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"unsafe"` || i.Path.Value == `"C"` {
			return "imports " + i.Path.Value + ": code that is graded may not, since it runs beside its judge"
		}
	}
	return ""
}

// ours are the files of a lab that are the course's.
var ours = []string{"main.go", "lab_test.go"}

// extra returns the Go files in dir that are not the student's to hand in and
// are not as the course has them.
func (g *grading) extra(root *os.Root, dir string) (names []string) {
	list, _ := fs.Glob(root.FS(), path.Join(dir, "*.go"))
	for _, file := range list {
		name := path.Base(file)
		if slices.Contains(g.lab.Files, name) {
			continue
		}
		theirs, _ := read(root, file)
		text, err := os.ReadFile(filepath.Join(g.dir(), name))
		if err != nil || !slices.Contains(ours, name) || !bytes.Equal(theirs, text) {
			names = append(names, name)
		}
	}
	return names
}
