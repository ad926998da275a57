package process

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// What the master's end of a channel raises SIGIO for: not that the worker has
// read a message, unless the channel was full; that the worker has closed its
// end. The signal goes to this thread, which blocks it, so that it can be seen
// whether it has come.
func TestWhatRaisesSIGIO(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, err := blockSignals()
	if err != nil {
		t.Fatal(err)
	}
	defer restore()

	p, _ := newProcess(must(sys.New()))
	var e Entry
	if p.openChannel(p.Cycle, &e, "worker") != core.OK {
		t.Fatal("no channel")
	}
	defer unix.Close(e.Channel[0])
	owner := [2]int32{0, int32(unix.Gettid())} // F_OWNER_TID, in place of the process
	if _, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(e.Channel[0]), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner))); errno != 0 {
		t.Fatal(errno)
	}

	send(t, p, e.Channel[0], Channel{Command: CmdReopen, Fd: -1})
	drain(p, e.Channel[1])
	if raised() {
		t.Error("a message was read: SIGIO")
	}

	for full := core.OK; full == core.OK; {
		full = WriteChannel(p.Cycle.Kernel, e.Channel[0], &Channel{Command: CmdReopen, Fd: -1}, p.Cycle.Log)
	}
	drain(p, e.Channel[1])
	if !raised() {
		t.Error("there is room again: no SIGIO")
	}

	unix.Close(e.Channel[1])
	if !raised() {
		t.Error("the other end is closed: no SIGIO")
	}
}

// drain reads all messages of a channel.
func drain(p *Process, fd int) {
	var ch Channel
	for ReadChannel(p.Cycle.Kernel, fd, &ch, p.Cycle.Log) > 0 {
	}
}

// raised reports whether SIGIO waits for this thread, and takes it away.
func raised() bool {
	set := uint64(1) << (syscall.SIGIO - 1)
	var now unix.Timespec
	signo, _, _ := unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0,
		uintptr(unsafe.Pointer(&now)), unsafe.Sizeof(set), 0, 0)
	return int(signo) == int(syscall.SIGIO)
}
