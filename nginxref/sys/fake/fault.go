package fake

import (
	"fmt"
	"slices"
	"syscall"

	"herd/nginxref/sys"
)

// Call names a kernel call, as strace does where it can.
type Call string

// The calls of [sys.Kernel] and of Process that faults can be set at. Reading
// the clock and the own pid touches nothing that others see: they are not
// counted, not traced, and no points to switch at.
const (
	AnyCall Call = "any call"

	Accept4        Call = "accept4"
	Actor          Call = "what a client does in the code of a process"
	Close          Call = "close"
	Dup            Call = "dup"
	EpollCreate    Call = "epoll_create1"
	EpollCtl       Call = "epoll_ctl"
	EpollWait      Call = "epoll_wait"
	Eventfd        Call = "eventfd2"
	Exit           Call = "exit"
	Fcntl          Call = "fcntl"
	Ioctl          Call = "ioctl"
	Nanosleep      Call = "nanosleep"
	Open           Call = "open"
	Read           Call = "read"
	Recv           Call = "recv"
	Recvmsg        Call = "recvmsg"
	Send           Call = "send"
	Sendmsg        Call = "sendmsg"
	Setsockopt     Call = "setsockopt"
	Shutdown       Call = "shutdown"
	Socketpair     Call = "socketpair"
	Wait4          Call = "wait4"
	Write          Call = "write"
	Writev         Call = "writev"
	AtomicLoad     Call = "load"
	AtomicCmpSet   Call = "cmpset"
	AtomicFetchAdd Call = "fetchadd"
	FutexWait      Call = "futex_wait"
	FutexWake      Call = "futex_wake"
	CPUPause       Call = "pause"
	SchedYield     Call = "sched_yield"
)

// Error numbers that sys does not name.
const (
	ebadf      = syscall.EBADF
	echild     = syscall.ECHILD
	eexist     = syscall.EEXIST
	enoent     = syscall.ENOENT
	enotsock   = syscall.ENOTSOCK
	enotty     = syscall.ENOTTY
	eopnotsupp = syscall.EOPNOTSUPP
	eperm      = syscall.EPERM
)

// fault is something to go wrong instead of the n-th call from now.
type fault struct {
	call Call
	n    int
	err  sys.Errno // 0: SIGKILL
}

// Fail makes the n-th call of that kind from now, counted from 1, return err
// instead of taking effect.
func (p *Process) Fail(c Call, n int, err sys.Errno) {
	p.faults = append(p.faults, fault{c, n, err})
}

// KillAt kills the process as it is about to make its n-th call of that kind
// from now, counted from 1.
func (p *Process) KillAt(c Call, n int) { p.Fail(c, n, 0) }

// fault counts a call and returns the errno that is due in its place, or 0.
func (p *Process) fault(c Call) sys.Errno {
	for i := range p.faults {
		if f := &p.faults[i]; f.call == c || f.call == AnyCall {
			f.n--
		}
	}
	due := slices.IndexFunc(p.faults, func(f fault) bool { return f.n == 0 })
	if due < 0 {
		return 0
	}
	err := p.faults[due].err
	p.faults = slices.Delete(p.faults, due, due+1)
	if err == 0 {
		p.die(Status{Killed: true})
		p.note(func() string { return "is killed, about to call " + string(c) })
		p.w.check()
		p.leave()
	}
	p.note(func() string { return fmt.Sprintf("%s is made to fail with %s", c, errnoName(err)) })
	return err
}

// Counts is what a process did, or all of them.
type Counts struct {
	Calls int // kernel calls

	// Sleeps in the kernel and those of them that have ended: what Linux calls
	// voluntary context switches.
	Sleeps, Wakeups int
	// Silent wakeups are those that found nothing to report, so that
	// epoll_wait slept again without returning.
	Silent int

	// Returns of epoll_wait by cause. A signal is EINTR here: that a signal
	// came by an eventfd is known only to the loop, and counts as an event.
	ReturnsEvents, ReturnsTimeout, ReturnsSignal int

	// accept4 by result: a connection, EAGAIN, EMFILE or ENFILE, another error.
	Accepted, AcceptAgain, AcceptMfile, AcceptOther int

	// epoll_ctl that succeeded, by operation.
	CtlAdds, CtlMods, CtlDels int
}

// fields lists the numbers in c.
func (c *Counts) fields() [14]*int {
	return [...]*int{&c.Calls, &c.Sleeps, &c.Wakeups, &c.Silent,
		&c.ReturnsEvents, &c.ReturnsTimeout, &c.ReturnsSignal,
		&c.Accepted, &c.AcceptAgain, &c.AcceptMfile, &c.AcceptOther,
		&c.CtlAdds, &c.CtlMods, &c.CtlDels}
}

// Add returns the sum of two counts.
func (c Counts) Add(o Counts) Counts {
	sum, with := c.fields(), o.fields()
	for i := range sum {
		*sum[i] += *with[i]
	}
	return c
}

// Since returns what was counted since before.
func (c Counts) Since(before Counts) Counts {
	now, then := c.fields(), before.fields()
	for i := range now {
		*now[i] -= *then[i]
	}
	return c
}
