package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

func TestKeepaliveServesRequestAfterRequest(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	for range 3 {
		c.send(get)
		c.expectConnection("keep-alive")
		c.expectNothing()
	}
	c.send(getClose)
	c.expectConnection("close")
	c.expectEnd()
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	cscf := hello()
	cscf.Locations = append(cscf.Locations, NewLocation("/b"))
	cscf.Locations[1].Return = &Return{Status: 200, Text: []byte("b")}
	s := newServer(t, cscf)
	c := s.connect()

	c.send(strings.Repeat(get+"GET /b HTTP/1.1\r\nHost: a\r\n\r\n", 50))
	for range 50 {
		c.expect("200 OK", "hello")
		c.expect("200 OK", "b")
	}
	c.expectNothing()
}

func TestKeepaliveEndsWithTheLastAllowedRequest(t *testing.T) {
	cscf := hello()
	cscf.Locations[0].KeepaliveRequests = 3
	s := newServer(t, cscf)
	c := s.connect()

	for range 2 {
		c.send(get)
		c.expectConnection("keep-alive")
	}
	c.send(get)
	c.expectConnection("close")
	c.expectEnd()
}

func TestKeepaliveEndsWithItsTime(t *testing.T) {
	cscf := hello()
	cscf.Locations[0].KeepaliveTime = 100_000
	s := newServer(t, cscf)
	c := s.connect()

	s.advance(50 * time.Second)
	c.send(get)
	c.expectConnection("keep-alive")
	s.advance(51 * time.Second)
	c.send(get)
	c.expectConnection("close")
	c.expectEnd()
}

func TestIdleConnectionIsClosedWhenItsTimeIsUp(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()

	c.send(get)
	c.expect("200 OK", "hello")
	s.advance(74 * time.Second)
	c.recv()
	c.expectNothing()
	c.send(get) // starts the time anew
	c.expect("200 OK", "hello")
	s.advance(74 * time.Second)
	c.recv()
	c.expectNothing()
	s.advance(time.Second)
	c.recv()
	c.expectEnd()
}

func TestIdleConnectionHoldsNoBuffer(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	hc := s.only()
	if hc.buffer != nil {
		t.Error("a connection that has not said anything holds a buffer")
	}

	c.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 3000) + "\r\n\r\n")
	c.expect("200 OK", "hello")
	if hc.buffer != nil || hc.busy != nil || hc.free != nil {
		t.Error("an idle connection holds buffers")
	}

	c.send("GET / HT")
	if hc.buffer == nil {
		t.Error("half a request is nowhere")
	}
}

// only returns the only connection that is open.
func (s *server) only() *connection {
	for i := range s.cycle.Connections {
		switch data := s.cycle.Connections[i].Data.(type) {
		case *connection:
			return data
		case *Request:
			return data.httpConnection
		}
	}
	s.t.Fatal("there is no connection")
	return nil
}

func TestHeaderTimeoutClosesWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct{ sent, logged string }{
		{"", ""},
		{"GET / HT", "\"GET / HT\" 408 0"},
		{"GET / HTTP/1.1\r\nHo", "\"GET / HTTP/1.1\" 408 0"},
	} {
		s := newServer(t, hello())
		s.logAccess()
		c := s.connect()
		if tt.sent != "" {
			c.send(tt.sent)
		}
		s.advance(59 * time.Second)
		c.recv()
		c.expectNothing()
		s.advance(time.Second)
		c.recv()
		c.expectEnd()

		if got := s.access.String(); tt.logged == "" && got != "" || !strings.Contains(got, tt.logged) {
			t.Errorf("%q: the access log has %q, expected %q", tt.sent, got, tt.logged)
		}
		if !strings.Contains(s.log.String(), "client timed out (110: Connection timed out) while") {
			t.Errorf("%q: the error log has %q", tt.sent, &s.log)
		}
	}
}

// logAccess has the default locations write to s.access.
func (s *server) logAccess() {
	log := &AccessLog{File: core.NewOpenFile("", &s.access, nil, 0)}
	cscf := s.ls.Servers.(*Port).addrs[0].defaultServer
	for _, loc := range append(cscf.Locations, cscf.Location) {
		loc.AccessLogs = []*AccessLog{log}
	}
}

func TestHeaderTimeoutIsOfTheWholeHeader(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	for _, ch := range "GET / HTTP/1.1\r\nH" {
		c.send(string(ch))
		s.advance(3 * time.Second)
	}
	c.expectNothing() // 51 s
	for range 3 {
		c.send("o")
		s.advance(3 * time.Second)
	}
	c.recv()
	c.expectEnd()
}

func TestAccessLogIsCombined(t *testing.T) {
	s := newTCPServer(t, "127.0.0.1:0", hello())
	s.logAccess()
	c := s.connect()
	for _, tt := range []struct{ request, line string }{
		{get, `127.0.0.1 - - [TIME] "GET / HTTP/1.1" 200 5 "-" "-"`},
		{"GET /a?b HTTP/1.1\r\nHost: a\r\nReferer: http://r/\r\nUser-Agent: curl/7.88.1\r\n\r\n", `127.0.0.1 - - [TIME] "GET /a?b HTTP/1.1" 200 5 "http://r/" "curl/7.88.1"`},
		{"HEAD /\x80 HTTP/1.1\r\nHost: a\r\nUser-Agent: \"\\\r\n\r\n", `127.0.0.1 - - [TIME] "HEAD /\x80 HTTP/1.1" 200 0 "-" "\x22\x5C"`},
		{"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic dXNlcjpwYXNz\r\n\r\n", `127.0.0.1 - user [TIME] "GET / HTTP/1.1" 200 5 "-" "-"`},
		{"GET \x01\r\n\r\n", `127.0.0.1 - - [TIME] "GET \x01" 400 160 "-" "-"`},
	} {
		s.access.Reset()
		c.send(tt.request)
		s.until("the request is answered", func() bool { c.recv(); return len(c.got) > 0 })
		c.got = nil
		if c.eof {
			c.close() // the line comes when the lingering close is over
		}
		s.until("the request is logged", func() bool { return s.access.Len() > 0 })
		if got := logTime.ReplaceAllString(s.access.String(), "[TIME]"); got != tt.line+"\n" {
			t.Errorf("%q is logged as\n%s, expected\n%s", tt.request, got, tt.line)
		}
	}
}

