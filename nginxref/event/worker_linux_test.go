package event

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// worker is one cycle as a test sees it.
type worker struct {
	*Cycle
	errorLog
	t        testing.TB
	kernel   *kernel
	accepted []*Connection
}

// newWorker returns a cycle on the real kernel, as a master's only worker
// would have it. Change it before start.
func newWorker(t testing.TB) *worker {
	linux, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, kernel: &kernel{Kernel: linux, t: t, pid: linux.Getpid()}}
	times := core.NewTimes(w.kernel)
	log := &core.Log{Level: core.LogDebugAll, File: core.NewOpenFile("", w, times, w.kernel.pid)}
	w.Cycle = NewCycle(w.kernel, log, times)
	w.Process = ProcessWorker
	w.Conf.Master = true
	w.Conf.WorkerProcesses = 1
	w.ConnectionN = 32
	w.Event = EventConf{AcceptMutexDelay: 500, EpollEvents: 512, ExclusiveAccept: true}
	t.Cleanup(w.close)
	return w
}

// close closes what the worker opened; listeners are the test's.
func (w *worker) close() {
	for i := range w.Connections {
		if c := &w.Connections[i]; c.Fd != -1 && !c.Read.Accept {
			unix.Close(c.Fd)
		}
	}
	if w.epoll.fd != -1 {
		w.EpollDone()
	}
}

// start makes the worker's tables and registers its listeners.
func (w *worker) start() {
	w.t.Helper()
	if CoreModule.InitProcess(w.Cycle) != core.OK {
		w.t.Fatalf("the worker does not start: %q", w.lines)
	}
}

// bound makes a socket on a free port of loopback that does not listen yet.
func bound(t testing.TB) (fd int, addr netip.AddrPort) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(sa.(*unix.SockaddrInet4).Port)
	return fd, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// listen gives the worker a listener on loopback; its handler keeps what it
// accepts in w.accepted.
func (w *worker) listen() *Listening {
	w.t.Helper()
	fd, addr := bound(w.t)
	return w.listenOn(fd, sys.TCPSockaddr(addr), addr.String())
}

// listenUnix is listen on a Unix socket.
func (w *worker) listenUnix(path string) *Listening {
	w.t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		w.t.Fatal(err)
	}
	sa, ok := sys.UnixSockaddr(path)
	if !ok {
		w.t.Fatalf("%s does not fit", path)
	}
	return w.listenOn(fd, sa, "unix:"+path)
}

func (w *worker) listenOn(fd int, sa sys.Sockaddr, text string) *Listening {
	w.t.Helper()
	if err := unix.Listen(fd, 1024); err != nil {
		w.t.Fatal(err)
	}
	ls := w.inherit(&Listening{Fd: fd, Sockaddr: sa, AddrText: text})
	w.t.Cleanup(func() {
		if ls.Fd != -1 { // not closed by the worker
			unix.Close(ls.Fd)
		}
	})
	return ls
}

// inherit gives the worker a listener that another one has.
func (w *worker) inherit(other *Listening) *Listening {
	ls := *other
	ls.Connection = nil
	ls.Log = *w.Log
	ls.Handler = func(c *Connection) { w.accepted = append(w.accepted, c) }
	w.Listening = append(w.Listening, &ls)
	return &ls
}

// dial makes n clients; they are in ls's accept queue when it returns.
func dial(t testing.TB, ls *Listening, n int) (clients []net.Conn) {
	t.Helper()
	queued := queueLen(t, ls)
	for range n {
		client, err := net.Dial("tcp", ls.AddrText)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		client.SetDeadline(time.Now().Add(patience * time.Millisecond))
		clients = append(clients, client)
	}
	for end := time.Now().Add(patience * time.Millisecond); queueLen(t, ls) != queued+n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections queued, want %d", queueLen(t, ls), queued+n)
		}
	}
	return clients
}

// client makes a client that is only a descriptor.
func client(t testing.TB, ls *Listening) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	sa := &unix.SockaddrInet4{Port: ls.Sockaddr.Port(), Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Connect(fd, sa); err != nil {
		t.Fatal(err)
	}
	return fd
}

