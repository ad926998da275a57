package event

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// accepting returns a started worker with one listener.
func accepting(t testing.TB, configure func(*worker)) (*worker, *Listening) {
	w := newWorker(t)
	configure(w)
	ls := w.listen()
	w.start()
	return w, ls
}

// The longest path there is, with the length of its name in the connection.
func TestPeersTextFitsTheConnection(t *testing.T) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := newWorker(t)
	ls := w.listenUnix(filepath.Join(dir, "s"))
	ls.AddrNtop = true
	w.start()
	path := dir + "/" + strings.Repeat("p", 107-len(dir)-1)
	client, err := net.DialUnix("unix", &net.UnixAddr{Name: path}, &net.UnixAddr{Name: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })

	c := w.accepted[0]
	if string(c.AddrText) != "unix:"+path {
		t.Errorf("text %q, want %q", c.AddrText, "unix:"+path)
	}
	if &c.AddrText[0] != &c.addrText[0] {
		t.Errorf("a text of %d bytes does not fit", len(c.AddrText))
	}
}

// Without a master too: 0 is what the log takes for no connection.
func TestFirstConnectionHasNumberOne(t *testing.T) {
	w, ls := accepting(t, func(w *worker) { w.Conf.Master = false })
	dial(t, ls, 1)
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	if n := w.accepted[0].Number; n != 1 {
		t.Errorf("number %d, want 1", n)
	}
}

func TestAcceptedConnectionIsFilledIn(t *testing.T) {
	w, ls := accepting(t, func(w *worker) { w.Zone.ConnectionCounter.Word.Store(41) })
	ls.AddrNtop = true
	ls.Log.Action = "from the listener"
	client := dial(t, ls, 1)[0]
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })

	c := w.accepted[0]
	from := client.LocalAddr().String()
	host, _, _ := net.SplitHostPort(from)
	if c.Sockaddr.String() != from || string(c.AddrText) != host {
		t.Errorf("peer %s, text %s; want %s", &c.Sockaddr, c.AddrText, from)
	}
	if c.Number != 41 || w.Zone.ConnectionCounter.Word.Load() != 42 {
		t.Errorf("number %d, next %d", c.Number, w.Zone.ConnectionCounter.Word.Load())
	}
	if !c.Write.Ready || c.Read.Ready || c.Read.Active || c.Write.Active {
		t.Errorf("ready %v %v, active %v %v", c.Read.Ready, c.Write.Ready, c.Read.Active, c.Write.Active)
	}
	if c.Listening != ls || c.StartTime == 0 || c.TCPNodelay != TCPNodelayUnset {
		t.Errorf("%+v", c)
	}
	// A log of its own, to be filled with what it is about.
	if c.Log == &ls.Log || c.Log.Action != "from the listener" || c.Log.Handler != nil || c.Log.Data != nil {
		t.Errorf("log %+v", c.Log)
	}
	if c.Read.Log != c.Log || c.Write.Log != c.Log {
		t.Error("the events have another log")
	}
	if n := w.logged(fmt.Sprintf("*41 accept: %s fd:%d", from, c.Fd)); n != 1 {
		t.Errorf("log %q", w.lines)
	}
	for name, cell := range map[string]uint64{
		"accepted": w.Zone.Accepted.Word.Load(),
		"handled":  w.Zone.Handled.Word.Load(),
		"active":   w.Zone.Active.Word.Load(),
	} {
		if cell != 1 {
			t.Errorf("%s is %d, want 1", name, cell)
		}
	}
}

// With TCP_DEFER_ACCEPT the first bytes are there already.
func TestDeferredAcceptIsReadyToRead(t *testing.T) {
	w := newWorker(t)
	ls := w.listen()
	ls.DeferredAccept = true
	w.start()
	dial(t, ls, 1)
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	if rev := w.accepted[0].Read; !rev.Ready || rev.Available != 1 {
		t.Errorf("ready %v, available %d; want true, 1", rev.Ready, rev.Available)
	}
}

func TestNodelayIsNotForUnixSockets(t *testing.T) {
	w := newWorker(t)
	path := filepath.Join(t.TempDir(), "s")
	ls := w.listenUnix(path)
	w.start()
	client, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	c := w.accepted[0]
	if c.TCPNodelay != TCPNodelayDisabled {
		t.Errorf("TCPNodelay %d, want disabled", c.TCPNodelay)
	}
	w.mustBe(core.OK, w.SetTCPNodelay(c)) // setsockopt would fail
	if w.logged("tcp_nodelay") != 0 || c.Listening != ls {
		t.Errorf("log %q", w.lines)
	}
}

