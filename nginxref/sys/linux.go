//go:build linux

package sys

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Linux is the real kernel. Calls that may sleep for long take the
// scheduler's blocking path; the others are raw, which saves the scheduler's
// bookkeeping (about 60 ns) but would stall the process if they slept.
//
// DIVERGES: every descriptor is made close-on-exec, because a worker is a new
// program that gets what it needs by number (package process). nginx's workers
// are forked and find all open, and only what must not go to a new binary is
// close-on-exec.
type Linux struct{ pid int }

// New returns the real kernel for this process.
func New() (Kernel, error) { return &Linux{pid: os.Getpid()}, nil }

// Getpid returns the id read when the kernel was made: getpid is a system
// call and a process's id does not change.
func (k *Linux) Getpid() int { return k.pid }

// processStart anchors MonotonicNsec: time.Since reads the monotonic clock
// through the vDSO, without a system call, and starts from it.
var processStart, processStartNsec = time.Now(), monotonicNsec()

func monotonicNsec() uint64 {
	var ts unix.Timespec

	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return uint64(ts.Nano())
}

func (k *Linux) MonotonicNsec() uint64 {
	return processStartNsec + uint64(time.Since(processStart))
}

func (k *Linux) Gettimeofday() (sec int64, msec int) {
	t := time.Now() // the vDSO: no system call
	return t.Unix(), t.Nanosecond() / 1e6
}

func (k *Linux) Setitimer(msec uint64) Errno {
	every := unix.NsecToTimeval(int64(msec) * 1e6)
	it := unix.Itimerval{Interval: every, Value: every}
	_, _, err := unix.RawSyscall(unix.SYS_SETITIMER, uintptr(unix.ItimerReal), uintptr(unsafe.Pointer(&it)), 0)
	return err
}

func (k *Linux) Close(fd int) Errno {
	_, _, err := unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	return err
}

func (k *Linux) Read(fd int, p []byte) (int, Errno) {
	n, _, err := unix.RawSyscall(unix.SYS_READ, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), err
}

func (k *Linux) Write(fd int, p []byte) (int, Errno) {
	n, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), err
}

// EpollCreate is epoll_create1.
//
// DIVERGES: nginx has epoll_create, with a number that the kernel has not looked
// at since Linux 2.6.8 and without flags. arm64 has no such call.
func (k *Linux) EpollCreate() (int, Errno) {
	fd, _, err := unix.RawSyscall(unix.SYS_EPOLL_CREATE1, unix.EPOLL_CLOEXEC, 0, 0)
	return int(fd), err
}

func (k *Linux) EpollCtl(ep, op, fd int, ev EpollEvent) Errno {
	_, _, err := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(ep), uintptr(op),
		uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	return err
}

// EpollWait is epoll_pwait without a mask.
//
// DIVERGES: nginx has epoll_wait, which is the same. arm64 has no such call.
func (k *Linux) EpollWait(ep int, list []EpollEvent, msec int) (int, Errno) {
	if msec == 0 {
		n, _, err := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep),
			uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)), 0, 0, 0)
		return int(n), err
	}

	// A raw call that sleeps would be interrupted by the runtime's monitor
	// every 10 ms; this path tells the scheduler that the thread is away.
	n, _, err := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep),
		uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)), uintptr(msec), 0, 0)
	return int(n), err
}

// Eventfd is eventfd2.
//
// DIVERGES: nginx's has no flags. Here a raw read or write that slept would
// stall the process.
func (k *Linux) Eventfd() (int, Errno) {
	fd, _, err := unix.RawSyscall(unix.SYS_EVENTFD2, 0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC, 0)
	return int(fd), err
}

// Accept4 does not use unix.Accept4, which allocates an address on every
// call, failed ones included.
//
// DIVERGES: nginx has SOCK_NONBLOCK only; see Linux.
func (k *Linux) Accept4(fd int, sa *Sockaddr) (int, Errno) {
	sa.Len = uint32(len(sa.Raw))
	s, _, err := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd),
		uintptr(unsafe.Pointer(&sa.Raw)), uintptr(unsafe.Pointer(&sa.Len)),
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(s), err
}

func (k *Linux) Recv(fd int, p []byte) (int, Errno) {
	n, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n), err
}

func (k *Linux) Send(fd int, p []byte) (int, Errno) {
	n, _, err := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n), err
}

// iovMax is how many pieces one Writev sends; nginx gathers as many
// (NGX_IOVS_PREALLOCATE).
const iovMax = 64

func (k *Linux) Writev(fd int, pieces [][]byte) (int, Errno) {
	var iov [iovMax]unix.Iovec

	n := 0
	for _, p := range pieces {
		if len(p) == 0 {
			continue
		}
		if n == iovMax {
			break
		}
		iov[n].Base = unsafe.SliceData(p)
		iov[n].SetLen(len(p))
		n++
	}
	sent, _, err := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd),
		uintptr(unsafe.Pointer(&iov)), uintptr(n))
	return int(sent), err
}

