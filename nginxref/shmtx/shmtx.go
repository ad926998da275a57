// Package shmtx is nginx's mutex between processes, in the two variants nginx
// has: [Atomic] (ngx_shmtx.c on a machine with atomic operations) and [File]
// (the same file without them: a record lock of fcntl), and the shared memory
// that the first one lives in (ngx_shmem.c).
//
//	                  Atomic                        File
//	Trylock           a compare-and-set             a system call
//	Lock              spins, then sleeps (futex)    sleeps in the kernel
//	the holder dies   the master must force it      the kernel lets go at once
//	a trap            a dead holder not reaped      closing any descriptor of
//	                                                the file unlocks it
//
// Every atomic, futex and fcntl operation goes through [sys.Kernel], so that a
// deterministic kernel can switch processes at each of them.
package shmtx

// Mutex excludes processes from one another, not the threads of one: each
// process uses it from its loop thread only.
type Mutex interface {
	// Trylock takes the lock if it is free and reports whether it did.
	Trylock() bool
	// Lock waits until it has the lock.
	Lock()
	// Unlock lets go of the lock, and does nothing if this process does not
	// hold it.
	Unlock()
	// ForceUnlock frees the lock in the name of pid, a process that died, and
	// reports whether pid held it.
	ForceUnlock(pid int) bool
}
