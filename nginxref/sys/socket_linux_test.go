package sys_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

func kernel(t testing.TB) sys.Kernel {
	k, err := sys.New()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func lockThread() { runtime.LockOSThread() }

// listener makes a non-blocking listener on loopback.
func listener(t testing.TB) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 512); err != nil {
		t.Fatal(err)
	}
	return fd
}

// connect makes a client of the listener; it is in the accept queue when
// connect returns.
func connect(t testing.TB, fd int) net.Conn {
	t.Helper()
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*unix.SockaddrInet4).Port}
	client, err := net.DialTCP("tcp", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	client.SetDeadline(time.Now().Add(patience * time.Millisecond))
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience); n != 1 {
		t.Fatalf("the connection does not reach the listener: %v", err)
	}
	return client
}

// accept takes the connection that is in fd's queue.
func accept(t testing.TB, k sys.Kernel, fd int) (s int, sa sys.Sockaddr) {
	t.Helper()
	s, err := k.Accept4(fd, &sa)
	if err != 0 {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close(s) })
	return s, sa
}

// socketpair makes two connected stream sockets.
func socketpair(t testing.TB, k sys.Kernel) (a, b int) {
	t.Helper()
	s, err := k.Socketpair()
	if err != 0 {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close(s[0]); k.Close(s[1]) })
	return s[0], s[1]
}

func fcntl(t testing.TB, fd, cmd int) int {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), cmd, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

// CASES F02: a raw accept4 leaves close-on-exec off unless asked for, and the
// descriptor would leak into an upgraded binary; it does not set TCP_NODELAY.
func TestAccept4GivesANonBlockingCloseOnExecSocketAndThePeer(t *testing.T) {
	k := kernel(t)
	ls := listener(t)
	client := connect(t, ls)
	s, sa := accept(t, k, ls)

	if fcntl(t, s, unix.F_GETFL)&unix.O_NONBLOCK == 0 {
		t.Error("it blocks")
	}
	if fcntl(t, s, unix.F_GETFD)&unix.FD_CLOEXEC == 0 {
		t.Error("it survives exec")
	}
	if got, want := sa.String(), client.LocalAddr().String(); got != want {
		t.Errorf("peer %s, want %s", got, want)
	}
	nodelay := func() int {
		v, err := unix.GetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_NODELAY)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if nodelay() != 0 {
		t.Error("TCP_NODELAY is on")
	}
	if err := k.SetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != 0 || nodelay() == 0 {
		t.Errorf("SetsockoptInt: %v, TCP_NODELAY %d", err, nodelay())
	}
}

func TestAccept4OfAnEmptyQueueIsEAGAIN(t *testing.T) {
	var sa sys.Sockaddr
	if _, err := kernel(t).Accept4(listener(t), &sa); err != sys.EAGAIN {
		t.Errorf("%v, want EAGAIN", err)
	}
}

