package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"herd/tools/lab"
	"herd/tools/lab/all"
	"herd/tools/measure"
)

// labSubject is a lab, or its solution, that is measured.
type labSubject struct {
	dir     string         // as the go command takes it: ./labs/lab03-acceptmutex
	own     []*measure.Fix // the lab's
	fixes   []*measure.Fix // the reference's that they stand beside
	program measure.Lab    // Exe and Build since it is built
}

// findLab returns the lab whose directory is given as -subject.
func findLab(dir string) (*labSubject, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(abs)
	labs := slices.DeleteFunc(all.Experiments(), func(e *lab.Experiments) bool { return len(e.Beside()) == 0 })
	i := slices.IndexFunc(labs, func(e *lab.Experiments) bool { return filepath.Base(e.Dir) == name })
	if i < 0 {
		return nil, fmt.Errorf("-subject %s: it has nothing that can be measured beside nginxref; these have: %s", dir, dirsOf(labs))
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("-subject %s: there is no such directory; run this from the one that has go.mod in it", dir)
	}
	l := &labSubject{dir: filepath.Clean(dir), own: labs[i].Fix, fixes: labs[i].Beside()}
	if !filepath.IsAbs(l.dir) {
		l.dir = "./" + l.dir
	}
	l.program.Name = filepath.Base(filepath.Dir(abs)) + "/" + name
	return l, nil
}

func dirsOf(labs []*lab.Experiments) string {
	var dirs []string
	for _, e := range labs {
		dirs = append(dirs, e.Dir)
	}
	return strings.Join(dirs, ", ")
}

// build builds the lab's program. Nothing is left in the file system: the
// program is open until this process ends, and is executed through /proc.
func (l *labSubject) build(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "herd-lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(os.Stderr, "Building %s\n", l.program.Name)
	path := filepath.Join(dir, "lab")
	if err := l.compile(ctx, path); err != nil {
		return err
	}
	if err := l.open(path); err != nil {
		return err
	}
	measure.Fixes = append(measure.Fixes, l.own...)
	return nil
}

// compile has the compiler say what it has to say, and write the program to
// path. It keeps its own files beside it.
func (l *labSubject) compile(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, l.dir)
	cmd.Env = append(os.Environ(), "GOTMPDIR="+filepath.Dir(path))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: a lab is built by the Go toolchain", err)
	}
	return fmt.Errorf("%s is not measured: it cannot be built", l.program.Name)
}

// open opens the program and notes what it is.
func (l *labSubject) open(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) // an os.File might be closed unasked
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	l.program.Exe = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
	l.program.Build = fmt.Sprintf("%.6x", sha256.Sum256(text))
	return nil
}