func (k *Linux) Nread(fd int) (int, Errno) {
	var n int32

	_, _, err := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCINQ,
		uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

func (k *Linux) SetsockoptInt(fd, level, opt, value int) Errno {
	v := int32(value)
	_, _, err := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level),
		uintptr(opt), uintptr(unsafe.Pointer(&v)), unsafe.Sizeof(v), 0)
	return err
}

func (k *Linux) Shutdown(fd int) Errno {
	_, _, err := unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), unix.SHUT_WR, 0)
	return err
}

func (k *Linux) Socketpair() ([2]int, Errno) {
	var s [2]int32

	_, _, err := unix.RawSyscall6(unix.SYS_SOCKETPAIR, unix.AF_UNIX,
		unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0, uintptr(unsafe.Pointer(&s)), 0, 0)
	return [2]int{int(s[0]), int(s[1])}, err
}

// cmsgFd is a control message that holds one descriptor, as CMSG_SPACE(4)
// lays it out.
type cmsgFd struct {
	hdr unix.Cmsghdr
	fd  int32
	_   int32
}

func (k *Linux) Sendmsg(fd int, p []byte, pass int) (int, Errno) {
	var (
		iov  unix.Iovec
		msg  unix.Msghdr
		cmsg cmsgFd
	)

	iov.Base = unsafe.SliceData(p)
	iov.SetLen(len(p))
	msg.Iov = &iov
	msg.SetIovlen(1)

	if pass != -1 {
		cmsg.hdr.SetLen(unix.CmsgLen(4))
		cmsg.hdr.Level = unix.SOL_SOCKET
		cmsg.hdr.Type = unix.SCM_RIGHTS
		cmsg.fd = int32(pass)
		msg.Control = (*byte)(unsafe.Pointer(&cmsg))
		msg.SetControllen(int(unsafe.Sizeof(cmsg)))
	}

	n, _, err := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd),
		uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL)
	return int(n), err
}

func (k *Linux) Recvmsg(fd int, p []byte) (Message, Errno) {
	var (
		iov  unix.Iovec
		msg  unix.Msghdr
		cmsg cmsgFd
	)

	iov.Base = unsafe.SliceData(p)
	iov.SetLen(len(p))
	msg.Iov = &iov
	msg.SetIovlen(1)
	msg.Control = (*byte)(unsafe.Pointer(&cmsg))
	// CMSG_SPACE would leave room for a second descriptor, which would be
	// opened here and never be seen.
	msg.SetControllen(unix.CmsgLen(4))

	n, _, err := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd),
		uintptr(unsafe.Pointer(&msg)), unix.MSG_CMSG_CLOEXEC)
	m := Message{N: int(n), Fd: -1, Truncated: msg.Flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0}
	if err == 0 && msg.Controllen >= unix.SizeofCmsghdr+4 &&
		cmsg.hdr.Level == unix.SOL_SOCKET && cmsg.hdr.Type == unix.SCM_RIGHTS {
		m.Fd = int(cmsg.fd)
	}
	return m, err
}

func (k *Linux) AtomicLoad(word *Atomic) uint64 { return word.Load() }

func (k *Linux) AtomicCmpSet(word *Atomic, old, set uint64) bool {
	return word.CompareAndSwap(old, set)
}

func (k *Linux) AtomicFetchAdd(word *Atomic, delta int64) uint64 {
	return word.Add(uint64(delta)) - uint64(delta)
}

func (k *Linux) FutexLoad(word *Futex) uint32 { return word.Load() }

func (k *Linux) FutexCmpSet(word *Futex, old, set uint32) bool {
	return word.CompareAndSwap(old, set)
}

// The futex is shared between processes, so FUTEX_PRIVATE_FLAG is not set.
const (
	futexWait = 0
	futexWake = 1
)

func (k *Linux) FutexWait(word *Futex, value uint32) Errno {
	_, _, err := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
		futexWait, uintptr(value), 0, 0, 0)
	return err
}

func (k *Linux) FutexWake(word *Futex, n int) (int, Errno) {
	woken, _, err := unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
		futexWake, uintptr(n))
	return int(woken), err
}

func (k *Linux) CPUPause() { cpuPause() }

func (k *Linux) SchedYield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

func (k *Linux) FcntlLock(fd int, lock, wait bool) Errno {
	fl := unix.Flock_t{Type: unix.F_UNLCK}
	if lock {
		fl.Type = unix.F_WRLCK
	}
	if wait {
		_, _, err := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETLKW, uintptr(unsafe.Pointer(&fl)))
		return err
	}
	_, _, err := unix.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETLK, uintptr(unsafe.Pointer(&fl)))
	return err
}
