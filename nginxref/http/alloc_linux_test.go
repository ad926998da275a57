package http

import (
	"bytes"
	"io"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// hotServers is a server whose locations a load test would ask for.
func hotServers() []*Server {
	cscf := hello("a")
	status := NewLocation("/status")
	status.Handler = StubStatusHandler
	cscf.Locations = append(cscf.Locations, status)

	far := NewLocation("/far")
	far.Return = &Return{Status: 302, Text: bytes.Repeat([]byte("x"), postponeOutput)}
	cscf.Locations = append(cscf.Locations, far)

	second := NewServer("*.wild")
	second.Location.Return = &Return{Status: 200, Text: []byte("wild")}

	log := &AccessLog{File: core.NewOpenFile("", io.Discard, nil, 0)}
	for _, loc := range append(cscf.Locations, cscf.Location, second.Location) {
		loc.AccessLogs = []*AccessLog{log}
		loc.KeepaliveRequests = 1e6
	}
	return []*Server{cscf, second}
}

// rawClient is a client that allocates nothing, unlike x/sys.
type rawClient struct {
	fd  uintptr
	buf [4096]byte
}

func (c *rawClient) connect(t testing.TB, sa *sys.Sockaddr) {
	fd, _, err := unix.RawSyscall(unix.SYS_SOCKET, uintptr(sa.Family()), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != 0 {
		t.Fatal("socket:", err)
	}
	c.fd = fd
	if _, _, err := unix.RawSyscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&sa.Raw)), uintptr(sa.Len)); err != 0 {
		t.Fatal("connect:", err)
	}
	unix.RawSyscall(unix.SYS_FCNTL, fd, unix.F_SETFL, unix.O_NONBLOCK)
}

// exchange sends requests and turns the loop until size bytes of answers, or
// with a size of 0 the end of the connection, or with -1 a whole answer, have
// come. It returns the bytes.
func (c *rawClient) exchange(s *server, requests []byte, size int) int {
	unix.RawSyscall(unix.SYS_WRITE, c.fd, uintptr(unsafe.Pointer(unsafe.SliceData(requests))), uintptr(len(requests)))
	for got, deadline := 0, time.Now().Add(patience); ; {
		s.cycle.ProcessEventsAndTimers()
		n, _, err := unix.RawSyscall(unix.SYS_READ, c.fd, uintptr(unsafe.Pointer(&c.buf)), uintptr(len(c.buf)))
		switch {
		case err == unix.EAGAIN && time.Now().After(deadline):
			s.t.Fatalf("%d bytes have come, expected %d", got, size)
		case err == unix.EAGAIN:
			continue
		case err != 0:
			s.t.Fatal("read:", err)
		case n == 0 && size == 0:
			return got
		case n == 0:
			s.t.Fatalf("the connection ended after %d bytes", got)
		}
		got += int(n)
		if size == -1 || got == size {
			return got
		}
	}
}

func (c *rawClient) close() { unix.RawSyscall(unix.SYS_CLOSE, c.fd, 0, 0) }

func TestNoAllocationPerKeepaliveRequest(t *testing.T) {
	for _, tt := range []struct{ name, request string }{
		{"return", get},
		{"return, curl's header", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n"},
		{"return, a wildcard name to put in lower case", "GET / HTTP/1.1\r\nHost: X.WILD\r\n\r\n"},
		{"return, complex URI", "GET /./%61 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"stub_status", "GET /status HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"a page", "PUT /status HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"a header that is sent before its page", "GET /far HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"},
		{"chunked body", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTCPServer(t, "127.0.0.1:0", hotServers()...)
			var c rawClient
			c.connect(t, &s.ls.Sockaddr)
			defer c.close()

			request := []byte(tt.request)
			if got := testing.AllocsPerRun(500, func() { c.exchange(s, request, -1) }); got != 0 {
				t.Errorf("%v allocations a request, expected 0", got)
			}
			if n := s.cycle.Zone.Requests.Word.Load(); n != 501 {
				t.Errorf("%d requests were served, expected 501", n)
			}
		})
	}
}

func TestNoAllocationPerConnection(t *testing.T) {
	s := newTCPServer(t, "127.0.0.1:0", hotServers()...)
	request := []byte(getClose)
	got := testing.AllocsPerRun(500, func() {
		var c rawClient
		c.connect(t, &s.ls.Sockaddr)
		c.exchange(s, request, 0)
		c.close()
	})
	if got != 0 {
		t.Errorf("%v allocations a connection, expected 0", got)
	}
	if n := s.cycle.Zone.Handled.Word.Load(); n != 501 {
		t.Errorf("%d connections were handled, expected 501", n)
	}
}

func TestNoAllocationPerPipelinedRequest(t *testing.T) {
	s := newTCPServer(t, "127.0.0.1:0", hotServers()...)
	var c rawClient
	c.connect(t, &s.ls.Sockaddr)
	defer c.close()

	size := c.exchange(s, []byte(get), -1)
	requests := bytes.Repeat([]byte(get), 20)
	if got := testing.AllocsPerRun(100, func() { c.exchange(s, requests, 20*size) }); got != 0 {
		t.Errorf("%v allocations in 20 pipelined requests, expected 0", got)
	}
}
