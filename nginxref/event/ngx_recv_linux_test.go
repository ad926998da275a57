package event

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// reader returns a connection whose reading side is watched, edge-triggered.
func reader(t *testing.T) (w *worker, c *Connection, peer int) {
	w = newWorker(t)
	w.start()
	c, peer = w.pair()
	c.Read.Handler = func(*Event) {}
	w.mustBe(core.OK, w.AddEvent(c.Read, ReadEvent, ClearEvent))
	return w, c, peer
}

// CASES E09. The peer sends exactly the buffer's size and pauses: the number
// of bytes that wait is asked for and is 0, and the next read knows that
// without a system call. The close is noticed through RDHUP.
//
//	t0
//	 |
//	e0
//	 | (et)
//	s0
func TestE09ReadingExactlyWhatIsThereEndsReady(t *testing.T) {
	w, c, peer := reader(t)
	rev := c.Read
	buf := make([]byte, 8)

	send(t, peer, "exactly8")
	w.ProcessEventsAndTimers()
	if !rev.Ready || rev.Available != -1 {
		t.Fatalf("ready %v, available %d; want true, unknown", rev.Ready, rev.Available)
	}
	if n := c.Recv(buf); n != 8 || rev.Available != 0 {
		t.Fatalf("%d bytes, %d available; want 8, 0", n, rev.Available)
	}
	w.kernel.recvs = 0
	if n := c.Recv(buf); n != int(core.Again) || rev.Ready || w.kernel.recvs != 0 {
		t.Errorf("the next read: %d, ready %v, %d system calls; want Again, false, none", n, rev.Ready, w.kernel.recvs)
	}
	// So a handler arms its timer and waits; HandleReadEvent has nothing to add.
	w.mustBe(core.OK, w.HandleReadEvent(rev))

	unix.Shutdown(peer, unix.SHUT_WR)
	w.ProcessEventsAndTimers()
	if !rev.Ready || !rev.PendingEOF {
		t.Fatalf("after the close: ready %v, pending end %v", rev.Ready, rev.PendingEOF)
	}
	if n := c.Recv(buf); n != 0 || !rev.EOF || rev.Ready {
		t.Errorf("the end: %d, %v, ready %v", n, rev.EOF, rev.Ready)
	}
}

// The same, closed before the loop looks: one report says both.
func TestE09CloseBehindTheBytesIsNotMissed(t *testing.T) {
	for _, c := range []struct {
		name string
		size int // of the buffer, for 8 bytes
		want []int
	}{
		{"exactly the buffer", 8, []int{8, 0}},
		{"less than the buffer", 16, []int{8, 0}},
		{"more than the buffer", 5, []int{5, 3, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, conn, peer := reader(t)
			send(t, peer, "eight888")
			unix.Shutdown(peer, unix.SHUT_WR)
			w.ProcessEventsAndTimers()
			if !conn.Read.PendingEOF {
				t.Fatal("the end is not noticed")
			}
			for i, want := range c.want {
				if !conn.Read.Ready {
					t.Fatalf("read %d: not ready, and no event would come", i)
				}
				if n := conn.Recv(make([]byte, c.size)); n != want {
					t.Fatalf("read %d: %d, want %d", i, n, want)
				}
			}
			if !conn.Read.EOF {
				t.Error("the end was not seen")
			}
		})
	}
}

// Without a pending end, a short read says that nothing is left: no second
// read is needed to find out.
func TestShortReadEndsReadyWithoutAnotherCall(t *testing.T) {
	w, c, peer := reader(t)
	send(t, peer, "abc")
	w.ProcessEventsAndTimers()
	w.kernel.recvs = 0
	if n := c.Recv(make([]byte, 16)); n != 3 || c.Read.Ready || c.Read.Available != 0 {
		t.Errorf("%d bytes, ready %v, %d available", n, c.Read.Ready, c.Read.Available)
	}
	if n := c.Recv(make([]byte, 16)); n != int(core.Again) || w.kernel.recvs != 1 {
		t.Errorf("then %d, %d calls in all", n, w.kernel.recvs)
	}
}

// What is known to wait is counted down; more than that came after the
// kernel's report, and brings a report of its own.
func TestAvailableIsCountedDown(t *testing.T) {
	w, c, peer := reader(t)
	send(t, peer, "0123456789")
	w.ProcessEventsAndTimers()
	for _, step := range []struct {
		size, want int
		available  int
		ready      bool
	}{
		{4, 4, 6, true}, // FIONREAD says 6 more
		{4, 4, 2, true},
		{2, 2, 0, true},
	} {
		n := c.Recv(make([]byte, step.size))
		if n != step.want || c.Read.Available != step.available || c.Read.Ready != step.ready {
			t.Errorf("%d bytes, %d available, ready %v; want %d, %d, %v",
				n, c.Read.Available, c.Read.Ready, step.want, step.available, step.ready)
		}
	}

	send(t, peer, "01")
	w.ProcessEventsAndTimers()
	c.Recv(make([]byte, 1)) // 1 is known to wait
	send(t, peer, "2345")
	if n := c.Recv(make([]byte, 4)); n != 4 || c.Read.Available != 0 || c.Read.Ready {
		t.Errorf("%d bytes, %d available, ready %v; want 4, 0, false", n, c.Read.Available, c.Read.Ready)
	}
	w.ProcessEventsAndTimers() // the event of "2345"
	if n := c.Recv(make([]byte, 4)); n != 1 {
		t.Errorf("%d bytes, want the last one", n)
	}
}

