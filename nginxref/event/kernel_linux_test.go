package event

import (
	"testing"

	"herd/nginxref/sys"
)

// patience bounds the wait for what must happen at once, in milliseconds;
// reaching it is a failure.
const patience = 30_000

// kernel is the real one. It notes what the loop asks of it, and a test can
// have it answer something else.
type kernel struct {
	sys.Kernel
	t   testing.TB
	pid int // to the lock, two cycles of different pid are two processes

	waits   []int // timeouts asked of EpollWait, milliseconds
	ctls    []ctl
	accepts []sys.Errno // results of Accept4
	recvs   int

	// Answers in the kernel's place; a 0 in a list is the kernel's own.
	wait   func(list []sys.EpollEvent, msec int) (int, sys.Errno)
	refuse []sys.Errno // to Accept4
	fail   []sys.Errno // to Recv and Send
	now    uint64      // to MonotonicNsec, unless 0
}

// ctl is one call of EpollCtl.
type ctl struct {
	Op, Fd int
	Events uint32
}

func (k *kernel) Getpid() int { return k.pid }

func (k *kernel) MonotonicNsec() uint64 {
	if k.now != 0 {
		return k.now
	}
	return k.Kernel.MonotonicNsec()
}

func (k *kernel) EpollWait(ep int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	return k.EpollWaitCounted(ep, list, msec, new(sys.Wait))
}

// EpollWaitCounted goes on after the signals by which the Go runtime preempts,
// which a worker has switched off, and fails the test rather than sleep for
// ever.
func (k *kernel) EpollWaitCounted(ep int, list []sys.EpollEvent, msec int, u *sys.Wait) (int, sys.Errno) {
	k.waits = append(k.waits, msec)
	if k.wait != nil {
		return k.wait(list, msec)
	}
	bound := msec
	if msec < 0 || msec > patience {
		bound = patience
	}
	n, err := k.Kernel.EpollWaitCounted(ep, list, bound, u)
	for err == sys.EINTR {
		n, err = k.Kernel.EpollWaitCounted(ep, list, bound, u)
	}
	if n == 0 && bound != msec {
		k.t.Fatalf("nothing happens in a wait of %d ms", msec)
	}
	return n, err
}

func (k *kernel) EpollCtl(ep, op, fd int, ev sys.EpollEvent) sys.Errno {
	k.ctls = append(k.ctls, ctl{op, fd, ev.Events})
	return k.Kernel.EpollCtl(ep, op, fd, ev)
}

func (k *kernel) Accept4(fd int, sa *sys.Sockaddr) (s int, err sys.Errno) {
	if err = next(&k.refuse); err == 0 {
		s, err = k.Kernel.Accept4(fd, sa)
	}
	k.accepts = append(k.accepts, err)
	return s, err
}

func (k *kernel) Recv(fd int, p []byte) (int, sys.Errno) {
	k.recvs++
	if err := next(&k.fail); err != 0 {
		return -1, err
	}
	return k.Kernel.Recv(fd, p)
}

func (k *kernel) Send(fd int, p []byte) (int, sys.Errno) {
	if err := next(&k.fail); err != 0 {
		return -1, err
	}
	return k.Kernel.Send(fd, p)
}

// next takes the first of the answers, 0 when there is none.
func next(answers *[]sys.Errno) (err sys.Errno) {
	if len(*answers) > 0 {
		err, *answers = (*answers)[0], (*answers)[1:]
	}
	return err
}
