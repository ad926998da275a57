package event_test

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// listenLog keeps the messages of a cycle, "[emerg] ..." each.
type listenLog struct{ lines []string }

func (l *listenLog) Write(line []byte) (int, error) {
	_, text, _ := strings.Cut(string(line), " [")
	level, text, _ := strings.Cut(text, "] ")
	_, text, _ = strings.Cut(text, ": ")
	l.lines = append(l.lines, "["+level+"] "+strings.TrimSpace(text))
	return len(line), nil
}

func (l *listenLog) count(text string) (n int) {
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// listenCycle returns a cycle on the real kernel. What it listens on is closed
// with the test.
func listenCycle(t *testing.T) (*event.Cycle, *listenLog) {
	t.Helper()
	kernel, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}
	times := core.NewTimes(kernel)
	l := &listenLog{}
	log := &core.Log{Level: core.LogInfo, File: core.NewOpenFile("", l, times, kernel.Getpid())}
	cycle := event.NewCycle(kernel, log, times)
	cycle.Process = event.ProcessWorker // whose sockets' files are not its own
	t.Cleanup(cycle.CloseListeningSockets)
	return cycle, l
}

// add adds a listener on a loopback address.
func add(cycle *event.Cycle, port int) *event.Listening {
	ls := cycle.CreateListening(sys.TCPSockaddr(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))))
	ls.LogP = cycle.Log
	return ls
}

func addUnix(t *testing.T, cycle *event.Cycle, path string) *event.Listening {
	t.Helper()
	sa, ok := sys.UnixSockaddr(path)
	if !ok {
		t.Fatalf("path %s is too long", path)
	}
	ls := cycle.CreateListening(sa)
	ls.LogP = cycle.Log
	return ls
}

func getsockopt(t *testing.T, fd, level, opt int) int {
	t.Helper()
	value, err := unix.GetsockoptInt(fd, level, opt)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// backlog returns the length of a listener's queue: tcp_info(7) has it where
// a connection has its selectively acknowledged segments.
func backlog(t *testing.T, fd int) int {
	t.Helper()
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sacked)
}

func TestListeningSocketHasWhatIsConfigured(t *testing.T) {
	cycle, l := listenCycle(t)
	ls := add(cycle, 0)
	ls.Backlog = 7
	ls.Keepalive = 1
	ls.Keepidle, ls.Keepintvl, ls.Keepcnt = 100, 20, 3
	ls.AddDeferred = true

	if cycle.OpenListeningSockets(false) != core.OK {
		t.Fatal(l.lines)
	}
	cycle.ConfigureListeningSockets()

	for _, opt := range []struct {
		name             string
		level, opt, want int
	}{
		{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
		{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, 0},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 100},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 20},
		{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
		{"TCP_DEFER_ACCEPT", unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1},
	} {
		if got := getsockopt(t, ls.Fd, opt.level, opt.opt); got != opt.want {
			t.Errorf("%s is %d, want %d", opt.name, got, opt.want)
		}
	}
	if got := backlog(t, ls.Fd); got != 7 {
		t.Errorf("backlog is %d, want 7", got)
	}
	if !ls.DeferredAccept {
		t.Error("the listener does not know that accept is deferred")
	}

	// A reload: the socket stays, its options change.
	ls.Backlog = 9
	ls.Keepalive = 2
	ls.AddDeferred, ls.DeleteDeferred = false, true
	cycle.ConfigureListeningSockets()

	if got := backlog(t, ls.Fd); got != 9 {
		t.Errorf("backlog is %d after a change to 9", got)
	}
	if got := getsockopt(t, ls.Fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE); got != 0 {
		t.Errorf("SO_KEEPALIVE is %d after a change to off", got)
	}
	if got := getsockopt(t, ls.Fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT); got != 0 {
		t.Errorf("TCP_DEFER_ACCEPT is %d after it was taken away", got)
	}
	if len(l.lines) != 0 {
		t.Errorf("log: %q", l.lines)
	}
}

func TestReuseportGivesEachWorkerASocket(t *testing.T) {
	cycle, l := listenCycle(t)
	cycle.Conf.WorkerProcesses = 4
	ls := add(cycle, freePort(t))
	ls.Reuseport = true

	cycle.CloneListening(ls)
	cycle.CloneListening(cycle.Listening[1]) // of a clone there are none

	if cycle.OpenListeningSockets(false) != core.OK {
		t.Fatal(l.lines)
	}
	if len(cycle.Listening) != 4 {
		t.Fatalf("%d sockets for 4 workers", len(cycle.Listening))
	}
	for i, ls := range cycle.Listening {
		if ls.Worker != i || ls.Fd == -1 || getsockopt(t, ls.Fd, unix.SOL_SOCKET, unix.SO_REUSEPORT) != 1 {
			t.Errorf("socket %d is worker %d's, descriptor %d", i, ls.Worker, ls.Fd)
		}
	}
}