func TestFailedRecv(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  ConnectionLogError
		err   sys.Errno
		want  int
		error bool
		log   string // "" for nothing above debug
	}{
		{"not ready", ErrorAlert, sys.EAGAIN, int(core.Again), false, ""},
		{"reset", ErrorInfo, sys.ECONNRESET, int(core.Error), true, "[info] recv() failed (104: Connection reset by peer)"},
		{"reset, to be ignored", ErrorIgnoreEconnreset, sys.ECONNRESET, 0, false, ""},
		{"no socket", ErrorInfo, unix.ENOTSOCK, int(core.Error), true, "[alert] recv() failed (88: Socket operation on non-socket)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, conn, peer := reader(t)
			send(t, peer, "x")
			w.ProcessEventsAndTimers()
			conn.LogError = c.says
			w.Log.Level = core.LogInfo
			w.lines = nil
			w.kernel.fail = []sys.Errno{c.err}
			n := conn.Recv(make([]byte, 8))
			if n != c.want || conn.Read.Ready || conn.Read.Error != c.error {
				t.Errorf("%d, ready %v, error %v; want %d, false, %v", n, conn.Read.Ready, conn.Read.Error, c.want, c.error)
			}
			if c.log == "" && len(w.lines) != 0 || c.log != "" && w.logged(c.log) != 1 {
				t.Errorf("log %q, want %q", w.lines, c.log)
			}
		})
	}
}

// CASES E10: an interrupted read is made again; only EAGAIN ends readiness.
func TestE10InterruptedRecvIsMadeAgain(t *testing.T) {
	w, c, peer := reader(t)
	send(t, peer, "x")
	w.ProcessEventsAndTimers()
	w.kernel.recvs = 0
	w.kernel.fail = []sys.Errno{sys.EINTR, sys.EINTR}
	if n := c.Recv(make([]byte, 8)); n != 1 || w.kernel.recvs != 3 {
		t.Errorf("%d bytes in %d calls, want 1 in 3", n, w.kernel.recvs)
	}
}

// A send that is not taken whole ends readiness, and so does EAGAIN; an
// interrupted one is made again.
func TestSendEndsReadinessWhenTheSocketIsFull(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	if err := unix.SetsockoptInt(c.Fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096); err != nil {
		t.Fatal(err)
	}
	c.Write.Ready = true
	if n := c.Send([]byte("abc")); n != 3 || !c.Write.Ready || c.Sent != 3 {
		t.Fatalf("%d, ready %v, %d sent", n, c.Write.Ready, c.Sent)
	}
	w.kernel.fail = []sys.Errno{sys.EINTR, sys.EINTR}
	if n := c.Send([]byte("def")); n != 3 {
		t.Fatalf("interrupted twice: %d, want 3", n)
	}

	c.Write.Ready = true
	big := make([]byte, 1<<20)
	n := c.Send(big)
	if n <= 0 || n >= len(big) || c.Write.Ready || c.Sent != int64(n)+6 {
		t.Errorf("%d of %d, ready %v, %d sent", n, len(big), c.Write.Ready, c.Sent)
	}
	c.Write.Ready = true
	for n = range 1000 { // small pieces may still find room
		if got := c.Send(big[:1]); got == int(core.Again) {
			break
		}
	}
	if n == 999 || c.Write.Ready {
		t.Errorf("%d sends into a full socket, ready %v", n, c.Write.Ready)
	}
	if w.logged("[debug] send() not ready (11: Resource temporarily unavailable)") != 1 {
		t.Errorf("EAGAIN is not in the log")
	}
}

func TestFailedSend(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	c.LogError = ErrorInfo
	w.kernel.fail = []sys.Errno{sys.EPIPE}
	if n := c.Send([]byte("x")); n != int(core.Error) || !c.Write.Error || c.Sent != 0 {
		t.Errorf("%d, error %v, %d sent", n, c.Write.Error, c.Sent)
	}
	if w.logged("[info] send() failed (32: Broken pipe)") != 1 {
		t.Errorf("log %q", w.lines)
	}
}

// CASES E10: many bytes through small sockets, interrupted at every third
// call, arrive whole and in order.
func TestE10AllBytesArriveInSpiteOfInterruptions(t *testing.T) {
	const size = 4 << 20

	w := newWorker(t)
	w.Log.Level = core.LogErr
	w.start()
	c, peer := w.pair()
	if err := unix.SetsockoptInt(c.Fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<10); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, size)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(text)

	rest := text
	write := func(ev *Event) {
		for len(rest) > 0 {
			w.kernel.fail = append(w.kernel.fail, 0, 0, sys.EINTR)
			n := c.Send(rest)
			if n == int(core.Again) {
				break
			}
			if n < 0 {
				t.Fatalf("Send: %d", n)
			}
			rest = rest[n:]
		}
		w.mustBe(core.OK, w.HandleWriteEvent(ev))
	}
	c.Write.Handler = write
	got := make([]byte, 0, size)
	drain := func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(peer, buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			got = append(got, buf[:n]...)
		}
	}
	write(c.Write)
	w.turnsUntil(func() bool { drain(); return len(got) == size })
	if !bytes.Equal(got, text) || len(rest) != 0 {
		t.Errorf("what arrived differs, %d bytes were not sent", len(rest))
	}
}
