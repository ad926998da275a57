package conf

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// File is an open configuration file.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64 // bytes, when it was opened
}

// Source is where configuration files come from: the disk, or a Dump.
type Source interface {
	Open(name string) (File, error)
	// Glob returns the names that match pattern, sorted.
	Glob(pattern string) []string
}

// Disk is the file system.
type Disk struct{}

// diskFile is a file and its size.
type diskFile struct {
	*os.File
	size int64
}

func (f diskFile) Size() int64 { return f.size }

// Open opens the named file.
func (Disk) Open(name string) (File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}

	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}

	return diskFile{file, info.Size()}, nil
}

// Dump holds what was read of each file, in the order in which they were
// first opened (ngx_conf_dump_t). It is a Source: a worker reads from it what
// its master read, whatever has become of the files since.
type Dump struct {
	Files []*DumpedFile
}

// DumpedFile is one file of a Dump.
type DumpedFile struct {
	Name string
	Text []byte
}

// add returns the place for the text of a file that is about to be read, or
// nil if it was read before. Mirrors ngx_conf_add_dump.
func (d *Dump) add(name string) *DumpedFile {
	if d == nil || d.find(name) != nil {
		return nil
	}

	file := &DumpedFile{Name: name}
	d.Files = append(d.Files, file)
	return file
}

func (d *Dump) find(name string) *DumpedFile {
	for _, file := range d.Files {
		if file.Name == name {
			return file
		}
	}
	return nil
}

// dumpFile is an open file of a Dump.
type dumpFile struct{ text []byte }

func (f dumpFile) Size() int64 { return int64(len(f.text)) }

func (f dumpFile) Close() error { return nil }

func (f dumpFile) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, f.text[off:]), nil
}

// Open opens the named file of the dump.
func (d *Dump) Open(name string) (File, error) {
	if file := d.find(name); file != nil {
		return dumpFile{file.Text}, nil
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// Glob returns the files of the dump that match pattern, sorted.
func (d *Dump) Glob(pattern string) []string {
	var names []string

	for _, file := range d.Files {
		if ok, _ := filepath.Match(goPattern(pattern), file.Name); ok {
			names = append(names, file.Name)
		}
	}
	return glibcOrder(pattern, names)
}

// Glob returns the files that match pattern, sorted. A directory that cannot
// be read matches nothing.
func (Disk) Glob(pattern string) []string {
	names, _ := filepath.Glob(goPattern(pattern)) // the pattern is a good one
	return glibcOrder(pattern, names)
}

// goPattern returns a pattern of glob(7) in the form that package filepath
// understands: "[!a]" is "[^a]" there, and a "[" that is never closed, which
// stands for itself, has to be escaped.
func goPattern(pattern string) string {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	if _, err := filepath.Match(pattern, ""); err != nil {
		pattern = strings.ReplaceAll(pattern, "[", `\[`)
	}
	return pattern
}

// glibcOrder leaves out the names that a wildcard of pattern must not match,
// those with a leading dot, and sorts the rest by their bytes.
func glibcOrder(pattern string, names []string) []string {
	parts := strings.Split(pattern, "/")

	names = slices.DeleteFunc(names, func(name string) bool {
		for i, elem := range strings.Split(name, "/") {
			if strings.HasPrefix(elem, ".") && !strings.HasPrefix(parts[i], ".") {
				return true
			}
		}
		return false
	})
	slices.Sort(names)
	return names
}
