package main

import (
	"archive/zip"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	"herd/tools/lab"
)

// scripts are the two that Gradescope runs, as templates.
//
//go:embed gradescope
var scripts embed.FS

// packGradescope writes the zip that is uploaded to Gradescope: its two
// scripts, and the tree that is handed out, from which they build the grader.
func packGradescope(root string, l *lab.Lab, out string) error {
	// A release's name is what can be downloaded.
	version, _, _ := strings.Cut(runtime.Version(), " ")
	if !strings.HasPrefix(version, "go1.") || strings.Contains(version, "-") {
		return usageError{fmt.Errorf("-pack needs a released Go, which the autograder downloads: this is %s", runtime.Version())}
	}
	what := "-all"
	if l != nil {
		what = "-lab " + l.Name
	}
	tree := os.DirFS(root)
	files, err := handoutFiles(tree)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	err = addScripts(z, map[string]string{"Go": version, "What": what})
	for _, name := range files {
		err = errors.Join(err, addFile(z, tree, name))
	}
	if err = errors.Join(err, z.Close(), f.Close()); err != nil {
		os.Remove(out)
		return fmt.Errorf("pack %s: %w", filepath.Base(out), err)
	}
	return nil
}

// addScripts adds Gradescope's two, which it looks for at the root.
func addScripts(z *zip.Writer, values map[string]string) error {
	texts, err := template.ParseFS(scripts, "gradescope/*")
	if err != nil {
		return err
	}
	for _, name := range []string{"setup.sh", "run_autograder"} {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := texts.ExecuteTemplate(w, name, values); err != nil {
			return err
		}
	}
	return nil
}

// addFile adds a file of the course below herd.
func addFile(z *zip.Writer, tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	w, err := z.Create("herd/" + name)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
