package shmtx

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

func TestFileLockExcludesFourProcesses(t *testing.T) {
	g := newGroup(t, "file")
	g.lock.Lock()
	g.count(4, 2500, g.lock.Unlock)
}

func TestFileLockIsNotInherited(t *testing.T) {
	g := newGroup(t, "file")
	if !g.lock.Trylock() {
		t.Fatal("the parent did not get the free lock")
	}
	child := g.start()
	child.want("trylock", "false")
	child.want("unlock", "done") // no more than a non-owner's
	child.kill()                 // nor does the child's end free it
	g.start().want("trylock", "false")
	g.lock.Unlock()
	g.start().want("trylock", "true")
}

func TestKilledHoldersFileLockIsReleasedByTheKernel(t *testing.T) {
	g := newGroup(t, "file")
	holder, next, sleeper := g.start(), g.start(), g.start()
	holder.want("trylock", "true")
	next.want("trylock", "false")
	holder.kill()
	if g.lock.ForceUnlock(holder.pid()) {
		t.Error("ForceUnlock claims to have freed a file lock")
	}
	next.want("trylock", "true")

	sleeper.send("lock")
	next.kill()
	if got := sleeper.answer(); got != "done" {
		t.Error(got)
	}
	g.start().want("trylock", "false")
}

func TestClosingAnyDescriptorOfTheFileDropsItsLock(t *testing.T) {
	for _, another := range []string{"dup", "reopen"} {
		g := newGroup(t, "file")
		a, b := g.start(), g.start()
		a.want("trylock", "true")
		b.want("trylock", "false")
		a.want(another, "done") // a still has the descriptor it locked
		b.want("trylock", "true")
	}
}

func TestSecondFileLockInTheSameProcessSucceeds(t *testing.T) {
	g := newGroup(t, "file")
	second := newFile(must(sys.New()), os.Stderr)
	second.Fd, second.Name = reopen(g.lock.Fd), "second"
	defer second.Destroy()
	for i, mtx := range []*File{g.lock, g.lock, second} {
		if !mtx.Trylock() {
			t.Errorf("lock %d: the process excluded itself", i+1)
		}
	}
	g.start().want("trylock", "false")
	second.Unlock() // they were one lock
	g.start().want("trylock", "true")
}

// Why nginx does not use flock: the lock belongs to the open file, which all
// that inherited it share.
func TestFlockOnAnInheritedDescriptorExcludesNobody(t *testing.T) {
	g := newGroup(t, "file")
	a, b := g.start(), g.start()
	a.want("flock", "true")
	b.want("flock", "true")
	b.want("flock-own", "false") // as it should be between two open files
}

func TestCreateLeavesNoNameBehind(t *testing.T) {
	dir := t.TempDir()
	mtx := newFile(must(sys.New()), os.Stderr)
	if mtx.Create(filepath.Join(dir, "lock")) != core.OK {
		t.Fatal("Create failed")
	}
	defer mtx.Destroy()
	if left := must(os.ReadDir(dir)); len(left) != 0 {
		t.Errorf("Create left %v", left)
	}
	if flags := must(unix.FcntlInt(uintptr(mtx.Fd), unix.F_GETFD, 0)); flags&unix.FD_CLOEXEC == 0 {
		t.Error("the descriptor is not close-on-exec")
	}
	if !mtx.Trylock() {
		t.Error("a lock file without a name cannot be locked")
	}
}

// A reload with the same lock_file keeps the file that the old workers lock.
func TestCreateKeepsTheFileOfTheSameName(t *testing.T) {
	dir := must(filepath.EvalSymlinks(t.TempDir()))
	mtx := newFile(must(sys.New()), os.Stderr)
	mtx.Create(filepath.Join(dir, "lock"))
	mtx.Create(filepath.Join(dir, "lock"))
	wantOpen(t, dir, "lock (deleted)")
	mtx.Create(filepath.Join(dir, "other"))
	wantOpen(t, dir, "other (deleted)")
	mtx.Destroy()
	wantOpen(t, dir)
}

// wantOpen fails unless the process's open files in dir are these.
func wantOpen(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for _, fd := range must(os.ReadDir("/proc/self/fd")) {
		file, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		if name, ok := strings.CutPrefix(file, dir+"/"); ok {
			got = append(got, name)
		}
	}
	wantEqual(t, "open files", got, want)
}

func TestCreateReportsWhyItFailed(t *testing.T) {
	var log bytes.Buffer
	mtx := newFile(must(sys.New()), &log)
	name := filepath.Join(t.TempDir(), "missing", "lock")
	if mtx.Create(name) != core.Error {
		t.Error("Create succeeded in a directory that does not exist")
	}
	want := `: open() "` + name + `" failed (2: No such file or directory)`
	if got := log.String(); !strings.Contains(got, "[emerg] ") || !strings.Contains(got, want) {
		t.Errorf("log %q, want an emerg with %q", got, want)
	}
}

// nginx calls it abort and goes on: an alert, and no lock.
func TestUnexpectedFileLockErrorsAreLogged(t *testing.T) {
	for _, c := range []struct {
		err  sys.Errno
		do   func(mtx *File) bool // reports whether it has the lock
		want string               // in the log; empty: nothing is logged
	}{
		{sys.EAGAIN, (*File).Trylock, ""},
		{sys.EINVAL, (*File).Trylock, "fcntl(F_SETLK, F_WRLCK) lock failed (22: Invalid argument)"},
		{sys.EINTR, func(mtx *File) bool { mtx.Lock(); return false },
			"fcntl(F_SETLKW, F_WRLCK) lock failed (4: Interrupted system call)"},
		{sys.EINVAL, func(mtx *File) bool { mtx.Unlock(); return false },
			"fcntl(F_SETLK, F_UNLCK) lock failed (22: Invalid argument)"},
	} {
		var log bytes.Buffer
		k := &scripted{t: t, pid: 1, errnos: []sys.Errno{c.err}}
		mtx := &File{Kernel: k, Log: newLog(k, &log, core.LogErr), Name: "lock"}
		if c.do(mtx) {
			t.Errorf("%v: the lock was taken", c.err)
		}
		if got := log.String(); !strings.Contains(got, c.want) || (c.want == "") != (got == "") ||
			(got != "" && !strings.Contains(got, "[alert]")) {
			t.Errorf("%v: log %q, want an alert with %q", c.err, got, c.want)
		}
	}
}
