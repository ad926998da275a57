package main

import (
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/tools/lab"
)

// Trylock takes the lock if it is free and reports whether it did. m.Lock is
// 0 while the lock is free, else the id of the process that holds it:
// k.Getpid().
func Trylock(k sys.Kernel, m *shmtx.Shared) bool {
	lab.TODO("Trylock")
	return false
}

// Lock waits until it has the lock. A process that is going to sleep adds 1 to
// m.Wait: it is owed a post. Then it tries once more; if it gets the lock now
// it takes its 1 back. If not it sleeps in m.Sem.Wait until an unlocker posts,
// or a signal comes (EINTR), and begins anew: a post is no claim to the lock.
func Lock(k sys.Kernel, m *shmtx.Shared) {
	lab.TODO("Lock")
}

// Unlock frees the lock if this process holds it, and wakes a waiter: it takes
// 1 off m.Wait, unless that is 0 or less, and then posts (m.Sem.Post). m.Wait
// is signed: read it as an int64.
func Unlock(k sys.Kernel, m *shmtx.Shared) {
	lab.TODO("Unlock")
}

// ForceUnlock is Unlock in the name of pid, a process that has died. The
// master calls it for each one. It reports whether pid held the lock.
func ForceUnlock(k sys.Kernel, m *shmtx.Shared, pid int) bool {
	lab.TODO("ForceUnlock")
	return false
}
