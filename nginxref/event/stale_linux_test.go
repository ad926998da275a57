package event

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
)

// takeOver makes a connection on the number fd, which must be free, and
// registers it.
func (w *worker) takeOver(fd int) (c *Connection, peer int) {
	w.t.Helper()
	s, errno := w.kernel.Socketpair()
	if errno != 0 {
		w.t.Fatal(errno)
	}
	if s[0] != fd {
		if err := unix.Dup3(s[0], fd, unix.O_CLOEXEC); err != nil {
			w.t.Fatal(err)
		}
		unix.Close(s[0])
	}
	w.t.Cleanup(func() { unix.Close(s[1]) })
	c = w.connection(fd)
	w.mustBe(core.OK, w.AddConn(c))
	return c, s[1]
}

// CASES E01. One wait reports s0 and s1. The handler of s0 closes s1, and a
// new connection gets the same number and the same place in the table: the
// event of s1 must not reach it.
//
//	   t0
//	    |
//	   e0
//	(et)|  \ (et)
//	   s0   s1 -> s2
func TestE01StaleEventIsDroppedBeforeTheReadHandler(t *testing.T) {
	w := newWorker(t)
	w.start()
	s0, p0 := w.pair()
	s1, p1 := w.pair()
	w.mustBe(core.OK, w.AddEvent(s0.Read, ReadEvent, ClearEvent))
	w.mustBe(core.OK, w.AddEvent(s1.Read, ReadEvent, ClearEvent))

	var (
		s2         *Connection
		p2         int
		first, got int
	)
	s0.Read.Handler = func(*Event) {
		first++
		fd := s1.Fd
		w.CloseConnection(s1)
		s2, p2 = w.takeOver(fd)
		s2.Read.Handler = func(*Event) { got++ }
		s2.Write.Handler = func(*Event) {}
		if s2 != s1 || s2.Fd != fd {
			t.Fatal("the new connection has another place or number")
		}
	}
	send(t, p0, "x") // the order in which they become ready is that of the report
	send(t, p1, "x")
	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
	if first != 1 || got != 0 {
		t.Errorf("s0's handler ran %d times, s2's %d; want 1, 0", first, got)
	}
	if n := w.logged("epoll: stale event"); n != 1 {
		t.Errorf("%d stale events in the log, want 1", n)
	}
	send(t, p2, "x")
	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
	if got != 1 {
		t.Errorf("s2's handler ran %d times on an event of its own", got)
	}
}

// The same without a newcomer: the place is free.
func TestE01StaleEventOfAFreeConnectionIsDropped(t *testing.T) {
	w := newWorker(t)
	w.start()
	s0, p0 := w.pair()
	s1, p1 := w.pair() // its handler fails the test
	w.mustBe(core.OK, w.AddEvent(s0.Read, ReadEvent, ClearEvent))
	w.mustBe(core.OK, w.AddEvent(s1.Read, ReadEvent, ClearEvent))
	s0.Read.Handler = func(*Event) { w.CloseConnection(s1) }
	send(t, p0, "x")
	send(t, p1, "x")
	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
	if n := w.logged("epoll: stale event"); n != 1 {
		t.Errorf("%d stale events in the log, want 1", n)
	}
}

// One report for both directions of s0. The read handler closes it and the
// write half of the report must not reach the newcomer, which is active.
//
//	t0
//	 |
//	e0
//	 | (et)
//	s0 -> s1
func TestE01StaleEventIsDroppedBeforeTheWriteHandler(t *testing.T) {
	w := newWorker(t)
	w.start()
	s0, p0 := w.pair()
	w.mustBe(core.OK, w.AddConn(s0))
	send(t, p0, "x")

	writes := 0
	s0.Read.Handler = func(*Event) {
		fd := s0.Fd
		w.CloseConnection(s0)
		s1, _ := w.takeOver(fd)
		s1.Write.Handler = func(*Event) { writes++ }
		if s1 != s0 || !s1.Write.Active {
			t.Fatal("the new connection has another place or is not registered")
		}
	}
	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
	if writes != 0 || w.logged("epoll: stale event") != 1 {
		t.Errorf("s1's write handler ran %d times, %d stale events; want 0, 1",
			writes, w.logged("epoll: stale event"))
	}
	w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
	if writes != 1 {
		t.Errorf("s1's write handler ran %d times on an event of its own", writes)
	}
}

// A pipe reports an error of one direction without that direction's bit.
//
//	t0
//	 |
//	e0
//	 | (et)
//	p0   pipe
func TestE14ErrorReachesWhicheverDirectionIsActive(t *testing.T) {
	for _, c := range []struct {
		name  string
		write bool // p0 is the pipe's writing end
		add   func(w *worker, c *Connection) core.Status
		want  []string // handlers, in order
	}{
		{"ERR, only the reader is active", true,
			func(w *worker, c *Connection) core.Status { return w.AddEvent(c.Read, ReadEvent, ClearEvent) },
			[]string{"read"}},
		{"HUP, only the writer is active", false,
			func(w *worker, c *Connection) core.Status { return w.AddEvent(c.Write, WriteEvent, ClearEvent) },
			[]string{"write"}},
		{"ERR|OUT, both are active", true,
			func(w *worker, c *Connection) core.Status { return w.AddConn(c) },
			[]string{"read", "write"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.start()
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			ours, theirs := p[0], p[1]
			if c.write {
				ours, theirs = p[1], p[0]
			}
			p0 := w.connection(ours)
			var got []string
			p0.Read.Handler = func(*Event) { got = append(got, "read") }
			p0.Write.Handler = func(*Event) { got = append(got, "write") }
			unix.Close(theirs)
			w.mustBe(core.OK, c.add(w, p0))
			w.mustBe(core.OK, w.ProcessEvents(patience, UpdateTime))
			if !slices.Equal(got, c.want) {
				t.Errorf("handlers %v, want %v", got, c.want)
			}
			if w.logged("epoll_wait() error on fd:") != 1 {
				t.Errorf("the error is not in the log: %q", w.lines)
			}
		})
	}
}

// CASES E14's own scenario: the upstream refuses the connection while only
// the write side has anything to wait for, and reading tells why.
func TestE14RefusedConnectionIsSeenByTheReaderInTheSameTurn(t *testing.T) {
	w := newWorker(t)
	w.start()
	other, addr := bound(t) // nobody listens there
	defer unix.Close(other)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := w.connection(fd)
	w.mustBe(core.OK, w.AddConn(c))
	sa := &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	if err := unix.Connect(fd, sa); err != unix.EINPROGRESS && err != unix.ECONNREFUSED {
		t.Fatal(err)
	}
	var n, reads int
	c.Read.Handler = func(*Event) {
		reads++
		n = c.Recv(make([]byte, 16))
	}
	c.Write.Handler = func(*Event) {}
	w.turnsUntil(func() bool { return reads > 0 && c.Read.Error })
	if n != int(core.Error) && n != 0 {
		t.Errorf("Recv returned %d", n)
	}
	if w.logged("recv() failed (111: Connection refused)") != 1 {
		t.Errorf("the reason is not in the log: %q", w.lines)
	}
}