// An accepted Unix peer is unnamed unless it bound itself first.
func TestAccept4OfAUnixPeer(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	bound := filepath.Join(dir, "c")
	for _, c := range []struct {
		name string
		from *net.UnixAddr
		want string
	}{
		{"unnamed", nil, "unix:"},
		{"bound", &net.UnixAddr{Name: bound, Net: "unix"}, "unix:" + bound},
		{"abstract", &net.UnixAddr{Name: "@herd-test", Net: "unix"}, "unix:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := net.DialUnix("unix", c.from, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, sa := accept(t, kernel(t), int(f.Fd()))
			if got := sa.String(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRecvSendNreadAndShutdown(t *testing.T) {
	k := kernel(t)
	a, b := socketpair(t, k)
	unix.SetNonblock(b, true)

	buf := make([]byte, 16)
	if _, err := k.Recv(b, buf); err != sys.EAGAIN {
		t.Errorf("nothing to read: %v, want EAGAIN", err)
	}
	if n, err := k.Send(a, []byte("hello")); n != 5 || err != 0 {
		t.Fatalf("Send: %d, %v", n, err)
	}
	if n, err := k.Nread(b); n != 5 || err != 0 {
		t.Errorf("Nread: %d, %v; want 5", n, err)
	}
	if n, err := k.Recv(b, buf); string(buf[:max(n, 0)]) != "hello" || err != 0 {
		t.Errorf("Recv: %q, %v", buf[:max(n, 0)], err)
	}
	if err := k.Shutdown(a); err != 0 {
		t.Fatal(err)
	}
	if n, err := k.Recv(b, buf); n != 0 || err != 0 {
		t.Errorf("after the peer's Shutdown: %d, %v; want end of input", n, err)
	}
	// Only one half is closed.
	if n, err := k.Send(b, []byte("reply")); n != 5 || err != 0 {
		t.Errorf("the other direction: %d, %v", n, err)
	}
	k.Close(a)
	if _, err := k.Send(b, []byte("x")); err != sys.EPIPE {
		t.Errorf("Send to a closed peer: %v, want EPIPE", err)
	}
}

func TestWritevSendsUpTo64PiecesInOrderWithoutEmptyOnes(t *testing.T) {
	k := kernel(t)
	for _, c := range []struct {
		name   string
		pieces int
		want   int // bytes: of the first 64 that are not empty
	}{
		{"none", 0, 0}, {"one", 1, 1}, {"64", 64, 64}, {"65", 65, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := socketpair(t, k)
			var pieces [][]byte
			var all []byte
			for i := range c.pieces {
				pieces = append(pieces, nil, []byte{byte(i)}, []byte{})
				all = append(all, byte(i))
			}
			n, err := k.Writev(a, pieces)
			if n != c.want || err != 0 {
				t.Fatalf("%d, %v; want %d", n, err, c.want)
			}
			k.Shutdown(a)
			buf := make([]byte, 128)
			got := 0
			for {
				n, err := k.Recv(b, buf[got:])
				if err != 0 {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				got += n
			}
			if !bytes.Equal(buf[:got], all[:c.want]) {
				t.Errorf("received % x, want % x", buf[:got], all[:c.want])
			}
		})
	}
}

// fds counts this process's descriptors.
func fds(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestDescriptorPassing(t *testing.T) {
	k := kernel(t)
	a, b := socketpair(t, k)
	pass, peer := socketpair(t, k)

	if n, err := k.Sendmsg(a, []byte("with"), pass); n != 4 || err != 0 {
		t.Fatalf("Sendmsg: %d, %v", n, err)
	}
	buf := make([]byte, 16)
	m, err := k.Recvmsg(b, buf)
	if err != 0 || string(buf[:m.N]) != "with" || m.Fd == -1 || m.Truncated {
		t.Fatalf("Recvmsg: %+v %q, %v", m, buf[:max(m.N, 0)], err)
	}
	defer k.Close(m.Fd)
	if fcntl(t, m.Fd, unix.F_GETFD)&unix.FD_CLOEXEC == 0 {
		t.Error("the descriptor survives exec")
	}
	if n, err := k.Send(m.Fd, []byte("x")); n != 1 || err != 0 {
		t.Fatalf("Send on what came: %d, %v", n, err)
	}
	if n, _ := k.Recv(peer, buf); n != 1 {
		t.Error("what came is not the socket that was passed")
	}

	if _, err := k.Sendmsg(a, []byte("without"), -1); err != 0 {
		t.Fatal(err)
	}
	if m, err := k.Recvmsg(b, buf); err != 0 || m.Fd != -1 || string(buf[:m.N]) != "without" {
		t.Errorf("Recvmsg: %+v, %v; want no descriptor", m, err)
	}
	k.Shutdown(a)
	if m, err := k.Recvmsg(b, buf); err != 0 || m.N != 0 || m.Fd != -1 {
		t.Errorf("at the end of input: %+v, %v", m, err)
	}
}

// CASES D20: on a stream, what one read returns never spans two descriptors,
// but plain bytes sent before one come with it.
func TestDescriptorsKeepTheirBytesApart(t *testing.T) {
	k := kernel(t)
	a, b := socketpair(t, k)
	for _, m := range []struct {
		text string
		pass int
	}{{"plain", -1}, {"1", a}, {"2", b}} {
		if _, err := k.Sendmsg(a, []byte(m.text), m.pass); err != 0 {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"plain1", "2"} {
		buf := make([]byte, 64)
		m, err := k.Recvmsg(b, buf)
		if err != 0 || string(buf[:m.N]) != want || m.Fd == -1 || m.Truncated {
			t.Errorf("%+v %q, %v; want %q and a descriptor", m, buf[:max(m.N, 0)], err, want)
		}
		k.Close(m.Fd)
	}
}

// CASES D21: two descriptors in one message that has room for one are an
// error, not "no descriptor". The kernel closes the surplus, so nothing leaks.
func TestTruncatedControlMessageIsReported(t *testing.T) {
	k := kernel(t)
	a, b := socketpair(t, k)
	if err := unix.Sendmsg(a, []byte("x"), unix.UnixRights(a, b), nil, 0); err != nil {
		t.Fatal(err)
	}
	before := fds(t)
	m, err := k.Recvmsg(b, make([]byte, 16))
	if err != 0 || !m.Truncated {
		t.Errorf("%+v, %v; want Truncated", m, err)
	}
	if m.Fd != -1 {
		k.Close(m.Fd)
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestFcntlLockExcludesAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := kernel(t)
	// An open file description lock conflicts with the process's record lock
	// as another process's would.
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	try := func() error {
		fl := unix.Flock_t{Type: unix.F_WRLCK}
		err := unix.FcntlFlock(other.Fd(), unix.F_OFD_SETLK, &fl)
		if err == nil {
			fl.Type = unix.F_UNLCK
			unix.FcntlFlock(other.Fd(), unix.F_OFD_SETLK, &fl)
		}
		return err
	}

	fd := int(f.Fd())
	if err := k.FcntlLock(fd, true, false); err != 0 {
		t.Fatal(err)
	}
	if err := try(); err != unix.EAGAIN && err != unix.EACCES {
		t.Errorf("the other: %v, want to be refused", err)
	}
	if err := k.FcntlLock(fd, false, false); err != 0 {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("the other, after the unlock: %v", err)
	}
	if err := k.FcntlLock(fd, true, true); err != 0 {
		t.Errorf("waiting lock of a free file: %v", err)
	}
}

func TestErrnosAreNamedAsInC(t *testing.T) {
	for err, want := range map[sys.Errno]string{
		sys.EAGAIN:       "resource temporarily unavailable",
		sys.EMFILE:       "too many open files",
		sys.ECONNABORTED: "software caused connection abort",
	} {
		if got := err.Error(); !strings.EqualFold(got, want) {
			t.Errorf("%d is %q, want %q", err, got, want)
		}
	}
}
