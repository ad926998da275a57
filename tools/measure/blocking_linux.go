package measure

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// blockingAccept replaces the event loop: the worker sleeps in accept4, where
// the kernel keeps its own queue of waiters and wakes one a connection. The
// counters are kept as the event loop's are.
func blockingAccept(cycle *event.Cycle) {
	cycle.Modules[0].InitProcess = func(cycle *event.Cycle) core.Status {
		for {
			acceptBlocking(cycle)
		}
	}
}

// acceptBlocking waits for one connection and greets it.
func acceptBlocking(cycle *event.Cycle) {
	c := cycle.Counters
	c.Ready = 1

	var addr unix.RawSockaddrAny
	length := uint32(unsafe.Sizeof(addr))
	fd, err := sys.SyscallCounted(&c.Wait, unix.SYS_ACCEPT4, uintptr(cycle.Listening[0].Fd),
		uintptr(unsafe.Pointer(&addr)), uintptr(unsafe.Pointer(&length)), unix.SOCK_CLOEXEC, 0, 0)

	c.Wakeups += c.Wait.SleepsAfter - c.Wait.SleepsBefore
	c.CountAccept(err)
	if err == 0 {
		cycle.Kernel.Send(int(fd), greeting)
		cycle.Kernel.Close(int(fd))
	}
}