// One connection an event, or all: multi_accept goes on until EAGAIN, which
// costs one erroneous accept an event (CASES A06, A09, G06).
func TestMultiAcceptTakesAllAndEndsWithEAGAIN(t *testing.T) {
	for _, c := range []struct {
		multi   bool
		accepts []sys.Errno // of the first turn with 3 in the queue
		turns   int         // for all three
	}{
		{false, []sys.Errno{0}, 3},
		{true, []sys.Errno{0, 0, 0, sys.EAGAIN}, 1},
	} {
		w, ls := accepting(t, func(w *worker) { w.Event.MultiAccept = c.multi })
		dial(t, ls, 3)
		w.ProcessEventsAndTimers()
		if diff := cmp.Diff(c.accepts, w.kernel.accepts); diff != "" {
			t.Errorf("multi_accept %v: -want +got\n%s", c.multi, diff)
		}
		if turns := 1 + w.turnsUntil(func() bool { return len(w.accepted) == 3 }); turns != c.turns {
			t.Errorf("multi_accept %v: %d turns, want %d", c.multi, turns, c.turns)
		}
	}
}

// Two workers are told of one connection; the second finds an empty queue.
//
//	t0    t1
//	 |     |
//	e0    e1
//	  \  /
//	   s0
func TestErroneousAcceptLeavesTheWorkerAsItWas(t *testing.T) {
	w, ls := accepting(t, func(w *worker) {})
	w.refuse(ls, sys.EAGAIN)
	lc := *ls.Connection
	if len(w.accepted) != 0 || w.FreeConnectionN != w.ConnectionN-1 {
		t.Errorf("%d accepted, %d free", len(w.accepted), w.FreeConnectionN)
	}
	if lc.Requests != 0 || w.Zone.Accepted.Word.Load() != 0 || w.interest(ls.Fd) != "IN|RDHUP" {
		t.Errorf("requests %d, accepted %d, interest %s", lc.Requests, w.Zone.Accepted.Word.Load(), w.interest(ls.Fd))
	}
	if w.logged("[debug] accept() not ready (11: Resource temporarily unavailable)") != 1 {
		t.Errorf("log %q", w.lines)
	}
	w.turnsUntil(func() bool { return len(w.accepted) == 1 }) // it was there after all
}

// refuse makes one turn in which a connection waits and accept4 fails, once
// for each of errs.
func (w *worker) refuse(ls *Listening, errs ...sys.Errno) {
	w.t.Helper()
	dial(w.t, ls, 1)
	w.kernel.refuse = errs
	w.kernel.accepts = nil
	w.ProcessEventsAndTimers()
}

// How severe a failed accept4 is, and whether it is tried again at once: only
// an aborted connection, and only with multi_accept.
func TestFailedAccept(t *testing.T) {
	for _, c := range []struct {
		err   sys.Errno
		multi bool
		log   string
		calls []sys.Errno
	}{
		{sys.ECONNABORTED, false, "[error] accept4() failed (103: Software caused connection abort)",
			[]sys.Errno{sys.ECONNABORTED}},
		{sys.ECONNABORTED, true, "[error] accept4() failed (103: Software caused connection abort)",
			[]sys.Errno{sys.ECONNABORTED, 0, sys.EAGAIN}},
		{sys.EMFILE, false, "[crit] accept4() failed (24: Too many open files)", []sys.Errno{sys.EMFILE}},
		{sys.EMFILE, true, "[crit] accept4() failed (24: Too many open files)", []sys.Errno{sys.EMFILE}},
		{sys.ENFILE, false, "[crit] accept4() failed (23: Too many open files in system)", []sys.Errno{sys.ENFILE}},
		{unix.EPERM, false, "[alert] accept4() failed (1: Operation not permitted)", []sys.Errno{unix.EPERM}},
		{unix.EPERM, true, "[alert] accept4() failed (1: Operation not permitted)", []sys.Errno{unix.EPERM}},
	} {
		t.Run(fmt.Sprintf("%d, multi_accept %v", c.err, c.multi), func(t *testing.T) {
			w, ls := accepting(t, func(w *worker) { w.Event.MultiAccept = c.multi })
			w.refuse(ls, c.err)
			if diff := cmp.Diff(c.calls, w.kernel.accepts); diff != "" {
				t.Errorf("accept4: -want +got\n%s", diff)
			}
			if w.logged(c.log) != 1 {
				t.Errorf("no %q in %q", c.log, w.lines)
			}
			if want := len(slices.DeleteFunc(slices.Clone(c.calls), func(e sys.Errno) bool { return e != 0 })); len(w.accepted) != want {
				t.Errorf("%d accepted, want %d", len(w.accepted), want)
			}
			// Only the lack of descriptors disarms the listener.
			armed := "IN|RDHUP"
			if c.err == sys.EMFILE || c.err == sys.ENFILE {
				armed = "-"
			}
			if got := w.interest(ls.Fd); got != armed {
				t.Errorf("the kernel has %s for the listener, want %s", got, armed)
			}
		})
	}
}

