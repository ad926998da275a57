package stat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

const notify = 0xfffffffe

// scripted is a kernel whose next answers the test sets.
type scripted struct {
	sys.Kernel
	events []uint64 // data of what EpollWait returns
	err    sys.Errno
	slept  uint64 // how often the thread sleeps in EpollWait
	burnt  uint64 // CPU time that EpollWait takes
	sleeps uint64
	cpu    uint64
	now    uint64
	during func() // called in the middle of EpollWait
}

func (k *scripted) Getpid() int           { return 77 }
func (k *scripted) MonotonicNsec() uint64 { return k.now }

func (k *scripted) EpollWaitCounted(ep int, list []sys.EpollEvent, msec int, w *sys.Wait) (int, sys.Errno) {
	w.SleepsBefore, w.CPUNsec = k.sleeps, k.cpu
	defer func() { w.SleepsAfter = k.sleeps }()
	if k.during != nil {
		k.during()
	}
	k.sleeps += k.slept
	k.cpu += k.burnt
	for i, data := range k.events {
		list[i] = sys.MakeEpollEvent(sys.EPOLLIN, data)
	}
	if k.err != 0 {
		return -1, k.err
	}
	return len(k.events), 0
}

func (k *scripted) EpollCtl(ep, op, fd int, ev sys.EpollEvent) sys.Errno { return k.err }

func (k *scripted) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	if k.err != 0 {
		return -1, k.err
	}
	return 9, 0
}

func newKernel(k *scripted) (*Kernel, *Worker) {
	slot := new(Worker)
	return NewKernel(k, slot, notify, func() int { return 3 }), slot
}

