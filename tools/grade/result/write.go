package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Writer writes a report in one form.
type Writer func(w io.Writer, r *Report) error

// CheckFile says beforehand why a report cannot be written to the file. One
// that exists is replaced, so it has to be a regular file: /dev/null is not to
// become one.
func CheckFile(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name one, or - for standard output", path)
	}
	f, err := createTemp(path)
	if err != nil {
		return fmt.Errorf("%w (name a file in a directory that you may write to)", err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// createTemp creates the file that becomes the one at path.
func createTemp(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
}

// WriteFile writes the report to the file, which holds either all of it or
// what it held before: whoever reads it may come at any time.
func (write Writer) WriteFile(path string, r *Report) error {
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		return err
	}
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b.Bytes())
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// JSON writes the report as it is in this package.
func JSON(w io.Writer, r *Report) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// text is all that the check has to say to a student, below its name.
func (c *Check) text() string {
	var b strings.Builder
	b.WriteString(c.Message)
	if c.Output != "" {
		b.WriteString("\nprinted:\n" + indent(c.Output, "  "))
	}
	return strings.TrimSpace(b.String())
}

// headline returns the line of a message that says most: the rule that was
// broken, or the first.
func headline(message string) string {
	for line := range strings.Lines(message) {
		for _, mark := range []string{"broken: ", "rule: "} {
			if rule, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
				return rule
			}
		}
	}
	first, _, _ := strings.Cut(message, "\n")
	return first
}

// indent puts prefix before each line of s that is not empty.
func indent(s, prefix string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = prefix + line
		}
	}
	return strings.Join(lines, "\n")
}
