package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab02"
)

// guard is part B: one process's handle on the lock. Give it the fields that
// it needs.
type guard struct {
	k    sys.Kernel
	fd   int               // of the lock file
	same func(fd int) bool // reports whether fd is a descriptor of the lock file too
}

// NewGuard returns a guard of the lock file on fd. The lock is not taken.
func NewGuard(k sys.Kernel, fd int, same func(fd int) bool) lab02.Guard {
	return &guard{k: k, fd: fd, same: same}
}

// Trylock takes the lock if no other process has it.
func (g *guard) Trylock() bool {
	lab.TODO("guard.Trylock")
	return false
}

// Lock waits until it has the lock, whatever signals come.
func (g *guard) Lock() {
	lab.TODO("guard.Lock")
}

// Unlock lets go of the lock.
func (g *guard) Unlock() {
	lab.TODO("guard.Unlock")
}

// Close is what the process calls to close any of its descriptors.
func (g *guard) Close(fd int) sys.Errno {
	lab.TODO("guard.Close")
	return 0
}
