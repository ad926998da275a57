package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// varying is what differs between two runs: names, the date, and counters.
var varying = []struct {
	re  *regexp.Regexp
	new string
}{
	{regexp.MustCompile(`nginxref/1\.22\.1`), "nginx/1.22.1"},
	{regexp.MustCompile(`(?m)^Date: .*\r$`), "Date: now\r"},
	{regexp.MustCompile(`(?m)^(Active connections:| |Reading:).*$`), "counters"},
}

var contentLength = regexp.MustCompile(`Content-Length: ([0-9]+)`)

// alike returns an answer without what varies. Of nginxref the name in a page
// counts as if it were nginx's.
func alike(answer string) string {
	if _, page, _ := strings.Cut(answer, "\r\n\r\n"); strings.Contains(page, "<center>nginxref/") {
		m := contentLength.FindStringSubmatch(answer)
		length, _ := strconv.Atoi(m[1])
		answer = strings.Replace(answer, m[0], fmt.Sprintf("Content-Length: %d", length-len("ref")), 1)
	}
	for _, v := range varying {
		answer = v.re.ReplaceAllString(answer, v.new)
	}
	return answer
}

// request returns a request for a page that ends its connection.
func request(host, uri string) string {
	return "GET " + uri + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

// TestOneConfigurationServesAlike gives both programs the same file and asks
// both the same, over a Unix socket and a port.
func TestOneConfigurationServesAlike(t *testing.T) {
	needNginx(t)
	text, err := os.ReadFile("testdata/serve.conf")
	if err != nil {
		t.Fatal(err)
	}
	ours := start(t, nginxref, string(text))
	theirs := start(t, nginxBinary, string(text))

	for _, request := range []string{
		request("default.example", "/"),
		request("EXAMPLE.com", "/"),
		request("www.example.com", "/"),
		request("a.b.example.org", "/"),
		request("example.org", "/"),
		request("example.net", "/"),
		request("a.example.net", "/"),
		request("www.example.test", "/"),
		request("nobody.example", "/"),
		request("example.com", "/exact"),
		request("example.com", "/exactly"),
		request("example.com", "/outer/x"),
		request("example.com", "/outer/inner/x"),
		request("example.com", "/old"),
		request("example.com", "/nothing"),
		request("example.com", "/empty"),
		request("example.com", "/closed"),
		request("example.com", "/status"),
		request("gone.example", "/any"),
		"HEAD / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n",
		"nonsense\r\n",
		// keepalive_requests is 2 there: the second answer is the last.
		strings.Repeat("GET /few HTTP/1.1\r\nHost: example.com\r\n\r\n", 3),
		strings.Repeat("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 2) + request("example.com", "/"),
	} {
		got, want := alike(ours.ask(request)), alike(theirs.ask(request))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-nginx +nginxref):\n%s", request, d)
		}
	}

	for _, s := range []*server{ours, theirs} {
		_, rest, _ := strings.Cut(s.read("nginx.conf"), "listen 127.0.0.1:")
		port, _, _ := strings.Cut(rest, ";")
		s.addr = "127.0.0.1:" + port
	}
	for _, host := range []string{"default.example", "example.com", "port.example"} {
		got, want := alike(ours.ask(request(host, "/"))), alike(theirs.ask(request(host, "/")))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("port, host %s (-nginx +nginxref):\n%s", host, d)
		}
	}
}

// A request header that does not come in time is given up.
func TestClientHeaderTimeout(t *testing.T) {
	s := start(t, nginxref, strings.Replace(twoWorkers, "http {", "http {\n client_header_timeout 50ms;", 1))

	conn := s.connect("GET / HTTP/1.1\r\n")
	if answer, err := io.ReadAll(conn); err != nil || len(answer) != 0 {
		t.Errorf("answer %q, error %v, want the end of the connection", answer, err)
	}
}

// debug_connection has one client's connections in the log at all levels.
func TestDebugConnection(t *testing.T) {
	s := start(t, nginxref, strings.Replace(portServer(""), "events {", "events { debug_connection 127.0.0.2;", 1))

	ask := func(from string) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
		conn, err := d.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		io.WriteString(conn, request("a", "/"))
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "one\n") {
			t.Fatalf("answer %q, error %v", answer, err)
		}
	}
	ask("127.0.0.1")
	ask("127.0.0.2")
	ask("127.0.0.1")
	s.wait("line of the debug log", func() bool { return strings.Contains(s.read("error.log"), "close http connection") })

	lines := regexp.MustCompile(`(?m)^.* \[debug\] .*$`).FindAllString(s.read("error.log"), -1)
	for _, line := range lines {
		if !strings.Contains(line, "*2 ") {
			t.Errorf("not of the second connection: %s", line)
		}
	}
	if !strings.Contains(lines[0], "accept: 127.0.0.2:") || !strings.Contains(s.read("error.log"), "http header: \"Host: a\"") {
		t.Errorf("the debug log begins with %q", lines[0])
	}
}

// An idle worker is small: hundreds of them fit on a small machine.
func TestIdleWorkerIsSmall(t *testing.T) {
	s := start(t, nginxref, `
worker_processes 2;
events {}
http { server { listen SOCKET; return 200 "ok\n"; } }
`)
	for _, pid := range s.waitForWorkers(s.pid, 2) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		kb := 0
		for line := range strings.Lines(string(status)) {
			fmt.Sscanf(line, "VmRSS: %d kB", &kb)
		}
		if kb == 0 || kb >= 8<<10 {
			t.Errorf("resident memory of an idle worker: %d kB, want under 8 MB", kb)
		}
		t.Logf("resident memory of an idle worker: %d kB", kb)
	}
}