// queueLen returns how many connections wait to be accepted.
func queueLen(t testing.TB, ls *Listening) int {
	info, err := unix.GetsockoptTCPInfo(ls.Fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Unacked)
}

// connection gives the worker a connection on fd whose handlers must not run.
func (w *worker) connection(fd int) *Connection {
	w.t.Helper()
	c := w.GetConnection(fd, w.Log)
	if c == nil {
		w.t.Fatal("no free connection")
	}
	for _, ev := range []*Event{c.Read, c.Write} {
		ev.Log = w.Log
		ev.Handler = func(ev *Event) { w.t.Errorf("handler of fd %d ran, write %v", fd, ev.Write) }
	}
	return c
}

// pair makes two connected non-blocking sockets, one of them a connection of
// the worker.
func (w *worker) pair() (c *Connection, peer int) {
	w.t.Helper()
	s, err := w.kernel.Socketpair()
	if err != 0 {
		w.t.Fatal(err)
	}
	unix.SetNonblock(s[0], true)
	unix.SetNonblock(s[1], true)
	w.t.Cleanup(func() { unix.Close(s[1]) })
	return w.connection(s[0]), s[1]
}

// send writes text to a descriptor that has room for it.
func send(t testing.TB, fd int, text string) {
	t.Helper()
	if n, err := unix.Write(fd, []byte(text)); n != len(text) {
		t.Fatalf("write: %d, %v", n, err)
	}
}

// turnsUntil makes turns until done, and returns how many it took.
func (w *worker) turnsUntil(done func() bool) (turns int) {
	w.t.Helper()
	for !done() {
		if turns++; turns > 100_000 {
			w.t.Fatalf("it spins; log ends %q", w.lines[max(0, len(w.lines)-20):])
		}
		w.ProcessEventsAndTimers()
	}
	return turns
}

// mustBe fails unless status is want.
func (w *worker) mustBe(want, status core.Status) {
	w.t.Helper()
	if status != want {
		w.t.Fatalf("status %d, want %d; log ends %q", status, want, w.lines[max(0, len(w.lines)-5):])
	}
}

// interest returns the EPOLL bits that the kernel has for fd in the worker's
// epoll set, without the two it always adds; "-" if fd is not in the set. It
// reads them from the kernel, not from the worker's flags.
func (w *worker) interest(fd int) string {
	w.t.Helper()
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", w.epoll.fd))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(info)) {
		var tfd int
		var events uint32
		if n, _ := fmt.Sscanf(line, "tfd: %d events: %x", &tfd, &events); n == 2 && tfd == fd {
			return bits(events)
		}
	}
	return "-"
}

// bits names the EPOLL bits in events, less ERR and HUP.
func bits(events uint32) string {
	var names []string
	for _, b := range []struct {
		bit  uint32
		name string
	}{{sys.EPOLLIN, "IN"}, {sys.EPOLLOUT, "OUT"}, {sys.EPOLLRDHUP, "RDHUP"},
		{sys.EPOLLEXCLUSIVE, "EXCLUSIVE"}, {sys.EPOLLET, "ET"}} {
		if events&b.bit != 0 {
			names = append(names, b.name)
			events &^= b.bit
		}
	}
	if events &^= sys.EPOLLERR | sys.EPOLLHUP; events != 0 {
		names = append(names, fmt.Sprintf("%#x", events))
	}
	return strings.Join(names, "|")
}

// workers returns n workers of one master, not started: they share a zone and
// so the lock word, and differ in pid.
func workers(t testing.TB, n int) (ws []*worker) {
	t.Helper()
	master := newWorker(t)
	master.Process = ProcessMaster
	if CoreModule.InitModule(master.Cycle) != core.OK {
		t.Fatalf("no zone: %q", master.lines)
	}
	t.Cleanup(func() { master.Shm.Free() })
	for i := range n {
		fd, err := unix.Dup(master.Shm.Fd)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(t)
		w.kernel.pid = 1001 + i
		w.Worker = i
		w.Conf.WorkerProcesses = n
		if w.AttachZone(fd, -1, i) != core.OK {
			t.Fatalf("worker %d does not get the zone: %q", i, w.lines)
		}
		t.Cleanup(func() { w.Shm.Free() })
		ws = append(ws, w)
	}
	return ws
}
