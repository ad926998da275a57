package http

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// patience bounds the wait for what must happen; reaching it is a failure.
const patience = 20 * time.Second

// testKernel is the real kernel with a clock that only the test moves and
// waits that do not sleep.
type testKernel struct {
	sys.Kernel
	now    time.Duration // since the epoch, and since the start
	idle   bool          // the last wait found nothing
	sndbuf int           // of accepted connections; 0: the system's
}

func (k *testKernel) MonotonicNsec() uint64 { return uint64(k.now) }

func (k *testKernel) Gettimeofday() (int64, int) {
	return int64(k.now / time.Second), int(k.now % time.Second / time.Millisecond)
}

func (k *testKernel) EpollWait(ep int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	n, err := k.Kernel.EpollWait(ep, list, 0)
	k.idle = n == 0
	if n == 0 && msec == -1 {
		return 0, sys.EINTR // without a timer the loop may not come back with nothing
	}
	return n, err
}

func (k *testKernel) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	s, err := k.Kernel.Accept4(fd, sa)
	if err == 0 && k.sndbuf != 0 {
		unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF, k.sndbuf)
	}
	return s, err
}

// server is an HTTP server whose loop the test turns.
type server struct {
	t      testing.TB
	kernel *testKernel
	cycle  *event.Cycle
	ls     *event.Listening
	main   *Main
	log    bytes.Buffer // error log
	access bytes.Buffer // access log, if a location has accessLog
	path   string
}

const testConnections = 64

// newServer starts a server on a Unix socket, on which, unlike on loopback
// TCP, what was sent has arrived when send returns. The first of servers is
// the default one.
func newServer(t testing.TB, servers ...*Server) *server {
	path := filepath.Join(t.TempDir(), "s")
	sa, ok := sys.UnixSockaddr(path)
	if !ok {
		t.Fatalf("the path %s is too long for a socket", path)
	}
	s := startServer(t, sa, servers)
	s.path = path
	return s
}

// newTCPServer starts a server on a free port of addr.
func newTCPServer(t testing.TB, addr string, servers ...*Server) *server {
	return startServer(t, sys.TCPSockaddr(netip.MustParseAddrPort(addr)), servers)
}

func startServer(t testing.TB, sa sys.Sockaddr, servers []*Server) *server {
	kernel, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}

	s := &server{t: t, kernel: &testKernel{Kernel: kernel, now: 1e6 * time.Second}, main: NewMain()}
	times := core.NewTimes(s.kernel)
	log := core.Log{Level: core.LogInfo, File: core.NewOpenFile("", &s.log, times, os.Getpid())}

	s.cycle = event.NewCycle(s.kernel, &log, times)
	s.cycle.ConnectionN = testConnections
	s.cycle.Event.EpollEvents = 512

	fd := listenOn(t, &sa)
	s.ls = &event.Listening{Fd: fd, Sockaddr: sa, AddrText: sa.String(), Log: log}
	s.cycle.Listening = []*event.Listening{s.ls}

	addr, err := NewAddr(sa, servers[0], servers, &log)
	if err != nil {
		t.Fatal(err)
	}
	s.main.AddListening(s.ls, addr)

	if event.CoreModule.InitProcess(s.cycle) != core.OK {
		t.Fatalf("the loop cannot start: %s", &s.log)
	}
	t.Cleanup(s.stop)
	return s
}

// listenOn returns a listening socket and stores its port in sa.
func listenOn(t testing.TB, sa *sys.Sockaddr) int {
	fd, err := unix.Socket(sa.Family(), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err := unix.Bind(fd, unixSockaddr(sa)); err != nil {
		t.Fatalf("bind %s: %v", sa, err)
	}
	if err := unix.Listen(fd, 511); err != nil {
		t.Fatal(err)
	}
	if bound, err := unix.Getsockname(fd); err == nil {
		if in, ok := bound.(*unix.SockaddrInet4); ok {
			*sa = sys.TCPSockaddr(netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port)))
		}
	}
	return fd
}

// unixSockaddr turns sa into what x/sys takes.
func unixSockaddr(sa *sys.Sockaddr) unix.Sockaddr {
	if sa.Family() == sys.AF_UNIX {
		return &unix.SockaddrUnix{Name: sa.Path()}
	}
	return &unix.SockaddrInet4{Port: sa.Port(), Addr: [4]byte(sa.Raw[4:8])}
}

// stop closes everything and holds that nothing was left open or alerted to.
func (s *server) stop() {
	for i := range s.cycle.Connections {
		if c := &s.cycle.Connections[i]; c.Fd != -1 && !c.Read.Accept {
			unix.Close(c.Fd)
		}
	}
	unix.Close(s.ls.Fd)
	s.cycle.EpollDone()

	for _, level := range []string{"[alert]", "[crit]", "[emerg]"} {
		if strings.Contains(s.log.String(), level) {
			s.t.Errorf("the error log has an %s:\n%s", level, &s.log)
		}
	}
}

// run turns the loop until it has nothing to do at this time.
func (s *server) run() {
	for quiet := 0; quiet < 2; {
		s.cycle.ProcessEventsAndTimers()
		quiet++
		if !s.kernel.idle {
			quiet = 0
		}
	}
}

// until turns the loop until cond holds. On TCP an event may come late.
func (s *server) until(what string, cond func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.run()
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("still not so: %s\nerror log:\n%s", what, &s.log)
		}
	}
}

// advance moves the clock on and lets the timers expire.
func (s *server) advance(d time.Duration) {
	s.kernel.now += d
	s.run()
}

