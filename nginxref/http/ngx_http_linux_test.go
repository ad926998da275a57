package http

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

func TestServerIsFoundByName(t *testing.T) {
	named := func(names ...string) *Server {
		cscf := NewServer(names...)
		cscf.Location.Return = &Return{Status: 200, Text: []byte(strings.Join(names, " "))}
		return cscf
	}
	s := newServer(t,
		named("default.example"),
		named("a.example", "b.example"),
		named("*.example"),
		named("www.*", "mail.*"),
		named(".dot.test"),
		named("*.b.dot.test"),
		named("*.very.long.dot.test", "www.a.*"),
		named(""),
		named("UPPER.test"),
		named("\u00c4\xc4.test"),
	)
	for host, want := range map[string]string{
		"a.example":   "a.example b.example",
		"b.example":   "a.example b.example",
		"B.Example":   "a.example b.example",
		"c.example":   "*.example",
		"a.c.example": "*.example",
		"example":     "default.example",
		"xexample":    "default.example",

		"www.test":    "www.* mail.*",
		"mail.a.b.c":  "www.* mail.*",
		"www.a.test":  "*.very.long.dot.test www.a.*",
		"www.ab.test": "www.* mail.*",
		"www":         "default.example",
		"www.example": "*.example",

		"dot.test":             ".dot.test",
		"x.dot.test":           ".dot.test",
		"b.dot.test":           ".dot.test",
		"x.b.dot.test":         "*.b.dot.test",
		"long.dot.test":        ".dot.test",
		"very.long.dot.test":   ".dot.test",
		"x.very.long.dot.test": "*.very.long.dot.test www.a.*",
		"www.dot.test":         ".dot.test",

		"upper.test": "UPPER.test",

		"\u00c4\xc4.TEST": "\u00c4\xc4.test", // bytes that are no letters of ASCII have no case
		"10.0.0.1":        "default.example",
	} {
		c := s.connect()
		c.send("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
		if a, err := c.take(false); err != nil || a.body != want {
			t.Errorf("Host %s is served by %q (%v), expected %q", host, a.body, err, want)
		}
	}

	c := s.connect()
	c.send("GET / HTTP/1.0\r\n\r\n")
	c.expect("200 OK", "")
}

func TestConflictingNamesAreTheFirstServers(t *testing.T) {
	var b bytes.Buffer
	kernel, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}
	log := &core.Log{Level: core.LogWarn, File: core.NewOpenFile("", &b, core.NewTimes(kernel), os.Getpid())}
	first, second := NewServer("a.test", "*.b.test", "c.*", ".d.test"), NewServer("A.test", "*.b.test", "c.*", "d.test", "*.d.test")

	addr, err := NewAddr(sys.TCPSockaddr(netip.MustParseAddrPort("127.0.0.1:80")), first, []*Server{first, second}, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.test", "x.b.test", "c.x", "d.test", "x.d.test"} {
		if addr.virtualNames.find([]byte(host)) != first {
			t.Errorf("%s is not the first server's", host)
		}
	}
	for _, name := range second.Names {
		warning := fmt.Sprintf("conflicting server name \"%s\" on 127.0.0.1:80, ignored", name)
		if !strings.Contains(b.String(), warning) {
			t.Errorf("no %q in %q", warning, &b)
		}
	}
}

func TestMalformedNamesAreRefused(t *testing.T) {
	for _, name := range []string{"*", "a*", "*a.test", "a.*.test", "*.a.*", "a..test", "a\x00"} {
		servers := []*Server{NewServer("ok.test"), NewServer(name)}
		_, err := NewAddr(sys.TCPSockaddr(netip.MustParseAddrPort("127.0.0.1:80")), servers[0], servers, &core.Log{})
		want := fmt.Sprintf("invalid server name or wildcard \"%s\" on 127.0.0.1:80", name)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, expected %q", name, err, want)
		}
	}
}