// C01: connections that the kernel hands to a socket of the test would be
// reset when the test is over.
func TestC01ConfigTestStaysOutOfTheReuseportGroup(t *testing.T) {
	live, _ := listenCycle(t)
	port := freePort(t)
	ls := add(live, port)
	ls.Reuseport = true
	if live.OpenListeningSockets(false) != core.OK {
		t.Fatal("cannot listen")
	}

	test, l := listenCycle(t)
	test.Conf.WorkerProcesses = 4
	tested := add(test, port)
	tested.Reuseport = true
	test.CloneListening(tested)

	if test.OpenListeningSockets(true) != core.OK || len(l.lines) != 0 {
		t.Errorf("an address in use fails the test of a configuration: %q", l.lines)
	}
	for _, ls := range test.Listening {
		if ls.Fd != -1 {
			t.Error("the test has a socket in the group")
		}
	}

	const clients = 40 // with n sockets in the group the n-th part goes to each
	for range clients {
		c, err := net.Dial("tcp", ls.AddrText)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	var peer sys.Sockaddr
	for i := range clients {
		fd, err := live.Kernel.Accept4(ls.Fd, &peer)
		if err != 0 {
			t.Fatalf("%d of %d connections came to the live socket: %v", i, clients, err)
		}
		live.Kernel.Close(fd)
	}
}

func TestAddressInUseIsTriedFiveTimes(t *testing.T) {
	t.Parallel() // it sleeps for two and a half seconds
	owner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()

	cycle, l := listenCycle(t)
	add(cycle, owner.Addr().(*net.TCPAddr).Port)

	if cycle.OpenListeningSockets(false) != core.Error {
		t.Error("opened an address in use")
	}
	for text, want := range map[string]int{
		"[emerg] bind() to " + owner.Addr().String() + " failed (98: Address already in use)": 5,
		"[notice] try again to bind() after 500ms":                                            5,
		"[emerg] still could not bind()":                                                      1,
	} {
		if got := l.count(text); got != want {
			t.Errorf("%q logged %d times, want %d", text, got, want)
		}
	}
}

// D29: what an upgrade hands over may be no socket at all, or one of another
// type than the address is now configured for.
func TestD29InheritedDescriptorsAreLookedAt(t *testing.T) {
	pipe := make([]int, 2)
	if err := unix.Pipe2(pipe, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[1])

	inherited := func(family, typ int) int {
		fd, err := unix.Socket(family, typ|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	tcp := inherited(unix.AF_INET, unix.SOCK_STREAM)
	unix.SetsockoptInt(tcp, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err := unix.Bind(tcp, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	stream := inherited(unix.AF_UNIX, unix.SOCK_STREAM)
	if err := unix.Bind(stream, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}

	cycle, l := listenCycle(t)
	for _, fd := range []int{
		tcp, inherited(unix.AF_INET, unix.SOCK_DGRAM), stream, pipe[0], inherited(unix.AF_NETLINK, unix.SOCK_RAW),
	} {
		cycle.Listening = append(cycle.Listening, &event.Listening{Fd: fd, Inherited: true})
	}

	if cycle.SetInheritedSockets() != core.OK {
		t.Fatal(l.lines)
	}

	ls := cycle.Listening
	if ls[0].Ignore || ls[0].Type != unix.SOCK_STREAM || !ls[0].Reuseport || !strings.HasPrefix(ls[0].AddrText, "127.0.0.1:") {
		t.Errorf("TCP socket: %+v", ls[0])
	}
	if ls[1].Ignore || ls[1].Type != unix.SOCK_DGRAM {
		t.Errorf("UDP socket: %+v", ls[1])
	}
	if ls[2].Ignore || ls[2].AddrText != "unix:"+path {
		t.Errorf("Unix socket: %+v", ls[2])
	}
	if !ls[3].Ignore || l.count("getsockname() of the inherited socket") != 1 {
		t.Errorf("pipe: %+v, log %q", ls[3], l.lines)
	}
	if !ls[4].Ignore || l.count("has an unsupported protocol family") != 1 {
		t.Errorf("netlink socket: %+v, log %q", ls[4], l.lines)
	}
}

// D08: only a socket that nobody listens on is taken away.
func TestD08StaleUnixSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as kill -9 leaves it

	cycle, journal := listenCycle(t)
	addUnix(t, cycle, stale)
	if cycle.OpenListeningSockets(false) != core.OK {
		t.Fatalf("did not start over a stale socket: %q", journal.lines)
	}
	if journal.count("deleting stale socket "+stale) != 1 {
		t.Errorf("log: %q", journal.lines)
	}
	c, err := net.Dial("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if info, err := os.Stat(stale); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, error %v, want that everyone may connect", info.Mode(), err)
	}

	t.Run("but not a live one", func(t *testing.T) {
		t.Parallel()
		checkKept(t, stale, os.ModeSocket)
	})
	t.Run("nor a regular file", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		checkKept(t, file, 0)
	})
}

// checkKept tries to listen on a path and finds it as it was.
func checkKept(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	cycle, l := listenCycle(t)
	addUnix(t, cycle, path)

	if cycle.OpenListeningSockets(false) != core.Error {
		t.Error("took over an address in use")
	}
	if l.count("[emerg] bind() to unix:"+path+" failed (98: Address already in use)") != 5 {
		t.Errorf("log: %q", l.lines)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != want {
		t.Errorf("%s is %v now, error %v", path, info, err)
	}
}

func TestConfigTestLeavesNoSocketFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	cycle, l := listenCycle(t)
	addUnix(t, cycle, path)

	if cycle.OpenListeningSockets(true) != core.OK {
		t.Fatal(l.lines)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", path, err)
	}
}
