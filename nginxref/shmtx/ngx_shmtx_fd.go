package shmtx

import (
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// File is a mutex made of a file's record lock (fcntl F_SETLK), what nginx
// falls back on where there are no atomic operations.
//
// The kernel keeps the lock by process and file, not by descriptor:
//   - a child that inherits Fd does not inherit the lock, so all workers can
//     share one descriptor; flock(2), which belongs to the open file, would
//     let them all in
//   - the lock goes when its holder dies: nobody has to force it
//   - the lock goes when its holder closes any descriptor of the file
//   - a second lock by the same process succeeds
//
// Set Kernel and Log, then call Create; a worker sets Fd and Name to what it
// inherited instead.
type File struct {
	Kernel sys.Kernel
	Log    *core.Log
	Fd     int
	Name   string // for messages: the file is deleted once it is open
}

var _ Mutex = (*File)(nil)

// Create opens the lock file and deletes its name: the descriptor alone
// stands for the lock, and nothing is left behind however the processes end.
// A mutex already made with this name is kept, so that workers of the old and
// the new configuration exclude one another. Mirrors ngx_shmtx_create.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_create NGX_HAVE_ATOMIC_OPS=0
//nginx:omit 208 the same text
func (mtx *File) Create(name string) core.Status {
	if mtx.Name != "" { // 205

		if name == mtx.Name { // 207
			return core.OK // 209
		}

		mtx.Destroy() // 212
	}

	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0644) // 215
	mtx.Fd = int(fd)                                                                      // 215

	if err != nil { // 218
		mtx.Log.Error(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", name) // 219
		return core.Error                                                             // 221
	}

	if err := syscall.Unlink(name); err != nil { // 224
		mtx.Log.Error(core.LogAlert, core.ErrnoOf(err), "unlink() \"%s\" failed", name) // 225
	}

	mtx.Name = name // 229

	return core.OK // 231
}

// Destroy closes the lock file, and with it drops the lock. Mirrors
// ngx_shmtx_destroy.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_destroy NGX_HAVE_ATOMIC_OPS=0
func (mtx *File) Destroy() {
	if err := mtx.Kernel.Close(mtx.Fd); err != 0 { // 238
		mtx.Log.Error(core.LogAlert, err, "close() \"%s\" failed", mtx.Name) // 239
	}
}

// Trylock takes the lock if no other process has it and reports whether it
// did. Mirrors ngx_shmtx_trylock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_trylock NGX_HAVE_ATOMIC_OPS=0
func (mtx *File) Trylock() bool {
	err := mtx.Kernel.FcntlLock(mtx.Fd, true, false) // 250

	if err == 0 { // 252
		return true // 253
	}

	if err == sys.EAGAIN { // 256
		return false // 257
	}

	mtx.abort(err, "fcntl(F_SETLK, F_WRLCK)") // 268

	return false // 270
}

// Lock waits until it has the lock. If fcntl fails it returns without the
// lock, with an alert in the log, as nginx does. Mirrors ngx_shmtx_lock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_lock NGX_HAVE_ATOMIC_OPS=0
func (mtx *File) Lock() {
	err := mtx.Kernel.FcntlLock(mtx.Fd, true, true) // 279

	if err == 0 { // 281
		return // 282
	}

	mtx.abort(err, "fcntl(F_SETLKW, F_WRLCK)") // 285
}

// Unlock lets go of the lock; the kernel ignores it if this process has none.
// Mirrors ngx_shmtx_unlock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_unlock NGX_HAVE_ATOMIC_OPS=0
func (mtx *File) Unlock() {
	err := mtx.Kernel.FcntlLock(mtx.Fd, false, false) // 294

	if err == 0 { // 296
		return // 297
	}

	mtx.abort(err, "fcntl(F_SETLK, F_UNLCK)") // 300
}

// ForceUnlock returns false: the kernel has already freed a dead process's
// lock. Mirrors ngx_shmtx_force_unlock.
//
//nginx:src/core/ngx_shmtx.c ngx_shmtx_force_unlock NGX_HAVE_ATOMIC_OPS=0
func (mtx *File) ForceUnlock(pid int) bool { return false } // 307

// abort logs an error that nginx did not expect. In spite of its name it goes
// on. Mirrors ngx_log_abort.
//
//nginx:src/core/ngx_log.c ngx_log_abort
//nginx:omit 249-251 the log call formats
func (mtx *File) abort(err sys.Errno, call string) {
	mtx.Log.Error(core.LogAlert, err, "%s %s failed", call, mtx.Name) // 253
}
