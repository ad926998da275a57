package main

import (
	"herd/nginxref/core"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

// The answer to part A is nginx's own: the reference, with one processor, so
// that it sleeps without spinning first.

func reference(k sys.Kernel, m *shmtx.Shared) *shmtx.Atomic {
	mtx := &shmtx.Atomic{Kernel: k, Log: &core.Log{}, Ncpu: 1}
	mtx.Create(m)
	return mtx
}

func Trylock(k sys.Kernel, m *shmtx.Shared) bool { return reference(k, m).Trylock() }

func Lock(k sys.Kernel, m *shmtx.Shared) { reference(k, m).Lock() }

func Unlock(k sys.Kernel, m *shmtx.Shared) { reference(k, m).Unlock() }

func ForceUnlock(k sys.Kernel, m *shmtx.Shared, pid int) bool {
	return reference(k, m).ForceUnlock(pid)
}