// Several addresses share the socket of the wildcard: the server is found by
// the address that the client connected to.
func TestAddressesOfOnePortShareTheWildcardsSocket(t *testing.T) {
	text := func(text string) *Server {
		cscf := NewServer()
		cscf.Location.Return = &Return{Status: 301, Text: []byte("/" + text)}
		return cscf
	}
	s := newTCPServer(t, "0.0.0.0:0", text("any"))
	port := uint16(s.ls.Sockaddr.Port())

	addr := func(ip string, cscf *Server) *Addr {
		a, err := NewAddr(sys.TCPSockaddr(netip.AddrPortFrom(netip.MustParseAddr(ip), port)), cscf, []*Server{cscf}, &s.ls.Log)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s.main.AddListening(s.ls, addr("127.0.0.2", text("two")), addr("127.0.0.3", text("three")), addr("0.0.0.0", text("any")))

	for ip, want := range map[string]string{"127.0.0.1": "any", "127.0.0.2": "two", "127.0.0.3": "three", "127.0.0.4": "any"} {
		s.ls.Sockaddr = sys.TCPSockaddr(netip.AddrPortFrom(netip.MustParseAddr(ip), port))
		c := s.connect()
		s.ls.Sockaddr = sys.TCPSockaddr(netip.AddrPortFrom(netip.MustParseAddr("0.0.0.0"), port))

		c.send("GET / HTTP/1.0\r\n\r\n")
		s.until("the request is answered", func() bool { c.recv(); return len(c.got) > 0 })
		a := c.expect("301 Moved Permanently", "*")
		if got, want := a.value("Location"), fmt.Sprintf("http://%s:%d/%s", ip, port, want); got != want {
			t.Errorf("%s: Location: %s, expected %s", ip, got, want)
		}
	}
}

func TestEachLocationLogsToItsOwnErrorLog(t *testing.T) {
	var ofServer, ofLocation bytes.Buffer
	second := NewServer("second.test")
	loc := NewLocation("/loc")
	second.Locations = []*Location{loc}
	s := newServer(t, hello(), second)

	second.Location.ErrorLog = &core.Log{Level: core.LogInfo, File: core.NewOpenFile("", &ofServer, s.cycle.Time, 1)}
	loc.ErrorLog = &core.Log{Level: core.LogErr, File: core.NewOpenFile("", &ofLocation, s.cycle.Time, 1)}

	c := s.connect()
	c.send("GET /nothing HTTP/1.1\r\nHost: second.test\r\n\r\n")
	c.send("GET /loc/nothing HTTP/1.1\r\nHost: second.test\r\n\r\n")
	for _, tt := range []struct {
		name, want string
		log        *bytes.Buffer
	}{
		{"server", `open() "html/nothing" failed (2: No such file or directory), client: unix:, server: second.test, request: "GET /nothing HTTP/1.1", host: "second.test"`, &ofServer},
		{"location", `open() "html/loc/nothing" failed (2: No such file or directory), client: unix:, server: second.test, request: "GET /loc/nothing HTTP/1.1", host: "second.test"`, &ofLocation},
	} {
		if !strings.Contains(tt.log.String(), tt.want) {
			t.Errorf("the %s's log has %q, expected %q", tt.name, tt.log, tt.want)
		}
	}
	if s.log.Len() != 0 && strings.Contains(s.log.String(), "open()") {
		t.Errorf("the main log has %q", &s.log)
	}
}

// Counters move where nginx moves them: a connection that has said nothing is
// waiting, half a request is reading, an answer not yet taken is writing.
func TestStubStatusCounts(t *testing.T) {
	cscf, _ := bigServer()
	status := NewLocation("/status")
	status.Handler = StubStatusHandler
	cscf.Locations = append(cscf.Locations, status)
	s := newServer(t, cscf)
	s.kernel.sndbuf = 4096

	expect := func(accepts, requests, active, reading, writing, waiting int) {
		t.Helper()
		c := s.dial() // counts as accepted, active and writing
		c.send("GET /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		want := fmt.Sprintf("Active connections: %d \nserver accepts handled requests\n %d %d %d \nReading: %d Writing: %d Waiting: %d \n",
			active, accepts, accepts, requests, reading, writing, waiting)
		if a := c.expect("200 OK", want); a.value("Content-Type") != "text/plain" {
			t.Errorf("Content-Type: %s", a.value("Content-Type"))
		}
		c.close()
		s.run()
	}

	expect(1, 1, 1, 0, 1, 0)
	a := s.connect()
	expect(3, 2, 2, 0, 1, 1)
	a.send("GET / HT")
	expect(4, 4, 2, 1, 1, 0)
	b := s.connect()
	b.ask(getBig)
	expect(6, 6, 3, 1, 2, 0)
	a.send("TP/1.1\r\nHost: a\r\n\r\n")
	expect(7, 7, 3, 0, 2, 1)
	a.send(get)
	expect(8, 9, 3, 0, 2, 1)
	a.close()
	b.close()
	s.run()
	expect(9, 10, 1, 0, 1, 0)
}

func TestStubStatusIsForGetAndHead(t *testing.T) {
	cscf := hello()
	cscf.Locations[0].Handler, cscf.Locations[0].Return = StubStatusHandler, nil
	s := newServer(t, cscf)
	for method, status := range map[string]string{"GET": "200 OK", "POST": "405 Not Allowed", "PUT": "405 Not Allowed", "X": "405 Not Allowed"} {
		c := s.connect()
		c.send(request(method, "/"))
		c.expect(status, "*")
	}
	c := s.connect()
	c.send(request("HEAD", "/"))
	if a, err := c.take(true); err != nil || a.status != "200 OK" || a.value("Content-Length") == "0" {
		t.Errorf("HEAD: %v, %v", a, err)
	}
	c.expectNothing()
}
