package sys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

// patience bounds the wait for what must happen at once, in milliseconds;
// reaching it is a failure.
const patience = 30_000

// one is what the tests write to an eventfd: not 0 in either byte order.
var one = [8]byte{0: 1, 7: 1}

// epoll makes an epoll instance that is closed with the test.
func epoll(t *testing.T, k sys.Kernel) int {
	ep, err := k.EpollCreate()
	if err != 0 {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close(ep) })
	return ep
}

// wait returns the events of ep, waiting at most msec.
func wait(t *testing.T, k sys.Kernel, ep, msec int) []sys.EpollEvent {
	t.Helper()
	list := make([]sys.EpollEvent, 8)
	n, err := k.EpollWait(ep, list, msec)
	for err == sys.EINTR { // the runtime preempts by signals
		n, err = k.EpollWait(ep, list, msec)
	}
	if err != 0 {
		t.Fatal(err)
	}
	return list[:n]
}

func TestEpollEventHasTheKernelsLayout(t *testing.T) {
	ev := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, 0x0123456789abcdef)
	if got, want := unsafe.Sizeof(ev), unsafe.Sizeof(unix.EpollEvent{}); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got, want := unsafe.Alignof(ev), unsafe.Alignof(unix.EpollEvent{}); got > want {
		t.Errorf("aligned to %d, the kernel's to %d", got, want)
	}
	c := *(*unix.EpollEvent)(unsafe.Pointer(&ev))
	if c.Events != sys.EPOLLIN|sys.EPOLLET || uint32(c.Fd) != 0x89abcdef || c.Pad != 0x01234567 {
		t.Errorf("as the kernel sees it: %#v", c)
	}
	if ev.Data() != 0x0123456789abcdef {
		t.Errorf("data %#x", ev.Data())
	}
}

func TestEpollConstantsAreTheKernels(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint32
	}{
		{"EPOLLIN", sys.EPOLLIN, unix.EPOLLIN},
		{"EPOLLOUT", sys.EPOLLOUT, unix.EPOLLOUT},
		{"EPOLLERR", sys.EPOLLERR, unix.EPOLLERR},
		{"EPOLLHUP", sys.EPOLLHUP, unix.EPOLLHUP},
		{"EPOLLRDHUP", sys.EPOLLRDHUP, unix.EPOLLRDHUP},
		{"EPOLLEXCLUSIVE", sys.EPOLLEXCLUSIVE, unix.EPOLLEXCLUSIVE},
		{"EPOLLONESHOT", sys.EPOLLONESHOT, unix.EPOLLONESHOT},
		{"EPOLLET", sys.EPOLLET, unix.EPOLLET},
		{"EPOLL_CTL_ADD", sys.EPOLL_CTL_ADD, unix.EPOLL_CTL_ADD},
		{"EPOLL_CTL_DEL", sys.EPOLL_CTL_DEL, unix.EPOLL_CTL_DEL},
		{"EPOLL_CTL_MOD", sys.EPOLL_CTL_MOD, unix.EPOLL_CTL_MOD},
	} {
		if c.got != c.want {
			t.Errorf("%s is %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

// CASES E13: what the kernel takes beside EPOLLEXCLUSIVE. A registration that
// has it cannot be modified, only deleted and added again.
func TestExclusiveArgumentRules(t *testing.T) {
	for _, c := range []struct {
		name string
		add  uint32
		want sys.Errno
	}{
		{"ADD IN|EXCLUSIVE", sys.EPOLLIN, 0},
		{"ADD IN|EXCLUSIVE|ET", sys.EPOLLIN | sys.EPOLLET, 0},
		{"ADD IN|OUT|EXCLUSIVE", sys.EPOLLIN | sys.EPOLLOUT, 0},
		{"ADD IN|EXCLUSIVE|RDHUP", sys.EPOLLIN | sys.EPOLLRDHUP, sys.EINVAL},
		{"ADD IN|EXCLUSIVE|ONESHOT", sys.EPOLLIN | sys.EPOLLONESHOT, sys.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t)
			ep, fd := epoll(t, k), listener(t)
			ev := sys.MakeEpollEvent(c.add|sys.EPOLLEXCLUSIVE, 0)
			if err := k.EpollCtl(ep, sys.EPOLL_CTL_ADD, fd, ev); err != c.want {
				t.Fatalf("%v, want %v", err, c.want)
			}
		})
	}

	k := kernel(t)
	ep, fd := epoll(t, k), listener(t)
	exclusive := sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLEXCLUSIVE, 0)
	plain := sys.MakeEpollEvent(sys.EPOLLIN, 0)
	for _, step := range []struct {
		name string
		op   int
		ev   sys.EpollEvent
		want sys.Errno
	}{
		{"ADD exclusive", sys.EPOLL_CTL_ADD, exclusive, 0},
		{"MOD to the same", sys.EPOLL_CTL_MOD, exclusive, sys.EINVAL},
		{"MOD to plain", sys.EPOLL_CTL_MOD, plain, sys.EINVAL},
		{"DEL", sys.EPOLL_CTL_DEL, sys.EpollEvent{}, 0},
		{"ADD plain", sys.EPOLL_CTL_ADD, plain, 0},
		{"MOD to exclusive", sys.EPOLL_CTL_MOD, exclusive, sys.EINVAL},
	} {
		if err := k.EpollCtl(ep, step.op, fd, step.ev); err != step.want {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
	}
}

// A level-triggered eventfd is reported until it is read, an edge-triggered
// one once a write: the loop's notify rests on that and never reads.
//
//	t0
//	 | (lt/et)
//	e0
//	 |
//	n0   eventfd
func TestEdgeTriggeredEventfdReportsEveryWriteOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		bits  uint32
		again int // events of a second wait without a second write
	}{
		{"level", sys.EPOLLIN, 1},
		{"edge", sys.EPOLLIN | sys.EPOLLET, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t)
			e0 := epoll(t, k)
			n0, err := k.Eventfd()
			if err != 0 {
				t.Fatal(err)
			}
			defer k.Close(n0)
			if err := k.EpollCtl(e0, sys.EPOLL_CTL_ADD, n0, sys.MakeEpollEvent(c.bits, 7)); err != 0 {
				t.Fatal(err)
			}
			if got := wait(t, k, e0, 0); len(got) != 0 {
				t.Errorf("%d events before the first write", len(got))
			}
			for range 3 {
				if n, err := k.Write(n0, one[:]); n != 8 || err != 0 {
					t.Fatalf("write: %d, %v", n, err)
				}
				got := wait(t, k, e0, 0)
				if len(got) != 1 || got[0].Data() != 7 || got[0].Events != sys.EPOLLIN {
					t.Fatalf("after a write: %v", got)
				}
				if got := wait(t, k, e0, 0); len(got) != c.again {
					t.Errorf("%d events without a write between, want %d", len(got), c.again)
				}
			}
		})
	}
}

