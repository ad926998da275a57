package event

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// A registration is one for both directions: the second is a MOD, and taking
// one of two away as well.
func TestRegistrationFollowsBothDirections(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	w.kernel.ctls = nil
	for _, step := range []struct {
		name   string
		do     func() core.Status
		op     int
		active [2]bool // reading, writing
		want   string
	}{
		{"add read", func() core.Status { return w.AddEvent(c.Read, ReadEvent, ClearEvent) },
			sys.EPOLL_CTL_ADD, [2]bool{true, false}, "IN|RDHUP|ET"},
		{"add write", func() core.Status { return w.AddEvent(c.Write, WriteEvent, ClearEvent) },
			sys.EPOLL_CTL_MOD, [2]bool{true, true}, "IN|OUT|RDHUP|ET"},
		{"delete read", func() core.Status { return w.DelEvent(c.Read, ReadEvent, ClearEvent) },
			sys.EPOLL_CTL_MOD, [2]bool{false, true}, "OUT|ET"},
		{"add read again", func() core.Status { return w.AddEvent(c.Read, ReadEvent, ClearEvent) },
			sys.EPOLL_CTL_MOD, [2]bool{true, true}, "IN|OUT|RDHUP|ET"},
		{"delete write", func() core.Status { return w.DelEvent(c.Write, WriteEvent, ClearEvent) },
			sys.EPOLL_CTL_MOD, [2]bool{true, false}, "IN|RDHUP|ET"},
		{"delete read, the last", func() core.Status { return w.DelEvent(c.Read, ReadEvent, 0) },
			sys.EPOLL_CTL_DEL, [2]bool{false, false}, "-"},
		{"add both", func() core.Status { return w.AddConn(c) },
			sys.EPOLL_CTL_ADD, [2]bool{true, true}, "IN|OUT|RDHUP|ET"},
		{"delete both", func() core.Status { return w.DelConn(c, 0) },
			sys.EPOLL_CTL_DEL, [2]bool{false, false}, "-"},
	} {
		before := len(w.kernel.ctls)
		w.mustBe(core.OK, step.do())
		if got := w.kernel.ctls[before:]; len(got) != 1 || got[0].Op != step.op || got[0].Fd != c.Fd {
			t.Errorf("%s: calls %v, want operation %d", step.name, got, step.op)
		}
		if got := [2]bool{c.Read.Active, c.Write.Active}; got != step.active {
			t.Errorf("%s: active %v, want %v", step.name, got, step.active)
		}
		if got := w.interest(c.Fd); got != step.want {
			t.Errorf("%s: the kernel has %s, want %s", step.name, got, step.want)
		}
	}
}

// Closing a descriptor takes it out of every set, so nothing is asked of the
// kernel before.
func TestCloseEventAsksNothingOfTheKernel(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	w.mustBe(core.OK, w.AddConn(c))
	w.kernel.ctls = nil
	w.mustBe(core.OK, w.DelEvent(c.Read, ReadEvent, CloseEvent))
	w.mustBe(core.OK, w.DelEvent(c.Write, WriteEvent, CloseEvent))
	if c.Read.Active || c.Write.Active {
		t.Error("an event is still active")
	}
	c.Read.Active, c.Write.Active = true, true
	w.mustBe(core.OK, w.DelConn(c, CloseEvent))
	if c.Read.Active || c.Write.Active || len(w.kernel.ctls) != 0 {
		t.Errorf("active %v %v, calls %v", c.Read.Active, c.Write.Active, w.kernel.ctls)
	}
}

// CASES E13, as the loop deals with it: a listener is registered without
// RDHUP, and moved by DEL and ADD.
func TestE13ExclusiveRegistrationLeavesOutRDHUP(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	w.mustBe(core.OK, w.AddEvent(c.Read, ReadEvent, ExclusiveEvent))
	if got := w.interest(c.Fd); got != "IN|EXCLUSIVE" {
		t.Errorf("the kernel has %s, want IN|EXCLUSIVE", got)
	}
	// A second direction would need a MOD.
	w.mustBe(core.Error, w.AddEvent(c.Write, WriteEvent, ClearEvent))
	if c.Write.Active || w.logged("[alert] epoll_ctl(3, ") != 1 || w.logged("(22: Invalid argument)") != 1 {
		t.Errorf("active %v, log %q", c.Write.Active, w.lines)
	}
	w.mustBe(core.OK, w.DelEvent(c.Read, ReadEvent, DisableEvent))
	if got := w.interest(c.Fd); got != "-" {
		t.Errorf("the kernel still has %s", got)
	}
}

func TestFailedRegistrationLeavesTheEventInactive(t *testing.T) {
	w := newWorker(t)
	w.start()
	c := w.connection(9999) // no such descriptor
	defer func() { c.Fd = -1 }()
	w.mustBe(core.Error, w.AddEvent(c.Read, ReadEvent, ClearEvent))
	w.mustBe(core.Error, w.AddConn(c))
	if c.Read.Active || c.Write.Active {
		t.Error("an event is active")
	}
	c.Read.Active = true
	w.mustBe(core.Error, w.DelEvent(c.Read, ReadEvent, 0))
	w.mustBe(core.Error, w.DelConn(c, 0))
	if !c.Read.Active {
		t.Error("the event is inactive though the kernel was not told")
	}
	for text, want := range map[string]int{
		"[alert] epoll_ctl(1, 9999) failed (9: Bad file descriptor)":             1,
		"[alert] epoll_ctl(EPOLL_CTL_ADD, 9999) failed (9: Bad file descriptor)": 1,
		"[alert] epoll_ctl(2, 9999) failed (9: Bad file descriptor)":             2,
	} {
		if got := w.logged(text); got != want {
			t.Errorf("%q logged %d times, want %d", text, got, want)
		}
	}
}

