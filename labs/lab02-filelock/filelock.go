package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab"
)

// The lock is a record lock of fcntl(2) on the whole of a file:
//
//	k.FcntlLock(fd, true, false)   takes it, or EAGAIN at once
//	k.FcntlLock(fd, true, true)    takes it, and sleeps for it if need be
//	k.FcntlLock(fd, false, false)  lets it go
//
// The file is open on fd in every process.

// Open makes the file called name, for reading and writing, and deletes the
// name: whoever has the descriptor needs none. The descriptor is
// close-on-exec. This is the only function that calls the system by itself, by
// package syscall or os.
func Open(name string) (fd int, err error) {
	lab.TODO("Open")
	return -1, nil
}

// Trylock takes the lock if no other process has it, and reports whether this
// process has it now. It does not wait.
func Trylock(k sys.Kernel, fd int) bool {
	lab.TODO("Trylock")
	return false
}

// Lock waits until it has the lock.
func Lock(k sys.Kernel, fd int) {
	lab.TODO("Lock")
}

// Unlock lets go of the lock.
func Unlock(k sys.Kernel, fd int) {
	lab.TODO("Unlock")
}

// ForceUnlock is what the master calls for each process that has died. It
// reports whether it has freed the lock in the name of pid.
func ForceUnlock(k sys.Kernel, fd, pid int) bool {
	lab.TODO("ForceUnlock")
	return false
}