// CASES B05, mutex off: without descriptors the listener is disarmed and
// tried again every accept_mutex_delay, not at every turn.
func TestB05WithoutDescriptorsTheListenerRestsForTheDelay(t *testing.T) {
	const tries = 4

	w, ls := accepting(t, func(w *worker) { w.Event.AcceptMutexDelay = 20 })
	w.kernel.waits = nil
	w.refuse(ls, slices.Repeat([]sys.Errno{sys.EMFILE}, tries)...)
	lc := ls.Connection
	if !lc.Read.TimerSet || lc.Read.Active || w.interest(ls.Fd) != "-" {
		t.Fatalf("timer set %v, active %v, the kernel has %s", lc.Read.TimerSet, lc.Read.Active, w.interest(ls.Fd))
	}
	if left := w.FindTimer(); left == 0 || left > 20 {
		t.Errorf("the timer is due in %d ms, want 20", left)
	}

	turns := w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	if got, want := len(w.kernel.accepts), tries+1; got != want {
		t.Errorf("accept4 was called %d times, want %d: one a delay", got, want)
	}
	// The timer's handler is the accept itself, so a delay takes one turn;
	// the kernel may end a wait a millisecond early, which takes another.
	if turns > 2*tries {
		t.Errorf("%d turns for %d delays", turns, tries)
	}
	for _, wait := range w.kernel.waits[1:] {
		if wait < 0 || wait > 20 {
			t.Errorf("a wait of %d ms while the listener rested", wait)
		}
	}
	if lc.Read.TimerSet || lc.Read.Timedout || w.interest(ls.Fd) != "IN|RDHUP" {
		t.Errorf("afterwards: timer set %v, timed out %v, the kernel has %s",
			lc.Read.TimerSet, lc.Read.Timedout, w.interest(ls.Fd))
	}
	if n := w.logged("[crit] accept4() failed (24: Too many open files)"); n != tries {
		t.Errorf("%d lines in the log, want %d", n, tries)
	}
}

// All the listeners rest, for the descriptors are the process's.
func TestB05WithoutDescriptorsEveryListenerRests(t *testing.T) {
	w := newWorker(t)
	w.Conf.WorkerProcesses = 2
	w.Event.AcceptMutexDelay = 20
	shared, private := w.listen(), w.listen()
	private.Reuseport = true
	w.start()
	w.refuse(shared, sys.EMFILE)
	if w.interest(shared.Fd) != "-" || w.interest(private.Fd) != "-" {
		t.Errorf("the kernel has %s and %s, want neither", w.interest(shared.Fd), w.interest(private.Fd))
	}
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	if w.interest(shared.Fd) == "-" || w.interest(private.Fd) != "IN|RDHUP" {
		t.Errorf("afterwards the kernel has %s and %s", w.interest(shared.Fd), w.interest(private.Fd))
	}
}

// Out of connections: the client is closed at once, and counted as accepted
// but not as handled.
func TestConnectionWithoutAPlaceIsClosed(t *testing.T) {
	w, ls := accepting(t, func(w *worker) { w.ConnectionN = 3 })
	clients := dial(t, ls, 3)
	w.turnsUntil(func() bool { return len(w.kernel.accepts) == 3 })
	if len(w.accepted) != 2 || w.FreeConnectionN != 0 {
		t.Errorf("%d accepted, %d free", len(w.accepted), w.FreeConnectionN)
	}
	if w.logged("[alert] 3 worker_connections are not enough") != 1 {
		t.Errorf("log %q", w.lines)
	}
	if n, err := clients[2].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the third client reads %d, %v; want end of file", n, err)
	}
	if a, h := w.Zone.Accepted.Word.Load(), w.Zone.Handled.Word.Load(); a != 3 || h != 2 {
		t.Errorf("%d accepted and %d handled in the zone, want 3 and 2", a, h)
	}
}

// reorders makes n connections one after another and returns after which of
// them the listener was deleted and added again. keep leaves them open.
func (w *worker) reorders(ls *Listening, n int, keep bool) (after []int) {
	w.t.Helper()
	for i := 1; i <= n; i++ {
		dial(w.t, ls, 1)
		w.kernel.ctls = nil
		before := w.Zone.Accepted.Word.Load()
		w.turnsUntil(func() bool { return w.Zone.Accepted.Word.Load() == before+1 })
		if len(w.kernel.ctls) > 0 {
			after = append(after, i)
			want := []ctl{{sys.EPOLL_CTL_DEL, ls.Fd, 0},
				{sys.EPOLL_CTL_ADD, ls.Fd, sys.EPOLLIN | sys.EPOLLEXCLUSIVE}}
			if diff := cmp.Diff(want, w.kernel.ctls); diff != "" {
				w.t.Errorf("after connection %d: -want +got\n%s", i, diff)
			}
		}
		if !keep {
			w.CloseConnection(w.accepted[len(w.accepted)-1])
		}
	}
	return after
}