// fullDisk is a file that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, sys.Errno(unix.ENOSPC) }

func TestAccessLogIsComplainedOfOnceAMinute(t *testing.T) {
	s := newServer(t, hello())
	log := &AccessLog{File: core.NewOpenFile("/var/log/access.log", fullDisk{}, nil, 0)}
	s.ls.Servers.(*Port).addrs[0].defaultServer.Locations[0].AccessLogs = []*AccessLog{log}
	c := s.connect()
	for _, tt := range []struct {
		wait       time.Duration
		complaints int
	}{{0, 1}, {0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {time.Second, 2}} {
		s.advance(tt.wait)
		c.send(get)
		c.expect("200 OK", "hello")
		if n := strings.Count(s.log.String(), "[alert]"); n != tt.complaints {
			t.Errorf("%d complaints, expected %d: %s", n, tt.complaints, &s.log)
		}
	}
	want := `write() to "/var/log/access.log" failed (28: No space left on device) while logging request, client: unix:, server: , request: "GET / HTTP/1.1", host: "a"`
	if !strings.Contains(s.log.String(), want) {
		t.Errorf("the error log has %q, expected %q", &s.log, want)
	}
	s.log.Reset()
}

func TestDateIsTheCycles(t *testing.T) {
	s := newServer(t, hello())
	s.kernel.now = 784887151 * time.Second // of the example in RFC 9110, but for the zone
	c := s.connect()
	for _, date := range []string{"Tue, 15 Nov 1994 08:12:31 GMT", "Tue, 15 Nov 1994 08:12:32 GMT"} {
		c.send(get)
		if a := c.expect("200 OK", "hello"); a.value("Date") != date {
			t.Errorf("Date: %s, expected %s", a.value("Date"), date)
		}
		s.advance(time.Second)
	}
}

// countingKernel counts the system calls of the loop.
type countingKernel struct {
	sys.Kernel
	calls map[string]int
}

func (k countingKernel) EpollCtl(ep, op, fd int, ev sys.EpollEvent) sys.Errno {
	k.calls["epoll_ctl"]++
	return k.Kernel.EpollCtl(ep, op, fd, ev)
}

func (k countingKernel) Recv(fd int, p []byte) (int, sys.Errno) {
	k.calls["recv"]++
	return k.Kernel.Recv(fd, p)
}

func (k countingKernel) Send(fd int, p []byte) (int, sys.Errno) {
	k.calls["send"]++
	return k.Kernel.Send(fd, p)
}

func (k countingKernel) Writev(fd int, pieces [][]byte) (int, sys.Errno) {
	k.calls["writev"]++
	return k.Kernel.Writev(fd, pieces)
}

func (k countingKernel) Nread(fd int) (int, sys.Errno) {
	k.calls["ioctl"]++
	return k.Kernel.Nread(fd)
}

func (k countingKernel) SetsockoptInt(fd, level, opt, value int) sys.Errno {
	k.calls["setsockopt"]++
	return k.Kernel.SetsockoptInt(fd, level, opt, value)
}

func TestSystemCallsPerRequest(t *testing.T) {
	s := newTCPServer(t, "127.0.0.1:0", hello())
	k := countingKernel{s.cycle.Kernel, make(map[string]int)}
	s.cycle.Kernel = k

	c := s.connect()
	expect := func(what, want string) {
		t.Helper()
		c.send(get)
		s.until("the answer has come", func() bool { c.recv(); return len(c.got) > 0 })
		c.expect("200 OK", "hello")
		if got := fmt.Sprint(k.calls); got != want {
			t.Errorf("%s took %s, expected %s", what, got, want)
		}
		clear(k.calls)
	}
	expect("a connection and its first request", "map[epoll_ctl:1 recv:1 setsockopt:1 writev:1]")
	expect("the second request", "map[recv:1 writev:1]")
	expect("the third request", "map[recv:1 writev:1]")
}

// With the accept mutex the request is put off until the lock is given back.
func TestDeferredAcceptReadsAtOnce(t *testing.T) {
	for _, useAcceptMutex := range []bool{false, true} {
		s := newServer(t, hello())
		s.ls.Log.Level = core.LogDebugAll
		s.cycle.UseAcceptMutex = useAcceptMutex
		s.cycle.AcceptMutex = freeMutex{}
		s.cycle.AcceptMutexHeld = true
		s.ls.Connection.Read.DeferredAccept = true
		c := s.connect()
		if hc := s.only(); hc.buffer != nil { // nothing had come after all
			t.Error("a connection that has not said anything holds a buffer")
		}
		if putOff := strings.Contains(s.log.String(), ": *1 post event"); putOff != useAcceptMutex {
			t.Errorf("accept mutex %v, put off %v", useAcceptMutex, putOff)
		}
		c.send(get)
		c.expect("200 OK", "hello")
	}
}

// freeMutex is a lock that is always to be had.
type freeMutex struct{}

func (freeMutex) Trylock() bool        { return true }
func (freeMutex) Unlock()              {}
func (freeMutex) Lock()                {}
func (freeMutex) ForceUnlock(int) bool { return true }
