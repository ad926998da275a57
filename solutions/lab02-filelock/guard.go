package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab/lab02"
)

// guard puts off what would cost it the lock: a process that closes any
// descriptor of a file loses its record locks on it. SQLite does the same.
type guard struct {
	k    sys.Kernel
	fd   int
	same func(fd int) bool

	held   bool
	putOff []int // descriptors of the lock file to be closed with the lock
}

// NewGuard returns a guard of the lock file on fd.
func NewGuard(k sys.Kernel, fd int, same func(fd int) bool) lab02.Guard {
	return &guard{k: k, fd: fd, same: same}
}

// Trylock takes the lock if no other process has it.
func (g *guard) Trylock() bool {
	if g.k.FcntlLock(g.fd, true, false) == 0 {
		g.held = true
		return true
	}
	return false
}

// Lock waits until it has the lock. nginx's returns without it when a signal
// ends the wait.
func (g *guard) Lock() {
	for g.k.FcntlLock(g.fd, true, true) == sys.EINTR {
	}
	g.held = true
}

// Unlock lets go of the lock, and closes what was put off.
func (g *guard) Unlock() {
	g.k.FcntlLock(g.fd, false, false)
	g.held = false
	for _, fd := range g.putOff {
		g.k.Close(fd)
	}
	g.putOff = nil
}

// Close closes fd, unless that would let go of the lock.
func (g *guard) Close(fd int) sys.Errno {
	if g.held && g.same(fd) {
		g.putOff = append(g.putOff, fd)
		return 0
	}
	return g.k.Close(fd)
}
