package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// The real nginx and this package serve the same configuration, on the same
// port of two loopback addresses, to the same bytes.
const (
	realIP = "127.0.0.1"
	oursIP = "127.0.0.2"
)

// differentialConf is the configuration for nginx; differentialServers is the
// same for this package.
const differentialConf = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log %[3]s;
events { worker_connections 64; }
http {
	access_log %[1]s/access.log combined;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	connection_pool_size 256;
	client_header_buffer_size 256;
	large_client_header_buffers 2 512;
	client_max_body_size 1000;
	default_type application/octet-stream;
	root /nonexistent/html;
	server {
		listen %[2]s default_server;
		server_name first.example;
		keepalive_requests 110;
		location / { return 200 "first\n"; }
		location = / { return 200 "home\n"; }
		location = /exact { return 200 "exact\n"; }
		location /prefix { return 200 "prefix\n"; }
		location /prefix/longer { return 200 "longer\n"; }
		location /files { }
		location /empty { return 200 ""; }
		location /gone { return 410; }
		location /gone/text { return 410 "long gone\n"; }
		location /nocontent { return 204; }
		location /created { return 201 "made\n"; }
		location /teapot { return 418; }
		location /strange { return 999 "strange\n"; }
		location /low { return 99 "low\n"; }
		location /450 { return 450; }
		location /301 { return 301 http://there.example/x; }
		location /302 { return 302 /relative?a=b; }
		location /303 { return 303 /relative; }
		location /307 { return 307 https://there.example/; }
		location /308 { return 308 /relative; }
		location /300 { return 300; }
		location /304 { return 304; }
		location /400 { return 400; }
		location /401 { return 401; }
		location /408 { return 408; }
		location /413 { return 413; }
		location /444 { return 444; }
		location /494 { return 494; }
		location /499 { return 499; }
		location /498 { return 498; }
		location /500 { return 500; }
		location /503 { return 503 "busy\n"; }
		location /505 { return 505; }
		location /status { stub_status; }
		location /ka0 { keepalive_timeout 0; return 200 "ka0\n"; }
		location /kah { keepalive_timeout 75 20; return 200 "kah\n"; }
		location /quiet { server_tokens off; return 404; }
		location /quiet/200 { server_tokens off; return 200 "quiet\n"; }
	}
	server {
		listen %[2]s;
		server_name second.example *.wild.example .dot.example tail.*;
		return 200 "second\n";
	}
	server {
		listen %[2]s;
		server_name very.wild.example;
		location / { return 200 "very\n"; }
	}
	server {
		listen %[2]s;
		server_name small.example;
		large_client_header_buffers 4 300;
		location / { return 200 "small\n"; }
	}
	server {
		listen %[2]s;
		server_name wide.example;
		large_client_header_buffers 8 512;
		location / { return 200 "wide\n"; }
	}
}
`

func differentialServers(log *AccessLog) []*Server {
	settle := func(cscf *Server, locs ...*Location) *Server {
		cscf.ClientHeaderBufferSize = 256
		cscf.LargeClientHeaderBuffers = Bufs{2, 512}
		cscf.Locations = locs
		for _, loc := range append(locs, cscf.Location) {
			loc.ClientMaxBodySize = 1000
			loc.DefaultType = "application/octet-stream"
			loc.Root = "/nonexistent/html"
			loc.AccessLogs = []*AccessLog{log}
		}
		return cscf
	}
	ret := func(name string, status core.Status, text string) *Location {
		loc := NewLocation(name)
		loc.Return = &Return{status, []byte(text)}
		return loc
	}
	exact := func(loc *Location) *Location { loc.Exact = true; return loc }
	with := func(loc *Location, set func(loc *Location)) *Location { set(loc); return loc }

	locs := []*Location{
		ret("/", 200, "first\n"),
		exact(ret("/", 200, "home\n")),
		exact(ret("/exact", 200, "exact\n")),
		ret("/prefix", 200, "prefix\n"),
		ret("/prefix/longer", 200, "longer\n"),
		NewLocation("/files"),
		ret("/empty", 200, ""),
		ret("/gone", 410, ""),
		ret("/gone/text", 410, "long gone\n"),
		ret("/nocontent", 204, ""),
		ret("/created", 201, "made\n"),
		ret("/teapot", 418, ""),
		ret("/strange", 999, "strange\n"),
		ret("/low", 99, "low\n"),
		ret("/450", 450, ""),
		ret("/301", 301, "http://there.example/x"),
		ret("/302", 302, "/relative?a=b"),
		ret("/303", 303, "/relative"),
		ret("/307", 307, "https://there.example/"),
		ret("/308", 308, "/relative"),
		ret("/503", 503, "busy\n"),
		with(NewLocation("/status"), func(loc *Location) { loc.Handler = StubStatusHandler }),
		with(ret("/ka0", 200, "ka0\n"), func(loc *Location) { loc.KeepaliveTimeout = 0 }),
		with(ret("/kah", 200, "kah\n"), func(loc *Location) { loc.KeepaliveHeader = 20 }),
		with(ret("/quiet", 404, ""), func(loc *Location) { loc.ServerTokens = false }),
		with(ret("/quiet/200", 200, "quiet\n"), func(loc *Location) { loc.ServerTokens = false }),
	}
	for _, status := range []core.Status{300, 304, 400, 401, 408, 413, 444, 494, 498, 499, 500, 505} {
		locs = append(locs, ret(fmt.Sprint("/", status), status, ""))
	}
	for _, loc := range locs {
		loc.KeepaliveRequests = 110
	}

	second := settle(NewServer("second.example", "*.wild.example", ".dot.example", "tail.*"))
	second.Location.Return = &Return{200, []byte("second\n")}

	small := settle(NewServer("small.example"), ret("/", 200, "small\n"))
	small.LargeClientHeaderBuffers = Bufs{4, 300}

	wide := settle(NewServer("wide.example"), ret("/", 200, "wide\n"))
	wide.LargeClientHeaderBuffers = Bufs{8, 512}

	return []*Server{
		settle(NewServer("first.example"), locs...),
		second,
		settle(NewServer("very.wild.example"), ret("/", 200, "very\n")),
		small,
		wide,
	}
}

// pair is the real server and ours.
type pair struct {
	t          *testing.T
	real, ours netip.AddrPort
	dir        string

	process        *exec.Cmd
	accessLog, log bytes.Buffer // ours
	stopLoop       atomic.Bool
	loopDone       chan struct{}
	cycle          *event.Cycle
}

// startPair starts both, with error logs at the given level, or skips the test
// if there is no nginx.
func startPair(t *testing.T, level string) *pair {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed: nothing to compare with (apt-get install nginx)")
	}
	if out, _ := exec.Command(binary, "-v").CombinedOutput(); !bytes.Contains(out, []byte("nginx/1.22.1")) {
		t.Skipf("%s is %q, not nginx 1.22.1, which this package answers as", binary, bytes.TrimSpace(out))
	}

	p := &pair{t: t, dir: t.TempDir(), loopDone: make(chan struct{})}
	port := freePort(t)
	p.real = netip.AddrPortFrom(netip.MustParseAddr(realIP), port)
	p.ours = netip.AddrPortFrom(netip.MustParseAddr(oursIP), port)

	conf := filepath.Join(p.dir, "nginx.conf")
	text := fmt.Sprintf(differentialConf, p.dir, p.real, level)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.process = exec.Command(binary, "-p", p.dir, "-c", conf, "-e", filepath.Join(p.dir, "error.log"))
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	p.process.Stderr = &stderr
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.process.Process.Kill()
		p.process.Wait()
	})

	started := make(chan struct{})
	go p.loop(logLevels[level], started)
	<-started
	t.Cleanup(p.stop)

	for _, addr := range []netip.AddrPort{p.ours, p.real} {
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			conn, err := net.Dial("tcp", addr.String())
			if err == nil {
				conn.Close()
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not start: %v: %s", addr, err, &stderr)
			}
		}
	}
	return p
}

// freePort returns a port that is free on both addresses.
func freePort(t *testing.T) uint16 {
	for range 100 {
		l, err := net.Listen("tcp", realIP+":0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).AddrPort().Port()
		l2, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(oursIP), port).String())
		l.Close()
		if err == nil {
			l2.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

var logLevels = map[string]uint{"info": core.LogInfo, "debug": core.LogDebugAll}

// loop runs our server until stop.
func (p *pair) loop(level uint, started chan struct{}) {
	defer close(p.loopDone)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	kernel, err := sys.New()
	if err != nil {
		panic(err)
	}
	times := core.NewTimes(kernel)
	log := core.Log{Level: level, File: core.NewOpenFile("", &p.log, times, os.Getpid())}
	access := &AccessLog{File: core.NewOpenFile("", &p.accessLog, times, 0)}

	p.cycle = event.NewCycle(kernel, &log, times)
	p.cycle.ConnectionN = 64
	p.cycle.Event.EpollEvents = 512

	sa := sys.TCPSockaddr(p.ours)
	fd := listenOn(p.t, &sa)
	defer unix.Close(fd)

	ls := &event.Listening{Fd: fd, Sockaddr: sa, AddrText: sa.String(), Log: log}
	p.cycle.Listening = []*event.Listening{ls}

	servers := differentialServers(access)
	addr, err := NewAddr(sa, servers[0], servers, &log)
	if err != nil {
		panic(err)
	}
	NewMain().AddListening(ls, addr)
	if event.CoreModule.InitProcess(p.cycle) != core.OK {
		panic("the loop cannot start")
	}

	close(started)
	for !p.stopLoop.Load() {
		p.cycle.ProcessEventsAndTimers()
	}
}

func (p *pair) stop() {
	if p.stopLoop.Swap(true) {
		return
	}
	handler := event.Handler(func(*event.Event) {})
	p.cycle.Notify(&handler)
	<-p.loopDone
	p.cycle.EpollDone()
}

// exchange sends chunks and returns all that comes until the server closes.
// The client's half is closed behind the last chunk, but not before an answer
// has begun to come, or seems not to: with the end of the connection right
// behind a body that is too large, nginx waits for more of it.
func (p *pair) exchange(to netip.AddrPort, chunks []string) []byte {
	p.t.Helper()
	conn, err := net.Dial("tcp", to.String())
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))

	answered, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		for i, chunk := range chunks {
			if i > 0 {
				time.Sleep(2 * time.Millisecond) // let the server see the one before
			}
			if _, err := io.WriteString(conn, chunk); err != nil {
				return // it has hung up
			}
		}
		select {
		case <-answered:
		case <-time.After(10 * time.Millisecond):
		}
		conn.(*net.TCPConn).CloseWrite()
	}()

	first := make([]byte, 1)
	n, _ := conn.Read(first)
	close(answered)
	rest, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("%s: after %q: %v", to, rest, err)
	}
	<-sent
	return append(first[:n], rest...)
}
