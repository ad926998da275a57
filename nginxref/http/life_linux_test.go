package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// quit tells the worker to quit, as ngx_worker_process_cycle does when QUIT
// has come.
func (s *server) quit() {
	s.cycle.Exiting = true
	s.cycle.CloseIdleConnections()
	s.run()
}

// G07: an idle connection is closed at once, one with a request gets its
// answer with Connection: close.
func TestQuitClosesIdleConnectionsAndFinishesRequests(t *testing.T) {
	s := newServer(t, hello())
	idle, reading, discarding := s.connect(), s.connect(), s.connect()
	idle.send(get)
	idle.expect("200 OK", "hello")
	reading.send(get)
	reading.expect("200 OK", "hello")
	reading.send("GET / HTTP/1.1\r\nHo")
	discarding.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
	discarding.expectConnection("keep-alive")

	s.quit()
	idle.recv()
	idle.expectEnd()
	reading.recv()
	reading.expectNothing()
	discarding.recv()
	discarding.expectNothing()

	reading.send("st: a\r\n\r\n")
	reading.expectConnection("close")
	reading.expectEnd()
	discarding.send("hello")
	discarding.expectEnd()
	discarding.close() // it is a lingering close: nginx did not look if there is more
	s.run()
	if n := s.open(); n != 0 {
		t.Errorf("%d connections are left open", n)
	}
}

func TestQuitWaitsForTheClientToTakeItsAnswer(t *testing.T) {
	cscf, body := bigServer()
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096
	c := s.connect()
	c.send(get) // the connection has been idle before
	c.expect("200 OK", "hello")
	c.ask(getBig)

	s.quit()
	for len(c.got) < len(body) && !c.eof {
		c.sip(64 << 10)
		s.run()
	}
	c.recv()
	c.expect("200 OK", body)
	c.expectEnd()
}

// A request that is answered while the worker quits is the last one, even if
// the next one has come with it.
func TestQuitDropsPipelinedRequests(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	s.quit()
	c.send(get + get)
	c.expectConnection("close")
	c.expectEnd()
}

// Until its first byte has come a connection is not idle, in 1.22.1: it is let
// wait.
func TestQuitLetsANewConnectionWait(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	s.quit()
	c.recv()
	c.expectNothing()
	c.send(get)
	c.expectConnection("close")
	c.expectEnd()
}

func TestLongestIdleConnectionIsClosedWhenTheyRunOut(t *testing.T) {
	s := newServer(t, hello())
	var idle []*client
	for range testConnections - 5 { // with the listener, 4 are left: a sixteenth
		c := s.connect()
		c.send(get)
		c.expect("200 OK", "hello")
		idle = append(idle, c)
	}

	c := s.connect()
	c.send(get)
	c.expect("200 OK", "hello")

	for i, old := range idle {
		old.recv()
		if closed := i < len(idle)/8; old.eof != closed {
			t.Errorf("connection %d: closed %v, expected %v", i, old.eof, closed)
		}
	}
	if !strings.Contains(s.log.String(), "reusing connections") {
		t.Errorf("the error log has %q", &s.log)
	}
}

func TestNewConnectionsAreClosedForNewerOnesWhenTheyRunOut(t *testing.T) {
	s := newServer(t, hello())
	first := s.connect()
	for range testConnections {
		s.connect()
	}
	first.recv()
	first.expectEnd()
}

// When worker_shutdown_timeout is over, the process has every connection's
// handler called to close it.
func TestShutdownTimeoutEndsAnswers(t *testing.T) {
	cscf, _ := bigServer()
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096
	c := s.connect()
	c.ask(getBig)

	ec := s.only().c
	ec.Close = true
	ec.Error = true
	ec.Read.Handler(ec.Read)
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open, expected 0", n)
	}
}

// bigServer returns a server with an answer that does not fit into a socket.
func bigServer() (cscf *Server, body string) {
	body = strings.Repeat("0123456789abcdef", 1<<16)
	cscf = hello()
	big := NewLocation("/big")
	big.Return = &Return{Status: 200, Text: []byte(body)}
	cscf.Locations = append(cscf.Locations, big)
	return cscf, body
}

const getBig = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"

// write sends text, which must fit, without turning the loop.
func (c *client) write(text string) {
	c.s.t.Helper()
	if n, err := unix.Write(c.fd, []byte(text)); n != len(text) {
		c.s.t.Fatalf("%d of %d bytes were sent: %v", n, len(text), err)
	}
}

