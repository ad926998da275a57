package main

import (
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

// A post belongs to whoever consumes it, and is lost when that process dies.
// So there are none here: m.Sem.Value counts the occasions to look again. A
// waiter reads it before its last try and sleeps only if it is still the same;
// a wakeup lost with a process that died is made good by one more occasion.
// m.Wait, how many may be asleep, spares the unlocker a call when nobody is.

// SturdyLock waits until it has the lock.
func SturdyLock(k sys.Kernel, m *shmtx.Shared) {
	for !Trylock(k, m) {
		seen := k.FutexLoad(&m.Sem.Value)
		k.AtomicFetchAdd(&m.Wait, 1)
		// An unlocker that came before the increment saw nobody: try again.
		locked := Trylock(k, m)
		if !locked {
			k.FutexWait(&m.Sem.Value, seen) // EAGAIN and EINTR: look again too
		}
		k.AtomicFetchAdd(&m.Wait, -1)
		if locked {
			return
		}
	}
}

// SturdyUnlock frees the lock if this process has it, and wakes a waiter.
func SturdyUnlock(k sys.Kernel, m *shmtx.Shared) {
	if k.AtomicCmpSet(&m.Lock, uint64(k.Getpid()), 0) && k.AtomicLoad(&m.Wait) > 0 {
		wakeOne(k, m)
	}
}

// Bury frees the lock if the dead process pid had it, and reports whether it
// did. It always wakes a waiter: the dead may have been woken, or have been
// about to wake somebody.
func Bury(k sys.Kernel, m *shmtx.Shared, pid int) bool {
	held := k.AtomicCmpSet(&m.Lock, uint64(pid), 0)
	wakeOne(k, m)
	return held
}

// wakeOne has one sleeper look again, and whoever is about to sleep.
func wakeOne(k sys.Kernel, m *shmtx.Shared) {
	for {
		n := k.FutexLoad(&m.Sem.Value)
		if k.FutexCmpSet(&m.Sem.Value, n, n+1) {
			break
		}
	}
	k.FutexWake(&m.Sem.Value, 1)
}