// CASES A03: the listener moves to the end of the kernel's wait queue after
// the first connection and after every 16th from there, and whenever the
// worker is too full.
func TestListenerIsReAddedAfterTheFirstAndEvery16th(t *testing.T) {
	for _, c := range []struct {
		name      string
		configure func(w *worker, ls *Listening)
		keep      bool
		want      []int
	}{
		{"exclusive", func(w *worker, ls *Listening) {}, false, []int{1, 17, 33}},
		// 40/8 - free > 0 with fewer than 5 free: from the 36th of 39 on.
		{"too full", func(w *worker, ls *Listening) { w.ConnectionN = 40 }, true, []int{1, 17, 33, 36, 37, 38, 39}},
		{"the classic herd", func(w *worker, ls *Listening) { w.Event.ExclusiveAccept = false }, false, nil},
		{"one worker", func(w *worker, ls *Listening) { w.Conf.WorkerProcesses = 1 }, false, nil},
		// The shared listener beside it makes the worker one that reorders.
		{"reuseport", func(w *worker, ls *Listening) { ls.Reuseport = true; w.listen() }, false, nil},
		{"reuseport, too full", func(w *worker, ls *Listening) {
			ls.Reuseport = true
			w.listen()
			w.ConnectionN = 41
		}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.Conf.WorkerProcesses = 4
			ls := w.listen()
			c.configure(w, ls)
			w.start()
			if got := w.reorders(ls, 39, c.keep); !slices.Equal(got, c.want) {
				t.Errorf("after connections %v, want %v", got, c.want)
			}
		})
	}
}

// With multi_accept the loop is left through EAGAIN, before the re-add: one
// worker keeps the head of the queue (FACTS, Balance).
func TestMultiAcceptNeverReAdds(t *testing.T) {
	w, ls := accepting(t, func(w *worker) {
		w.Conf.WorkerProcesses = 4
		w.Event.MultiAccept = true
	})
	if got := w.reorders(ls, 33, false); got != nil {
		t.Errorf("re-added after connections %v", got)
	}
	if got := ls.Connection.Requests; got != 0 {
		t.Errorf("%d requests counted, want 0", got)
	}
	again := slices.DeleteFunc(w.kernel.accepts, func(e sys.Errno) bool { return e == 0 })
	if len(again) != 33 || slices.ContainsFunc(again, func(e sys.Errno) bool { return e != sys.EAGAIN }) {
		t.Errorf("%d EAGAIN for 33 connections, want one each", len(again))
	}
}

// accept_disabled is an eighth of the table less what is free before the
// connection takes its place.
func TestAcceptDisabledFollowsTheFreeConnections(t *testing.T) {
	w, ls := accepting(t, func(w *worker) { w.ConnectionN = 16 })
	var got []int
	for i := range 15 {
		dial(t, ls, 1)
		w.turnsUntil(func() bool { return len(w.accepted) == i+1 })
		got = append(got, w.AcceptDisabled)
	}
	var want []int
	for free := 15; free >= 1; free-- {
		want = append(want, 16/8-free)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAcceptLogIsNginxs(t *testing.T) {
	w, ls := accepting(t, func(w *worker) { w.Conf.WorkerProcesses = 2 })
	dial(t, ls, 1)
	w.lines = nil
	w.ProcessEventsAndTimers()
	var got []string
	for _, line := range w.lines {
		line, _, _ = strings.Cut(line, " d:") // a number in its own right
		got = append(got, strings.ReplaceAll(line, w.accepted[0].Sockaddr.String(), "PEER"))
	}
	fd, s := ls.Fd, w.accepted[0].Fd
	want := []string{
		"[debug] epoll timer: -1",
		fmt.Sprintf("[debug] epoll: fd:%d ev:0001", fd),
		fmt.Sprintf("[debug] accept on %s, ready: 0", ls.AddrText),
		fmt.Sprintf("[debug] *%d accept: PEER fd:%d", w.accepted[0].Number, s),
		fmt.Sprintf("[debug] epoll del event: fd:%d op:2 ev:00000000", fd),
		fmt.Sprintf("[debug] epoll add event: fd:%d op:1 ev:10000001", fd),
		got[len(got)-1],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.HasPrefix(got[len(got)-1], "[debug] timer delta: ") {
		t.Errorf("the turn ends with %q", got[len(got)-1])
	}
}