// ask sends a request without taking anything of the answer.
func (c *client) ask(text string) {
	c.s.t.Helper()
	c.write(text)
	c.s.run()
}

// sip takes at most n bytes of an answer.
func (c *client) sip(n int) {
	b := make([]byte, n)
	if m, err := unix.Read(c.fd, b); err == nil {
		c.got = append(c.got, b[:m]...)
		c.eof = m == 0
	}
}

func TestSlowClientGetsAllOfItsAnswer(t *testing.T) {
	cscf, body := bigServer()
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096
	slow, quick := s.connect(), s.connect()

	slow.ask(getBig)
	for range 3 {
		quick.send(get)
		quick.expect("200 OK", "hello")
	}
	for turn := 0; len(slow.got) < len(body); turn++ {
		if turn%16 == 0 {
			s.advance(59 * time.Second) // send_timeout is between two sends
		}
		slow.sip(16 << 10)
		s.run()
		if slow.eof {
			t.Fatalf("the connection was closed after %d bytes: %s", len(slow.got), &s.log)
		}
	}
	slow.recv()
	slow.expect("200 OK", body)
	slow.send(get)
	slow.expect("200 OK", "hello")
}

func TestClientThatTakesNothingIsGivenUp(t *testing.T) {
	cscf, body := bigServer()
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096
	c := s.connect()

	c.ask(getBig)
	s.advance(59 * time.Second)
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open, expected 1", n)
	}
	s.advance(time.Second)
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open, expected 0", n)
	}
	c.recv()
	if !c.eof || len(c.got) >= len(body) {
		t.Errorf("end %v after %d bytes", c.eof, len(c.got))
	}
	if !strings.Contains(s.log.String(), "client timed out") {
		t.Errorf("the error log has %q", &s.log)
	}
}

func TestRequestBehindABigOneWaits(t *testing.T) {
	cscf, body := bigServer()
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096
	c := s.connect()

	c.ask(getBig + get)
	for len(c.got) < len(body) {
		c.sip(64 << 10)
		s.run()
	}
	c.recv()
	s.run()
	c.recv()
	c.expect("200 OK", body)
	c.expect("200 OK", "hello")
	c.expectNothing()
}

func TestResetClientsTakeNobodyWithThem(t *testing.T) {
	cscf, _ := bigServer()
	s := newTCPServer(t, "127.0.0.1:0", cscf)
	s.kernel.sndbuf = 4096

	for _, request := range []string{
		"",
		"GET / HT",
		"GET / HTTP/1.1\r\nHo",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhello",
		get,
		"\x00\r\n\r\n" + get,
		getBig,
		getBig + getBig,
		getClose,
	} {
		other := s.connect()
		other.send("GET / HT")

		c := s.connect()
		if request != "" {
			c.ask(request)
		}
		c.reset()
		s.until("the connection is closed", func() bool { return s.open() == 1 })

		other.send("TP/1.1\r\nHost: a\r\n\r\n")
		s.until("the other one is answered", func() bool { other.recv(); return len(other.got) > 0 })
		other.expect("200 OK", "hello")
		other.close()
		s.until("all are closed", func() bool { return s.open() == 0 })
	}

	zone := s.cycle.Zone
	if got := fmt.Sprint(zone.Active.Word.Load(), zone.Reading.Word.Load(), zone.Writing.Word.Load(), zone.Waiting.Word.Load()); got != "0 0 0 0" {
		t.Errorf("active, reading, writing, waiting: %s, expected 0 0 0 0", got)
	}
}

func TestClientThatLeavesDuringABigAnswerIsNoticed(t *testing.T) {
	cscf, _ := bigServer()
	s := newServer(t, cscf)
	s.logAccess()
	s.kernel.sndbuf = 4096
	c := s.connect()

	c.ask(getBig)
	unix.Shutdown(c.fd, unix.SHUT_WR)
	s.run()
	if n := s.open(); n != 0 {
		t.Errorf("%d connections are open, expected 0", n)
	}
	if !strings.Contains(s.log.String(), "client prematurely closed connection") {
		t.Errorf("the error log has %q", &s.log)
	}
	if !strings.Contains(s.access.String(), `"GET /big HTTP/1.1" 200 `) {
		t.Errorf("the access log has %q", &s.access)
	}
}