func TestWaitThatFailsEndsTheTurnWithoutEvents(t *testing.T) {
	for _, c := range []struct {
		name   string
		timer  core.Msec
		alarm  bool // the timer signal came
		n      int
		err    sys.Errno
		status core.Status
		log    string // "" for nothing
	}{
		{"interrupted", TimerInfinite, false, -1, sys.EINTR, core.Error,
			"[info] epoll_wait() failed (4: Interrupted system call)"},
		{"interrupted by the timer signal", TimerInfinite, true, -1, sys.EINTR, core.OK, ""},
		{"failed", TimerInfinite, false, -1, unix.EBADF, core.Error,
			"[alert] epoll_wait() failed (9: Bad file descriptor)"},
		{"timed out", 10, false, 0, 0, core.OK, ""},
		{"nothing, without a timeout", TimerInfinite, false, 0, 0, core.Error,
			"[alert] epoll_wait() returned no events without timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.start()
			w.Log.Level = core.LogInfo
			w.lines = nil
			w.kernel.wait = func([]sys.EpollEvent, int) (int, sys.Errno) { return c.n, c.err }
			w.EventTimerAlarm = c.alarm
			w.mustBe(c.status, w.ProcessEvents(c.timer, UpdateTime))
			if got := strings.Join(w.lines, "\n"); got != c.log {
				t.Errorf("log %q, want %q", got, c.log)
			}
			if w.EventTimerAlarm {
				t.Error("the alarm is still set")
			}
		})
	}
}

// With timer_resolution the clock is read when the timer signal came and not
// at every turn.
func TestTimeIsUpdatedAfterTheWaitIfAsked(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags uint
		alarm bool
		want  core.Msec
	}{
		{"asked", UpdateTime, false, 2000},
		{"not asked", 0, false, 1000},
		{"timer signal", 0, true, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.start()
			w.kernel.now = 1000e6
			w.Time.TimeUpdate()
			w.kernel.wait = func([]sys.EpollEvent, int) (int, sys.Errno) {
				w.kernel.now = 2000e6
				return -1, sys.EINTR
			}
			w.EventTimerAlarm = c.alarm
			w.ProcessEvents(10, c.flags)
			if w.Time.CurrentMsec != c.want {
				t.Errorf("the time is %d, want %d", w.Time.CurrentMsec, c.want)
			}
		})
	}
}

// The timeout is passed on as the int it is: -1 for ever.
func TestWaitIsGivenTheTimer(t *testing.T) {
	w := newWorker(t)
	w.start()
	w.kernel.wait = func([]sys.EpollEvent, int) (int, sys.Errno) { return 0, 0 }
	for _, timer := range []core.Msec{TimerInfinite, 0, 1, 500, math.MaxInt32} {
		w.ProcessEvents(timer, 0)
	}
	if diff := cmp.Diff([]int{-1, 0, 1, 500, math.MaxInt32}, w.kernel.waits); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if w.logged("[debug] epoll timer: -1") != 1 || w.logged("[debug] epoll timer: 500") != 1 {
		t.Errorf("log %q", w.lines)
	}
}

// Queued for after the mutex: the listener's events in one queue, both
// directions of all others in another.
func TestPostedEventsAreSortedByKind(t *testing.T) {
	w := newWorker(t)
	ls := w.listen()
	w.start()
	c, peer := w.pair()
	w.mustBe(core.OK, w.AddConn(c))
	dial(t, ls, 1)
	send(t, peer, "x")

	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime|PostEvents))
	if ev := EventOfQueue(w.PostedAcceptEvents.Head()); ev != ls.Connection.Read || !ev.Posted {
		t.Error("the listener's event is not in the accept queue")
	}
	first := w.PostedEvents.Head()
	if EventOfQueue(first) != c.Read || EventOfQueue(first.Next()) != c.Write {
		t.Error("the connection's events are not in the other, reading first")
	}
	if !c.Read.Ready || !c.Write.Ready || len(w.accepted) != 0 {
		t.Errorf("ready %v %v, %d accepted", c.Read.Ready, c.Write.Ready, len(w.accepted))
	}
}

func TestEpollDoneClosesBothDescriptors(t *testing.T) {
	w := newWorker(t)
	w.start()
	ep, n := w.epoll.fd, w.epoll.notifyFd
	w.EpollDone()
	for _, fd := range []int{ep, n} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("descriptor %d: %v, want EBADF", fd, err)
		}
	}
	if w.epoll.fd != -1 || w.epoll.notifyFd != -1 || w.logged("[alert]") != 0 {
		t.Errorf("fd %d and %d, log %q", w.epoll.fd, w.epoll.notifyFd, w.lines)
	}
}
