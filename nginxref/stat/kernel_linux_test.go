package stat

import (
	"runtime"
	"testing"

	"herd/nginxref/sys"
)

// The thread sleeps once in a wait that times out; the runtime may add a
// sleep of its own, and its preemption signal may end a wait.
//
//	t0
//	 |
//	e0
//	 |
//	n0   eventfd, edge-triggered
func TestRealKernelsReturnsAreCountedByCause(t *testing.T) {
	const waits = 50

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	linux, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}
	slot := new(Worker)
	k := NewKernel(linux, slot, notify, func() int { return 0 })
	e0, _ := k.EpollCreate()
	defer k.Close(e0)
	n0, errno := k.Eventfd()
	defer k.Close(n0)
	if errno != 0 {
		t.Fatal(errno)
	}
	if err := k.EpollCtl(e0, sys.EPOLL_CTL_ADD, n0, sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, notify)); err != 0 {
		t.Fatal(err)
	}

	list := make([]sys.EpollEvent, 4)
	var interrupted uint64
	wait := func(msec int) {
		if _, err := k.EpollWait(e0, list, msec); err == sys.EINTR {
			interrupted++
		} else if err != 0 {
			t.Fatal(err)
		}
	}
	for range waits {
		wait(1)
	}
	if slot.ReturnsTimeout != waits-interrupted || slot.ReturnsSignal != interrupted || slot.ReturnsEvents != 0 {
		t.Errorf("%d timeouts, %d signals, %d events after %d waits, %d interrupted",
			slot.ReturnsTimeout, slot.ReturnsSignal, slot.ReturnsEvents, waits, interrupted)
	}
	if slot.WakeupsTimeout < slot.ReturnsTimeout || slot.Wakeups < slot.WakeupsTimeout {
		t.Errorf("%d wakeups, %d of them in the %d waits that timed out",
			slot.Wakeups, slot.WakeupsTimeout, slot.ReturnsTimeout)
	}

	for range waits {
		if n, err := k.Write(n0, []byte{1, 0, 0, 0, 0, 0, 0, 1}); n != 8 {
			t.Fatal(err)
		}
		wait(0)
	}
	if slot.ReturnsSignal != waits+interrupted || slot.ReturnsEvents != 0 {
		t.Errorf("%d signals and %d events after %d writes", slot.ReturnsSignal, slot.ReturnsEvents, waits)
	}
	if slot.CtlAdds != 1 || slot.CPUNsec() == 0 {
		t.Errorf("%d additions, %d ns of CPU", slot.CtlAdds, slot.CPUNsec())
	}
	if n := testing.AllocsPerRun(100, func() { wait(0) }); n != 0 {
		t.Errorf("a wait allocates %v times", n)
	}
}