// nginx takes a body that ends in an error for one that has ended, and waits
// for the next request.
func TestResetInABodyIsNoticedWhenTheConnectionIsIdleTooLong(t *testing.T) {
	s := newTCPServer(t, "127.0.0.1:0", hello())
	c := s.connect()
	c.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	s.until("the request is answered", func() bool { c.recv(); return len(c.got) > 0 })
	c.reset()
	s.until("the connection is idle", func() bool { return s.cycle.Zone.Writing.Word.Load() == 0 })
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open, expected 1", n)
	}
	s.advance(75 * time.Second)
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open, expected 0", n)
	}
}

// bad is a request with more behind what is wrong with it.
const bad = "BAD\x00 / HTTP/1.1\r\n\r\n"

func TestLingeringCloseReadsUntilTheClientCloses(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send(bad)
	c.expect("400 Bad Request", "*")
	c.expectEnd()
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open, expected 1", n)
	}
	c.send("more\r\n")
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open after more input, expected 1", n)
	}
	c.close()
	s.run()
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open, expected 0", n)
	}
}

func TestLingeringCloseEndsWhenNothingComes(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send(bad)
	s.advance(4900 * time.Millisecond)
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open, expected 1", n)
	}
	s.advance(100 * time.Millisecond)
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open, expected 0", n)
	}
}

func TestLingeringCloseEndsWithItsTime(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send(bad)
	for range 14 {
		s.advance(2 * time.Second)
		c.send("more\r\n")
	}
	if n := s.open(); n != 1 {
		t.Fatalf("%d connections are open after 28 s, expected 1", n)
	}
	c.write("more\r\n") // comes with the end of the time
	s.advance(3 * time.Second)
	if n := s.open(); n != 0 {
		t.Fatalf("%d connections are open after 31 s, expected 0", n)
	}
}

// A close lingers if there is input unread, or may be, or if the body came
// with the header.
func TestWhenACloseLingers(t *testing.T) {
	cscf := hello()
	page := NewLocation("/400")
	page.Return = &Return{Status: 400}
	cscf.Locations = append(cscf.Locations, page)
	const post = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"

	for _, tt := range []struct {
		name    string
		chunks  []string
		lingers bool
	}{
		{"no body", []string{getClose}, false},
		{"more behind the request", []string{getClose + "x"}, true},
		{"bad request", []string{bad}, true},
		{"bad end of a request", []string{"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", "\x00"}, true},
		{"body with the header", []string{post + "Content-Length: 3\r\n\r\nabc"}, true},
		{"body in chunks with the header", []string{post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}, true},
		{"400, body with the header", []string{"POST /400 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"}, false},
		{"body after the header", []string{post + "Content-Length: 3\r\n\r\n", "abc"}, true},
		{"chunks after the header", []string{post + "Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"}, false},
	} {
		s := newServer(t, cscf)
		c := s.connect()
		for _, chunk := range tt.chunks {
			c.send(chunk)
		}
		if !c.eof {
			t.Errorf("%s: the server has not closed its half", tt.name)
		}
		if lingers := s.open() == 1; lingers != tt.lingers {
			t.Errorf("%s: lingers %v, expected %v", tt.name, lingers, tt.lingers)
		}
	}
}

// A connection that lingers may be closed for a new one.
func TestLingeringConnectionsAreReusable(t *testing.T) {
	s := newServer(t, hello())
	for range testConnections + 10 {
		c := s.connect()
		c.send(bad)
		c.expect("400 Bad Request", "*")
	}
}

func TestBodyIsReadAfterTheAnswer(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	c.expectConnection("keep-alive")
	c.send("he")
	c.send("llo" + get)
	c.expectConnection("keep-alive")
	c.expectNothing()
}

func TestBodyThatDoesNotComeClosesTheConnection(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
	c.expectConnection("keep-alive")
	s.advance(4 * time.Second)
	c.send("h")
	s.advance(4900 * time.Millisecond)
	c.recv()
	c.expectNothing()
	s.advance(100 * time.Millisecond)
	c.recv()
	c.expectEnd()
}

func TestBodyThatTricklesIsGivenUp(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
	c.expectConnection("keep-alive")
	for range 14 {
		s.advance(2 * time.Second)
		c.send("h")
	}
	c.expectNothing()
	s.advance(2 * time.Second)
	c.send("h")
	c.expectEnd()
}