func TestReturnsAreCountedByCause(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []uint64
		err    sys.Errno
		slept  uint64
		want   Worker
	}{
		{"an event, without sleep", []uint64{2}, 0, 0, Worker{ReturnsEvents: 1}},
		{"an event, after sleep", []uint64{2}, 0, 1, Worker{ReturnsEvents: 1, Wakeups: 1}},
		{"an event, after silent wakeups", []uint64{2}, 0, 3, Worker{ReturnsEvents: 1, Wakeups: 3}},
		{"many events", []uint64{2, 4, 6}, 0, 1, Worker{ReturnsEvents: 1, Wakeups: 1}},
		{"timeout", nil, 0, 1, Worker{ReturnsTimeout: 1, Wakeups: 1, WakeupsTimeout: 1}},
		// Only the last of the three was the timeout's.
		{"timeout, after silent wakeups", nil, 0, 3, Worker{ReturnsTimeout: 1, Wakeups: 3, WakeupsTimeout: 1}},
		{"a look without waiting", nil, 0, 0, Worker{ReturnsTimeout: 1}},
		{"signal, by the eventfd", []uint64{notify}, 0, 1, Worker{ReturnsSignal: 1, Wakeups: 1}},
		{"signal and an event", []uint64{notify, 2}, 0, 1, Worker{ReturnsEvents: 1, Wakeups: 1}},
		{"an event and signal", []uint64{2, notify}, 0, 1, Worker{ReturnsEvents: 1, Wakeups: 1}},
		{"EINTR", nil, sys.EINTR, 1, Worker{ReturnsSignal: 1, Wakeups: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, slot := newKernel(&scripted{events: c.events, err: c.err, slept: c.slept})
			n, err := k.EpollWait(4, make([]sys.EpollEvent, 8), 100)
			if err != c.err || err == 0 && n != len(c.events) {
				t.Errorf("returned %d, %v", n, err)
			}
			if diff := cmp.Diff(c.want, *slot, causes); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// causes leaves out of a comparison what every wait sets.
var causes = cmp.Options{
	cmpopts.IgnoreFields(Worker{}, "Pid", "Ready", "Connections", "Wait", "CPUBase"),
	cmpopts.IgnoreUnexported(Worker{}),
}

// What a wait leaves behind in the kernel's list must not be taken for the
// answer of the next.
func TestTimeoutIsNotTakenForTheLastSignal(t *testing.T) {
	beneath := &scripted{events: []uint64{notify}}
	k, slot := newKernel(beneath)
	list := make([]sys.EpollEvent, 8)
	k.EpollWait(4, list, 100)
	beneath.events = nil
	k.EpollWait(4, list, 100)
	if slot.ReturnsSignal != 1 || slot.ReturnsTimeout != 1 {
		t.Errorf("%d signals and %d timeouts, want one each", slot.ReturnsSignal, slot.ReturnsTimeout)
	}
}

// The slot tells a reader, while the worker sleeps, who it is and what it has.
func TestSlotIsUpToDateBeforeTheWait(t *testing.T) {
	beneath := &scripted{cpu: 500, burnt: 40}
	k, slot := newKernel(beneath)
	if slot.Pid != 77 || slot.Ready != 0 {
		t.Errorf("before the first wait: pid %d, ready %d; want 77, 0", slot.Pid, slot.Ready)
	}
	var during Worker
	beneath.during = func() { during = *slot }
	k.EpollWait(4, make([]sys.EpollEvent, 1), 100)
	if during.Ready != 1 || during.Connections != 3 || during.CPUNsec() != 500 {
		t.Errorf("in the wait: ready %d, connections %d, CPU %d ns; want 1, 3, 500",
			during.Ready, during.Connections, during.CPUNsec())
	}
	k.EpollWait(4, make([]sys.EpollEvent, 1), 100)
	if during.CPUNsec() != 540 {
		t.Errorf("CPU %d ns in the next wait, want 540", during.CPUNsec())
	}
}

// CASES D33: totals never decrease, also across a respawn.
func TestRespawnedWorkerGoesOnCounting(t *testing.T) {
	first := &scripted{cpu: 700, events: []uint64{2}}
	k, slot := newKernel(first)
	k.EpollWait(4, make([]sys.EpollEvent, 1), 100)
	k.Accept4(5, new(sys.Sockaddr))

	second := &scripted{cpu: 20, events: []uint64{2}}
	k = NewKernel(second, slot, notify, func() int { return 0 })
	if slot.Ready != 0 {
		t.Error("the successor is ready before its first wait")
	}
	k.EpollWait(4, make([]sys.EpollEvent, 1), 100)
	k.Accept4(5, new(sys.Sockaddr))
	if slot.CPUNsec() != 720 || slot.ReturnsEvents != 2 || slot.Accepted != 2 {
		t.Errorf("CPU %d ns, %d returns, %d accepted; want 720, 2, 2", slot.CPUNsec(), slot.ReturnsEvents, slot.Accepted)
	}
}

func TestAcceptsAreCountedByResult(t *testing.T) {
	for _, c := range []struct {
		err  sys.Errno
		want Worker
	}{
		{0, Worker{Accepted: 1}},
		{sys.EAGAIN, Worker{AcceptAgain: 1}},
		{sys.EMFILE, Worker{AcceptMfile: 1}},
		{sys.ENFILE, Worker{AcceptMfile: 1}},
		{sys.ECONNABORTED, Worker{AcceptOther: 1}},
		{sys.EINTR, Worker{AcceptOther: 1}},
	} {
		k, slot := newKernel(&scripted{err: c.err})
		if s, err := k.Accept4(5, new(sys.Sockaddr)); err != c.err || err == 0 && s != 9 {
			t.Errorf("%v: returned %d, %v", c.err, s, err)
		}
		if diff := cmp.Diff(c.want, *slot, causes); diff != "" {
			t.Errorf("%v: -want +got\n%s", c.err, diff)
		}
	}
}

func TestRegistrationsAreCountedIfTheySucceed(t *testing.T) {
	beneath := &scripted{}
	k, slot := newKernel(beneath)
	for _, op := range []int{sys.EPOLL_CTL_ADD, sys.EPOLL_CTL_ADD, sys.EPOLL_CTL_MOD, sys.EPOLL_CTL_DEL} {
		k.EpollCtl(4, op, 5, sys.EpollEvent{})
	}
	beneath.err = sys.EINVAL
	for _, op := range []int{sys.EPOLL_CTL_ADD, sys.EPOLL_CTL_DEL} {
		if err := k.EpollCtl(4, op, 5, sys.EpollEvent{}); err != sys.EINVAL {
			t.Errorf("operation %d: %v", op, err)
		}
	}
	if slot.CtlAdds != 2 || slot.CtlDels != 1 {
		t.Errorf("%d additions and %d deletions, want 2 and 1", slot.CtlAdds, slot.CtlDels)
	}
}

// lock is a mutex that another process holds while taken is set.
type lock struct {
	shmtx.Mutex
	taken, held bool
	unlocks     int
}

func (l *lock) Trylock() bool { l.held = !l.taken; return l.held }
func (l *lock) Unlock()       { l.held = false; l.unlocks++ }

func TestMutexCountsTriesWinsAndTheTimeHeld(t *testing.T) {
	k := &scripted{now: 1000}
	slot := new(Worker)
	beneath := &lock{}
	m := &Mutex{Mutex: beneath, Slot: slot, Kernel: k}

	if !m.Trylock() {
		t.Fatal("a free lock was not won")
	}
	k.now += 250
	m.Unlock()
	k.now += 10_000 // not held
	beneath.taken = true
	if m.Trylock() {
		t.Fatal("a taken lock was won")
	}
	k.now += 10_000
	// nginx unlocks at the end of a turn whether or not it still has the lock.
	m.Unlock()
	beneath.taken = false
	m.Trylock()
	k.now += 50
	m.Unlock()

	want := Worker{LockTries: 3, LockWins: 2, LockHoldNsec: 300}
	if diff := cmp.Diff(want, *slot, causes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if beneath.unlocks != 3 || beneath.held {
		t.Errorf("%d unlocks reached the lock beneath, want 3", beneath.unlocks)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	k, _ := newKernel(&scripted{events: []uint64{2}})
	list := make([]sys.EpollEvent, 8)
	var sa sys.Sockaddr
	for name, f := range map[string]func(){
		"EpollWait": func() { k.EpollWait(4, list, 0) },
		"EpollCtl":  func() { k.EpollCtl(4, sys.EPOLL_CTL_ADD, 5, sys.EpollEvent{}) },
		"Accept4":   func() { k.Accept4(5, &sa) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
