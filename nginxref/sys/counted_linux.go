package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// entersyscall and exitsyscall tell the scheduler that the thread is away, as
// syscall.Syscall does. The runtime keeps them open to packages (gVisor's
// among them) that make system calls of their own.
//
//go:linkname entersyscall runtime.entersyscall
func entersyscall()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// SyscallCounted makes a system call that may sleep, and keeps w while it
// does. It is syscall.Syscall6 with the thread's usage read on both sides:
// outside of it the readings would also count the sleeps of Go's scheduler,
// which on a busy machine may have to wait for a lock of its own.
//
// From entersyscall on the stack must not grow. Nor may the race detector be
// called, which sync/atomic does when it is on: the thread may have lost the
// processor that the detector takes its memory from. A plain store of an
// aligned word is atomic here.
//
//go:nosplit
//go:norace
func SyscallCounted(w *Wait, trap, a1, a2, a3, a4, a5, a6 uintptr) (r uintptr, err Errno) {
	var ru unix.Rusage

	entersyscall()
	unix.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&ru)), 0)
	w.CPUNsec = uint64(ru.Utime.Sec+ru.Stime.Sec)*1e9 + uint64(ru.Utime.Usec+ru.Stime.Usec)*1e3
	w.SleepsBefore = uint64(ru.Nvcsw)
	w.Inside = 1

	r, _, err = unix.RawSyscall6(trap, a1, a2, a3, a4, a5, a6)

	w.Inside = 0
	unix.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&ru)), 0)
	w.SleepsAfter = uint64(ru.Nvcsw)
	exitsyscall()

	return r, err
}

// EpollWaitCounted takes the scheduler's blocking path even if it does not
// sleep.
func (k *Linux) EpollWaitCounted(ep int, list []EpollEvent, msec int, w *Wait) (int, Errno) {
	n, err := SyscallCounted(w, unix.SYS_EPOLL_PWAIT, uintptr(ep),
		uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)), uintptr(msec), 0, 0)
	return int(n), err
}
