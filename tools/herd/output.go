package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"herd/tools/herd/report"
)

// writeJSON writes the results as one object.
func writeJSON(w io.Writer, res *report.Results) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(res)
}

// printed writes text to standard output; a disk that is full is an error.
func printed(text func(w io.Writer)) error {
	out := bufio.NewWriter(os.Stdout)
	text(out)
	return out.Flush()
}

// checkReport says beforehand if the report could not be written to path. It is
// renamed into place, so what it replaces has to be a file: /dev/null is not to
// become one.
func checkReport(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("-report %s: it is not a regular file; name one", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".herd-report-")
	if err != nil {
		return fmt.Errorf("-report %s: %w (name a file in a directory you may write to)", path, err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// saveReport writes the report to path, whole or not at all, and says so.
func saveReport(path string, res *report.Results) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".herd-report-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it has been renamed
	err = report.Write(f, res)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	fmt.Fprintf(os.Stderr, "The report is in file://%s\n", abs)
	return err
}
