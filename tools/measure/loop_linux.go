package measure

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/event"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
)

// loopKernel counts the sleeps of a worker that does not only sleep in
// epoll_wait, as stat.Kernel, which is beneath, counts those.
type loopKernel struct {
	sys.Kernel
	slot     *stat.Worker
	blocking bool // accept4 sleeps
}

func newLoopKernel(cycle *event.Cycle, blocking bool) sys.Kernel {
	return &loopKernel{cycle.Kernel, cycle.Counters, blocking}
}

// sleep makes a system call that may sleep.
func (k *loopKernel) sleep(trap, a1, a2, a3, a4 uintptr) (uintptr, sys.Errno) {
	k.slot.Ready = 1
	r, err := sys.SyscallCounted(&k.slot.Wait, trap, a1, a2, a3, a4, 0, 0)
	k.slot.Wakeups += k.slot.Wait.SleepsAfter - k.slot.Wait.SleepsBefore
	return r, err
}

func (k *loopKernel) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	if !k.blocking {
		return k.Kernel.Accept4(fd, sa)
	}
	sa.Len = uint32(len(sa.Raw))
	s, err := k.sleep(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&sa.Raw)),
		uintptr(unsafe.Pointer(&sa.Len)), unix.SOCK_CLOEXEC)
	runtime.KeepAlive(sa)
	k.slot.CountAccept(err)
	return int(s), err
}

// futexWait is FUTEX_WAIT of <linux/futex.h>.
const futexWait = 0

func (k *loopKernel) FutexWait(word *sys.Futex, value uint32) sys.Errno {
	_, err := k.sleep(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0)
	return err
}
