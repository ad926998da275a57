//go:build !linux

package process

import (
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// Only Linux has what these need. No process gets this far elsewhere: sys.New
// has already said so.

func setAsync(fd int) error { return syscall.ENOSYS }

func setitimer(delay core.Msec) error { return syscall.ENOSYS }

func blockSignals() (restore func(), err error) { return func() {}, syscall.ENOSYS }

func schedSetaffinity(set *event.CPUSet) error { return syscall.ENOSYS }

func setDumpable() error { return syscall.ENOSYS }

func setComm(name string) {}

func memfile(name string, data []byte) (int, error) { return -1, syscall.ENOSYS }

func ended(pid int) bool { return true }

func sysProcAttr(pdeathsig syscall.Signal) *syscall.SysProcAttr { return nil }
