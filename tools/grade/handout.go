package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const handoutUsage = `Usage: go run ./tools/grade handout -o DIR

Writes the tree that a course hands out to DIR, which is made. It has the book,
the reference, the labs, and the tools, this one too; it has no solutions and no
wrong solutions. There go vet passes, and the labs' tests fail: nothing is
written yet.

Flags:
`

// handedOut are the parts of the tree that students get. What is not named
// here is not handed out.
var handedOut = []string{"README.md", "go.mod", "go.sum", "chapters", "labs", "nginxref", "tools"}

// keptBack reports whether the file is left out all the same. The grader's own
// tests grade the solutions.
func keptBack(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") ||
		strings.HasPrefix(name, "tools/grade/") && (strings.HasSuffix(base, "_test.go") || strings.Contains(name, "/testdata/"))
}

// handoutMain writes the tree that is handed out.
func handoutMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("handout", handoutUsage)
	out := flags.String("o", "", "`directory` to make")
	if err := parseFlags(flags, args, stdout); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return usageError{errors.New("handout takes -o DIR and nothing else")}
	}
	root, err := courseRoot()
	if err != nil {
		return err
	}
	files, err := handoutFiles(os.DirFS(root))
	if err != nil {
		return err
	}
	if err := os.Mkdir(*out, 0o755); err != nil {
		return usageError{fmt.Errorf("handout: %w", err)}
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(*out, name), filepath.Join(root, name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%d files in %s. Students begin with its README.md and labs; their tests fail until something is written.\n",
		len(files), *out)
	return nil
}

// handoutFiles returns the names of the files that are handed out, in order.
func handoutFiles(tree fs.FS) (names []string, err error) {
	for _, top := range handedOut {
		err := fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
			if name == top && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if keptBack(name) && d.IsDir() {
				return fs.SkipDir
			}
			if d.Type().IsRegular() && !keptBack(name) {
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// copyFile copies a file, its mode included, and makes its directory.
func copyFile(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
