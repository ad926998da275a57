package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mark begins a region, regionEnd ends it; both are comments of their own line.
const (
	mark      = "book:"
	regionEnd = "book:end"
)

// region is a part of a file between two marks.
type region struct {
	path        string
	first, last int // lines, without the marks
	used        bool
}

// loadRegions finds the marks in the Go files of the tree.
func loadRegions(root string) (map[string]*region, []problem) {
	all := map[string]*region{} // by "PATH NAME"
	var found []problem
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), "// "+mark) {
			rel, _ := filepath.Rel(root, name)
			found = append(found, readRegions(filepath.ToSlash(rel), string(text), all)...)
		}
		return err
	})
	if err != nil {
		found = append(found, problem{".", 0, err.Error()})
	}
	return all, found
}

// readRegions adds the regions of one file to all.
func readRegions(path, text string, all map[string]*region) (found []problem) {
	var open *region
	report := func(line int, format string, args ...any) {
		found = append(found, problem{path, line, fmt.Sprintf(format, args...)})
	}
	for i, line := range strings.Split(text, "\n") {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "// "+mark)
		switch {
		case !ok:
		case "book:"+name == regionEnd && open == nil:
			report(i+1, "// %s ends no region", regionEnd)
		case "book:"+name == regionEnd:
			open.last = i
			open = nil
		case open != nil:
			report(i+1, "a region in a region: write // %s first", regionEnd)
		case all[path+" "+name] != nil:
			report(i+1, "a second region %s: call it something else", name)
		default:
			open = &region{path: path, first: i + 2}
			all[path+" "+name] = open
		}
	}
	if open != nil {
		report(open.first-1, "the region has no end: write // %s behind it", regionEnd)
	}
	return found
}
