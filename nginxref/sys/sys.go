// Package sys is the seam between nginx's event core and the machine: every
// system call the core makes, behind one interface.
//
// On Linux, [Linux] is the real thing. Nothing in it allocates, because
// accept, read and write run once or more for every connection.
//
// Calls report failure by an [Errno], not by an error: 0 is success. A result
// next to a non-zero Errno has no meaning.
package sys

import (
	"sync/atomic"
	"syscall"
)

// Errno is the error number of a system call; 0 means success.
type Errno = syscall.Errno

// The error numbers that the core tells apart.
const (
	EAGAIN       = syscall.EAGAIN
	EINTR        = syscall.EINTR
	EMFILE       = syscall.EMFILE
	ENFILE       = syscall.ENFILE
	ENOSPC       = syscall.ENOSPC
	ENOSYS       = syscall.ENOSYS
	EINVAL       = syscall.EINVAL
	EPIPE        = syscall.EPIPE
	ETIMEDOUT    = syscall.ETIMEDOUT
	ENOTCONN     = syscall.ENOTCONN
	ECONNRESET   = syscall.ECONNRESET
	ECONNABORTED = syscall.ECONNABORTED
	ECONNREFUSED = syscall.ECONNREFUSED
	ENETDOWN     = syscall.ENETDOWN
	ENETUNREACH  = syscall.ENETUNREACH
	EHOSTDOWN    = syscall.EHOSTDOWN
	EHOSTUNREACH = syscall.EHOSTUNREACH
)

// Epoll event bits and operations, as in <sys/epoll.h>. They are spelled out
// so that the core compiles where the kernel has no epoll.
const (
	EPOLLIN        = 0x1
	EPOLLOUT       = 0x4
	EPOLLERR       = 0x8
	EPOLLHUP       = 0x10
	EPOLLRDHUP     = 0x2000
	EPOLLEXCLUSIVE = 1 << 28
	EPOLLONESHOT   = 1 << 30
	EPOLLET        = 1 << 31

	EPOLL_CTL_ADD = 1
	EPOLL_CTL_DEL = 2
	EPOLL_CTL_MOD = 3
)

// Atomic is a word of shared memory, nginx's ngx_atomic_t: 8 bytes, aligned.
type Atomic = atomic.Uint64

// Futex is a 4-byte word of shared memory that a process can sleep on.
type Futex = atomic.Uint32

// Kernel is what nginx's event core asks of the operating system. Descriptors
// are plain numbers; times are milliseconds unless the name says otherwise.
//
// A Kernel belongs to one process and is called from its loop thread only,
// except for Write on an eventfd, which is how another thread wakes the loop.
type Kernel interface {
	// Getpid returns the process's own id, the value that owns a lock word.
	Getpid() int

	// MonotonicNsec reads CLOCK_MONOTONIC in nanoseconds.
	MonotonicNsec() uint64
	// Gettimeofday reads the wall clock: seconds and milliseconds.
	Gettimeofday() (sec int64, msec int)

	// Setitimer has the process get SIGALRM every msec milliseconds
	// (ITIMER_REAL); 0 ends it.
	Setitimer(msec uint64) Errno

	Close(fd int) Errno
	Read(fd int, p []byte) (n int, err Errno)
	Write(fd int, p []byte) (n int, err Errno)

	// EpollCreate makes an epoll instance, close-on-exec.
	EpollCreate() (fd int, err Errno)
	// EpollCtl adds, modifies or deletes fd's registration in ep.
	EpollCtl(ep, op, fd int, ev EpollEvent) Errno
	// EpollWait fills list and returns how many events it holds. It sleeps
	// for at most msec milliseconds; -1 is for ever, 0 does not sleep.
	EpollWait(ep int, list []EpollEvent, msec int) (n int, err Errno)
	// EpollWaitCounted is EpollWait that keeps w on the way.
	EpollWaitCounted(ep int, list []EpollEvent, msec int, w *Wait) (n int, err Errno)
	// Eventfd makes a counter that other threads add to by Write,
	// non-blocking and close-on-exec.
	Eventfd() (fd int, err Errno)

	// Accept4 takes one connection off fd's queue, non-blocking and
	// close-on-exec, and stores the peer's address in sa.
	Accept4(fd int, sa *Sockaddr) (s int, err Errno)
	Recv(fd int, p []byte) (n int, err Errno)
	Send(fd int, p []byte) (n int, err Errno)
	// Writev sends the pieces in one call, in order.
	Writev(fd int, pieces [][]byte) (n int, err Errno)
	// Nread returns the bytes waiting in a socket (FIONREAD).
	Nread(fd int) (n int, err Errno)
	// SetsockoptInt sets an integer socket option.
	SetsockoptInt(fd, level, opt, value int) Errno
	// Shutdown closes the sending half of a connection (SHUT_WR).
	Shutdown(fd int) Errno
	// Socketpair makes two connected AF_UNIX stream sockets,
	// close-on-exec.
	Socketpair() (fds [2]int, err Errno)
	// Sendmsg sends p and, unless pass is -1, the descriptor pass with
	// SCM_RIGHTS.
	Sendmsg(fd int, p []byte, pass int) (n int, err Errno)
	// Recvmsg receives at most len(p) bytes and at most one descriptor,
	// close-on-exec. m.Fd is -1 when none came.
	Recvmsg(fd int, p []byte) (m Message, err Errno)

	// AtomicLoad, AtomicCmpSet and AtomicFetchAdd are operations on shared
	// memory. They are here so that a deterministic kernel can switch
	// processes at each of them.
	AtomicLoad(word *Atomic) uint64
	AtomicCmpSet(word *Atomic, old, set uint64) bool
	// AtomicFetchAdd adds delta and returns the value before.
	AtomicFetchAdd(word *Atomic, delta int64) uint64
	// FutexLoad and FutexCmpSet are the same for the 4-byte word.
	FutexLoad(word *Futex) uint32
	FutexCmpSet(word *Futex, old, set uint32) bool
	// FutexWait sleeps while *word == value; EAGAIN if it already differs,
	// EINTR if a signal came first.
	FutexWait(word *Futex, value uint32) Errno
	// FutexWake wakes at most n processes that sleep on word.
	FutexWake(word *Futex, n int) (woken int, err Errno)
	// CPUPause tells the processor that this is a spin loop.
	CPUPause()
	// SchedYield gives the rest of the time slice away.
	SchedYield()

	// FcntlLock sets or clears (exclusive or unlock) the process's record
	// lock on the whole of fd: F_SETLKW when wait is set, else F_SETLK.
	FcntlLock(fd int, lock, wait bool) Errno
}

// Message is what Recvmsg returns.
type Message struct {
	N         int  // bytes of data
	Fd        int  // descriptor received, or -1
	Truncated bool // MSG_TRUNC or MSG_CTRUNC was set
}

// Wait is what a thread knows of itself around a call that may sleep. It may
// lie in shared memory: the thread writes, others may read.
type Wait struct {
	Inside       uint64 // 1 during the call, else 0
	SleepsBefore uint64 // the thread's voluntary context switches so far
	SleepsAfter  uint64 // the same after the call
	CPUNsec      uint64 // the thread's CPU time before the call
}
