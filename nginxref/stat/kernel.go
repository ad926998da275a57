package stat

import (
	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

// Kernel counts in a worker's slot what its loop asks of the kernel beneath.
// It stands between the two so that the mirrored code need not count.
type Kernel struct {
	sys.Kernel
	Slot *Worker
	// NotifyData is what the loop's eventfd reports: a return for that alone
	// was caused by a signal.
	NotifyData uint64
	// Connections returns how many connections are in use.
	Connections func() int
}

// NewKernel returns a kernel that counts in slot, which this process owns from
// now on.
func NewKernel(kernel sys.Kernel, slot *Worker, notifyData uint64, connections func() int) *Kernel {
	slot.Ready = 0 // first: a reader must not take the successor for ready
	slot.Pid = uint64(kernel.Getpid())
	slot.CPUBase = slot.CPUNsec()
	slot.Wait = sys.Wait{}
	return &Kernel{
		Kernel:      kernel,
		Slot:        slot,
		NotifyData:  notifyData,
		Connections: connections,
	}
}

// EpollWait counts the return by its cause and the wakeups on the way to it.
func (k *Kernel) EpollWait(ep int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	s := k.Slot
	s.Connections = uint64(k.Connections())
	s.Ready = 1

	n, err := k.Kernel.EpollWaitCounted(ep, list, msec, &s.Wait)

	wakeups := s.Wait.SleepsAfter - s.Wait.SleepsBefore
	s.Wakeups += wakeups

	switch {
	case err != 0 || n == 1 && list[0].Data() == k.NotifyData:
		s.ReturnsSignal++
	case n == 0:
		s.ReturnsTimeout++
		s.WakeupsTimeout += min(1, wakeups)
	default:
		s.ReturnsEvents++
	}
	return n, err
}

// EpollCtl counts additions and deletions of registrations that succeeded.
func (k *Kernel) EpollCtl(ep, op, fd int, ev sys.EpollEvent) sys.Errno {
	err := k.Kernel.EpollCtl(ep, op, fd, ev)
	if err == 0 {
		switch op {
		case sys.EPOLL_CTL_ADD:
			k.Slot.CtlAdds++
		case sys.EPOLL_CTL_DEL:
			k.Slot.CtlDels++
		}
	}
	return err
}

// Accept4 counts by result.
func (k *Kernel) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	s, err := k.Kernel.Accept4(fd, sa)
	k.Slot.CountAccept(err)
	return s, err
}

// CountAccept counts one accept4 by its result.
func (w *Worker) CountAccept(err sys.Errno) {
	switch err {
	case 0:
		w.Accepted++
	case sys.EAGAIN:
		w.AcceptAgain++
	case sys.EMFILE, sys.ENFILE:
		w.AcceptMfile++
	default:
		w.AcceptOther++
	}
}

// Mutex counts tries, wins and the time held of the lock beneath.
type Mutex struct {
	shmtx.Mutex
	Slot   *Worker
	Kernel sys.Kernel

	since uint64 // when the lock was won, nanoseconds; 0 while not held
}

// Trylock counts the try and, if it won, starts the clock.
func (m *Mutex) Trylock() bool {
	m.Slot.LockTries++
	if !m.Mutex.Trylock() {
		return false
	}
	m.Slot.LockWins++
	m.since = m.Kernel.MonotonicNsec()
	return true
}

// Unlock stops the clock.
func (m *Mutex) Unlock() {
	if m.since != 0 {
		m.Slot.LockHoldNsec += m.Kernel.MonotonicNsec() - m.since
		m.since = 0
	}
	m.Mutex.Unlock()
}