// open returns how many connections the server has.
func (s *server) open() int {
	return s.cycle.ConnectionN - s.cycle.FreeConnectionN - 1
}

// client is a client's end of a connection.
type client struct {
	s      *server
	fd     int
	got    []byte
	eof    bool // the server has closed, or half-closed, the connection
	closed bool
}

// connect opens a connection, for the time of the test, and has the server
// accept it.
func (s *server) connect() *client {
	s.t.Helper()
	c := s.dial()
	s.t.Cleanup(c.close)
	return c
}

// dial opens a connection that is the caller's to close.
func (s *server) dial() *client {
	s.t.Helper()
	fd, err := unix.Socket(s.ls.Sockaddr.Family(), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	before := s.cycle.Zone.Accepted.Word.Load()
	if err := unix.Connect(fd, unixSockaddr(&s.ls.Sockaddr)); err != nil {
		s.t.Fatal(err)
	}
	unix.SetNonblock(fd, true)
	s.until("the connection is accepted", func() bool { return s.cycle.Zone.Accepted.Word.Load() > before })

	return &client{s: s, fd: fd}
}

// send sends text, has the server react and takes its answer.
func (c *client) send(text string) {
	c.s.t.Helper()
	for b := []byte(text); len(b) > 0; {
		n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EPIPE || err == unix.ECONNRESET {
			c.recv() // the server has hung up on what it did not like
			break
		}
		if err == unix.EAGAIN {
			n = 0
		} else if err != nil {
			c.s.t.Fatal(err)
		}
		b = b[n:]
		c.s.run()
		c.recv()
	}
}

// recv takes what the server has sent.
func (c *client) recv() {
	c.s.t.Helper()
	var b [64 << 10]byte
	for {
		n, err := unix.Read(c.fd, b[:])
		switch {
		case err == unix.EAGAIN:
			return
		case err == unix.ECONNRESET || err == nil && n == 0:
			c.eof = true
			return
		case err != nil:
			c.s.t.Fatal(err)
		}
		c.got = append(c.got, b[:n]...)
	}
}

func (c *client) close() {
	if !c.closed {
		unix.Close(c.fd)
		c.closed = true
	}
}

// shutdown sends the end of the connection but goes on receiving.
func (c *client) shutdown() {
	unix.Shutdown(c.fd, unix.SHUT_WR)
	c.s.run()
	c.recv()
}

// reset closes the connection by RST.
func (c *client) reset() {
	unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	c.close()
}

// answer is one HTTP answer.
type answer struct {
	status string   // "200 OK"
	header []string // "Name: value", the lines in their order
	body   string
}

// value returns the value of a header line, "" if there is none.
func (a *answer) value(name string) string {
	for _, line := range a.header {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value
		}
	}
	return ""
}

// take parses the next answer out of what the client has got; head says that
// it was asked for without its body.
func (c *client) take(head bool) (a answer, err error) {
	top, rest, ok := bytes.Cut(c.got, []byte("\r\n\r\n"))
	if !ok {
		return a, fmt.Errorf("no whole answer in %q", c.got)
	}
	lines := strings.Split(string(top), "\r\n")
	if a.status, ok = strings.CutPrefix(lines[0], "HTTP/1.1 "); !ok {
		return a, fmt.Errorf("status line %q", lines[0])
	}
	a.header = lines[1:]

	n := 0
	if length := a.value("Content-Length"); length != "" && !head {
		if n, err = strconv.Atoi(length); err != nil || n > len(rest) {
			return a, fmt.Errorf("Content-Length %q before %q", length, rest)
		}
	}
	a.body = string(rest[:n])
	c.got = rest[n:]
	return a, nil
}

// expect holds the next answer to a status line and, unless it is "*", a body.
func (c *client) expect(status, body string) answer {
	c.s.t.Helper()
	a, err := c.take(false)
	if err != nil {
		c.s.t.Fatalf("expected %q: %v\nerror log:\n%s", status, err, &c.s.log)
	}
	if a.status != status || body != "*" && a.body != body {
		c.s.t.Fatalf("got %q %q, expected %q %q\nerror log:\n%s", a.status, a.body, status, body, &c.s.log)
	}
	return a
}

// expectNothing holds that no more has come and the connection is open.
func (c *client) expectNothing() {
	c.s.t.Helper()
	if len(c.got) != 0 || c.eof {
		c.s.t.Fatalf("got %q, end %v, expected nothing\nerror log:\n%s", c.got, c.eof, &c.s.log)
	}
}

// expectEnd holds that no more has come but the end of the connection.
func (c *client) expectEnd() {
	c.s.t.Helper()
	if len(c.got) != 0 || !c.eof {
		c.s.t.Fatalf("got %q, end %v, expected the end\nerror log:\n%s", c.got, c.eof, &c.s.log)
	}
}

// hello returns a server that says hello.
func hello(names ...string) *Server {
	cscf := NewServer(names...)
	loc := NewLocation("/")
	loc.Return = &Return{Status: 200, Text: []byte("hello")}
	cscf.Locations = []*Location{loc}
	return cscf
}

const (
	get      = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	getClose = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
)

// expectConnection holds the next answer to hello with the given Connection.
func (c *client) expectConnection(value string) {
	c.s.t.Helper()
	if a := c.expect("200 OK", "hello"); a.value("Connection") != value {
		c.s.t.Fatalf("Connection: %q, expected %q", a.value("Connection"), value)
	}
}