// sleeper is a thread in EpollWait.
type sleeper struct {
	tid    int
	events chan int
}

// sleep starts a thread that waits msec on ep, and returns when it is asleep
// in the kernel: one that comes later would find the listener ready without
// having been woken.
func sleep(t *testing.T, k sys.Kernel, ep, msec int) sleeper {
	t.Helper()
	tid := make(chan int)
	s := sleeper{events: make(chan int, 1)}
	go func() {
		// The thread ends with its goroutine.
		lockThread()
		tid <- unix.Gettid()
		list := make([]sys.EpollEvent, 8)
		n, err := k.EpollWait(ep, list, msec)
		for err == sys.EINTR { // the runtime preempts by signals
			n, err = k.EpollWait(ep, list, msec)
		}
		s.events <- n
	}()
	s.tid = <-tid
	for end := time.Now().Add(patience * time.Millisecond); !asleep(s.tid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the thread does not fall asleep in epoll_pwait")
		}
	}
	return s
}

// asleep reports whether the thread is in epoll_pwait and off the processor.
func asleep(tid int) bool {
	dir := fmt.Sprintf("/proc/self/task/%d/", tid)
	syscall, err := os.ReadFile(dir + "syscall") // "running", or the number and its arguments
	if err != nil {
		return false
	}
	stat, _ := os.ReadFile(dir + "stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(string(syscall), fmt.Sprintf("%d ", unix.SYS_EPOLL_PWAIT)) &&
		strings.HasPrefix(state, "S")
}

// One connection on a listener that two sleeping threads watch, each through
// an epoll instance of its own. Nobody accepts it, so that every thread that
// is woken also returns. Not exclusive: both are woken, edge-triggered or not
// (CASES A01, G03). Exclusive: the one that registered first (A03, G04), each
// time again.
//
//	t0    t1
//	 |     |
//	e0    e1
//	  \  /
//	   s0
func TestSharedListenerWakesAllAndExclusiveTheFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		bits uint32
		want string
	}{
		{"level", sys.EPOLLIN, "1 1"},
		{"edge", sys.EPOLLIN | sys.EPOLLET, "1 1"},
		{"exclusive", sys.EPOLLIN | sys.EPOLLEXCLUSIVE, "1 0"},
		{"exclusive edge", sys.EPOLLIN | sys.EPOLLEXCLUSIVE | sys.EPOLLET, "1 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit := time.Duration(patience)
			if c.bits&sys.EPOLLEXCLUSIVE != 0 {
				limit = 200 // for t1, which must not be woken
			}
			k := kernel(t)
			s0 := listener(t)
			e0, e1 := epoll(t, k), epoll(t, k)
			for _, ep := range []int{e0, e1} {
				if err := k.EpollCtl(ep, sys.EPOLL_CTL_ADD, s0, sys.MakeEpollEvent(c.bits, 0)); err != 0 {
					t.Fatal(err)
				}
			}
			n1, err := k.Eventfd()
			if err != 0 {
				t.Fatal(err)
			}
			defer k.Close(n1)
			if err := k.EpollCtl(e1, sys.EPOLL_CTL_ADD, n1, sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, 1)); err != 0 {
				t.Fatal(err)
			}
			for range 3 {
				// t0 is the last to fall asleep: that is not what counts.
				t1 := sleep(t, k, e1, patience)
				t0 := sleep(t, k, e0, patience)
				connect(t, s0)
				first := <-t0.events
				second := 0
				select {
				case second = <-t1.events:
				case <-time.After(limit * time.Millisecond):
				}
				if got := fmt.Sprint(first, " ", second); got != c.want {
					t.Fatalf("events of t0 and t1: %s, want %s", got, c.want)
				}
				if second == 0 {
					k.Write(n1, one[:]) // wakes t1
					<-t1.events
				}
				accept(t, k, s0)
			}
		})
	}
}

func TestEpollWaitReturnsNothingAtItsTimeout(t *testing.T) {
	k := kernel(t)
	ep := epoll(t, k)
	for _, msec := range []int{0, 1, 20} {
		before := k.MonotonicNsec()
		if got := wait(t, k, ep, msec); len(got) != 0 {
			t.Errorf("%d events of an empty set", len(got))
		}
		if slept := k.MonotonicNsec() - before; slept < uint64(msec)*1e6 {
			t.Errorf("a wait of %d ms took %d ns", msec, slept)
		}
	}
	if _, err := k.EpollWait(-1, make([]sys.EpollEvent, 1), 0); err != unix.EBADF {
		t.Errorf("no epoll instance: %v, want EBADF", err)
	}
}
