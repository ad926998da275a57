package process

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// fioasync is FIOASYNC of <asm-generic/ioctls.h>.
const fioasync = 0x5452

// setAsync has the kernel send SIGIO to fd's owner.
func setAsync(fd int) error { return unix.IoctlSetPointerInt(fd, fioasync, 1) }

// setitimer has SIGALRM sent in delay milliseconds, once.
func setitimer(delay core.Msec) error {
	_, err := unix.Setitimer(unix.ItimerReal, unix.Itimerval{
		Value: unix.NsecToTimeval(int64(delay) * 1e6),
	})
	return err
}

// blockSignals keeps the signals that are not ignored from the calling thread,
// and from what it starts. restore ends that.
func blockSignals() (restore func(), err error) {
	var set, old unix.Sigset_t

	const wordBits = int(8 * unsafe.Sizeof(set.Val[0]))
	for i := range signals {
		if !signals[i].ignored {
			bit := int(signals[i].signo) - 1
			set.Val[bit/wordBits] |= 1 << (bit % wordBits)
		}
	}
	err = unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old)
	return func() { unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }, err
}

func schedSetaffinity(set *event.CPUSet) error {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*set),
		uintptr(unsafe.Pointer(set)))
	if errno != 0 {
		return errno
	}
	return nil
}

// setDumpable allows core dumps, which a change of user turns off.
func setDumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }

// setComm names the main thread, and so the process in a short ps, top and
// killall: the kernel took the last part of the path that was executed.
func setComm(name string) {
	os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// memfile returns a file in memory that holds data.
func memfile(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Pwrite(fd, data, 0); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ended reports whether a child has ended, and leaves it to be waited for.
func ended(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

func sysProcAttr(pdeathsig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: pdeathsig}
}
