package main

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// goCommand matches a command that runs code of this tree.
var goCommand = regexp.MustCompile(`\bgo (run|test|vet|build) (.*)`)

// checkCommand says what of a command line is not in this tree: a package, or
// a test. Text that is no go command is none.
func (b *book) checkCommand(text string) error {
	m := goCommand.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil
	}
	args := strings.Fields(m[2])
	var dirs []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "./") && arg != "./..." {
			dir := path.Clean(strings.TrimSuffix(arg, "/..."))
			if !b.hasGo(dir) && !b.planned(dir) {
				return fmt.Errorf("%q: there is no Go package %s", text, dir)
			}
			dirs = append(dirs, dir)
		}
		if m[1] == "run" && len(dirs) > 0 {
			return nil // the rest is the program's
		}
	}
	if i := slices.Index(args, "-run"); i >= 0 && i+1 < len(args) && len(dirs) > 0 {
		return b.checkTest(dirs, strings.Trim(args[i+1], `'"`))
	}
	return nil
}

// hasGo reports whether there is a Go file in dir or below.
func (b *book) hasGo(dir string) bool {
	found := false
	filepath.WalkDir(filepath.Join(b.root, dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if found = strings.HasSuffix(name, ".go"); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// checkTest wants one of the packages to have a test that pattern, a test
// command's -run, selects.
func (b *book) checkTest(dirs []string, pattern string) error {
	top, _, _ := strings.Cut(pattern, "/")
	re, err := regexp.Compile(top)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		p, err := b.goPackage(dir)
		if err != nil {
			continue // its packages are below
		}
		for name, d := range p.decls {
			if isTest(d.path, name) && re.MatchString(name) {
				return nil
			}
		}
	}
	return fmt.Errorf("no test in %s matches -run %s", strings.Join(dirs, ", "), pattern)
}
