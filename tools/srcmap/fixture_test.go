package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixture is a copy of testdata/go and its map, for one test to spoil.
type fixture struct {
	t       *testing.T
	goFile  string
	mapFile string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t, filepath.Join(t.TempDir(), "lamp.go"), filepath.Join(t.TempDir(), "map.txt")}
	f.write(f.goFile, read(t, "testdata/go/lamp.go"))
	f.write(f.mapFile, read(t, "testdata/map.txt"))
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *fixture) write(path, text string) {
	f.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// replace replaces the one place of the Go file that reads old.
func (f *fixture) replace(old, new string) {
	f.t.Helper()
	text := read(f.t, f.goFile)
	if n := strings.Count(text, old); n != 1 {
		f.t.Fatalf("%q is in the fixture %d times", old, n)
	}
	f.write(f.goFile, strings.Replace(text, old, new, 1))
}

// run runs srcmap on the fixture, release 1 unless args say otherwise, and
// returns its exit status and output. Paths are cut down to base names.
func (f *fixture) run(args ...string) (status int, stdout, stderr string) {
	f.t.Helper()
	var out, errs bytes.Buffer
	flags := []string{"-src", "testdata/nginx-1", "-go", filepath.Dir(f.goFile), "-map", f.mapFile}
	status = run(append(append(args[:1:1], flags...), args[1:]...), &out, &errs)
	short := strings.NewReplacer(f.goFile, "lamp.go", f.mapFile, "map.txt")
	return status, short.Replace(out.String()), short.Replace(errs.String())
}

// expect runs srcmap and compares everything it does.
func (f *fixture) expect(status int, stdout, stderr string, args ...string) {
	f.t.Helper()
	gotStatus, gotOut, gotErr := f.run(args...)
	if gotStatus != status {
		f.t.Errorf("srcmap %s: exit status %d, want %d", strings.Join(args, " "), gotStatus, status)
	}
	if diff := cmp.Diff(stdout, gotOut); diff != "" {
		f.t.Errorf("standard output: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(stderr, gotErr); diff != "" {
		f.t.Errorf("standard error: -want +got\n%s", diff)
	}
}

func (f *fixture) mkdir(path string) {
	f.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		f.t.Fatal(err)
	}
}
