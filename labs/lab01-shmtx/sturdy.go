package main

import (
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/tools/lab"
)

// SturdyLock, SturdyUnlock and Bury are part B: a mutex that no death leaves
// stuck. They may use the words of m as they like, but for m.Lock, which says
// who holds it.

// SturdyLock waits until it has the lock.
func SturdyLock(k sys.Kernel, m *shmtx.Shared) {
	lab.TODO("SturdyLock")
}

// SturdyUnlock frees the lock if this process holds it, and wakes a waiter.
func SturdyUnlock(k sys.Kernel, m *shmtx.Shared) {
	lab.TODO("SturdyUnlock")
}

// Bury is what the master calls for each process that has died, whatever it
// was doing. It reports whether pid held the lock, which is free then.
func Bury(k sys.Kernel, m *shmtx.Shared, pid int) bool {
	lab.TODO("Bury")
	return false
}
