package event

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// A closed connection is in no queue and no tree, and can be taken again.
func TestCloseConnectionLeavesNothingBehind(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, peer := w.pair()
	free := w.FreeConnectionN
	w.mustBe(core.OK, w.AddConn(c))
	w.AddTimer(c.Read, 1000)
	w.AddTimer(c.Write, 2000)
	PostEvent(c.Read, &w.PostedEvents)
	PostEvent(c.Write, &w.PostedNextEvents)
	w.ReusableConnection(c, true)
	w.kernel.ctls = nil
	fd := c.Fd

	w.CloseConnection(c)
	if w.FindTimer() != TimerInfinite || !w.PostedEvents.Empty() || !w.PostedNextEvents.Empty() ||
		!w.reusableConnectionsQueue.Empty() || w.FreeConnectionN != free+1 {
		t.Errorf("timer in %d, queues empty %v %v %v, %d free", w.FindTimer(), w.PostedEvents.Empty(),
			w.PostedNextEvents.Empty(), w.reusableConnectionsQueue.Empty(), w.FreeConnectionN)
	}
	if c.Fd != -1 || !c.Read.Closed || !c.Write.Closed || c.Read.Active || c.Write.Active {
		t.Errorf("fd %d, closed %v %v, active %v %v", c.Fd, c.Read.Closed, c.Write.Closed, c.Read.Active, c.Write.Active)
	}
	if len(w.kernel.ctls) != 0 {
		t.Errorf("calls %v, want none: the close does it", w.kernel.ctls)
	}
	if w.interest(fd) != "-" {
		t.Error("the kernel still watches it")
	}
	if n, err := unix.Read(peer, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the peer reads %d, %v", n, err)
	}
	w.CloseConnection(c)
	if w.FreeConnectionN != free+1 || w.logged("[alert] connection already closed") != 1 {
		t.Errorf("closed twice: %d free, log %q", w.FreeConnectionN, w.lines)
	}
}

func TestFailedCloseIsLoggedByWhatTheConnectionSaysOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  sys.Errno
		says ConnectionLogError
		want string
	}{
		{sys.ECONNRESET, ErrorInfo, "[info]"}, {sys.ECONNRESET, ErrorErr, "[error]"},
		{sys.ECONNRESET, ErrorAlert, "[crit]"}, {sys.ECONNRESET, ErrorIgnoreEconnreset, "[crit]"},
		{sys.ENOTCONN, ErrorInfo, "[info]"}, {unix.EBADF, ErrorInfo, "[crit]"},
	} {
		w := newWorker(t)
		w.start()
		w.Kernel = &badClose{w.Kernel, c.err}
		conn := w.connection(100)
		conn.LogError = c.says
		w.CloseConnection(conn)
		w.Kernel = w.kernel
		if w.logged(c.want+" close() socket 100 failed (") != 1 {
			t.Errorf("%v, %d: log %q, want %s", c.err, c.says, w.lines, c.want)
		}
	}
}

// badClose is a kernel that fails to close.
type badClose struct {
	sys.Kernel
	err sys.Errno
}

func (k *badClose) Close(fd int) sys.Errno { return k.err }

// How severe an error is: the peer's making or not, and what the connection
// says of the former.
func TestConnectionErrorLevels(t *testing.T) {
	peers := []sys.Errno{0, sys.ECONNRESET, sys.EPIPE, sys.ENOTCONN, sys.ETIMEDOUT, sys.ECONNREFUSED,
		sys.ENETDOWN, sys.ENETUNREACH, sys.EHOSTDOWN, sys.EHOSTUNREACH}
	level := map[ConnectionLogError]string{
		ErrorAlert: "[error]", ErrorErr: "[error]", ErrorInfo: "[info]", ErrorIgnoreEconnreset: "[info]",
	}
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	for says, want := range level {
		c.LogError = says
		for _, err := range append(slices.Clone(peers), unix.EBADF, sys.EMFILE) {
			want, status := want, core.Error
			if err == unix.EBADF || err == sys.EMFILE {
				want = "[alert]"
			}
			if err == sys.ECONNRESET && says == ErrorIgnoreEconnreset {
				want, status = "", core.OK
			}
			w.lines = nil
			w.mustBe(status, w.ConnectionError(c, err, "it failed"))
			got := ""
			if len(w.lines) == 1 {
				got, _, _ = strings.Cut(w.lines[0], " ")
			}
			if got != want {
				t.Errorf("%d on a connection that says %d: log %q, want %q", err, says, w.lines, want)
			}
		}
	}
}

func TestNodelayIsSetOnce(t *testing.T) {
	w, ls := accepting(t, func(*worker) {})
	dial(t, ls, 1)
	w.turnsUntil(func() bool { return len(w.accepted) == 1 })
	c := w.accepted[0]
	for range 2 {
		w.mustBe(core.OK, w.SetTCPNodelay(c))
	}
	if v, err := unix.GetsockoptInt(c.Fd, unix.IPPROTO_TCP, unix.TCP_NODELAY); v == 0 || err != nil {
		t.Errorf("TCP_NODELAY %d, %v", v, err)
	}
	if c.TCPNodelay != TCPNodelaySet || w.logged("[debug] tcp_nodelay") != 1 {
		t.Errorf("state %d, log %q", c.TCPNodelay, w.lines)
	}
	pipe, _ := w.pair() // not a TCP socket
	w.mustBe(core.Error, w.SetTCPNodelay(pipe))
	if w.logged("setsockopt(TCP_NODELAY) failed (95: Operation not supported)") != 1 {
		t.Errorf("log %q", w.lines)
	}
}

func TestIdleConnectionsAreToldToClose(t *testing.T) {
	w := newWorker(t)
	w.start()
	var told []int
	var cs []*Connection
	for i := range 4 {
		c, _ := w.pair()
		c.Read.Handler = func(*Event) { told = append(told, i) }
		cs = append(cs, c)
	}
	cs[1].Idle, cs[2].Idle, cs[3].Idle = true, true, true
	w.CloseConnection(cs[2]) // free, though its flag is still there
	w.CloseIdleConnections()
	if !slices.Equal(told, []int{1, 3}) || !cs[1].Close || cs[0].Close {
		t.Errorf("told %v, close %v %v", told, cs[0].Close, cs[1].Close)
	}
}

func TestClosedListenersAreOutOfEverything(t *testing.T) {
	w, ls := accepting(t, func(*worker) {})
	other := w.listen() // of another worker: no connection here
	w.AcceptMutexHeld, w.UseAcceptMutex = true, true
	fds := []int{ls.Fd, other.Fd}
	text := fmt.Sprintf("[debug] close listening %s #%d", ls.AddrText, ls.Fd)
	lc := ls.Connection
	w.CloseListeningSockets()
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("descriptor %d: %v, want EBADF", fd, err)
		}
		if w.interest(fd) != "-" {
			t.Errorf("descriptor %d is still watched", fd)
		}
	}
	if w.AcceptMutexHeld || w.UseAcceptMutex {
		t.Error("it still competes for the mutex")
	}
	if len(w.Listening) != 0 || ls.Fd != -1 || lc.Fd != -1 || w.FreeConnectionN != w.ConnectionN {
		t.Errorf("%d listeners, fd %d and %d, %d of %d connections free",
			len(w.Listening), ls.Fd, lc.Fd, w.FreeConnectionN, w.ConnectionN)
	}
	if w.logged(text) != 1 || w.logged("[emerg]") != 0 {
		t.Errorf("log %q", w.lines)
	}
	// The set keeps a file of which another process has a descriptor: the
	// registration must go by itself.
	var ops []int
	for _, call := range w.kernel.ctls {
		ops = append(ops, call.Op)
	}
	if ops[len(ops)-1] != sys.EPOLL_CTL_DEL {
		t.Errorf("operations %v, want the last to delete", ops)
	}
}

// CASES D06 and D07: the file of a Unix socket goes with the master, unless
// another generation still serves it.
func TestUnixSocketFileIsRemovedByItsLastOwner(t *testing.T) {
	for _, c := range []struct {
		name      string
		process   ProcessKind
		newBinary int  // the upgraded generation's process id
		inherited bool // from the generation before
		parent    int  // who started this master
		removed   bool
	}{
		{"single process", ProcessSingle, 0, false, 0, true},
		{"master", ProcessMaster, 0, false, 0, true},
		{"signaller", ProcessSignaller, 0, false, 0, false},
		{"worker", ProcessWorker, 0, false, 0, false},
		{"helper", ProcessHelper, 0, false, 0, false},
		{"old master, new one runs", ProcessMaster, 123, false, 0, false},
		{"new master, old one runs", ProcessMaster, 0, true, os.Getppid(), false},
		{"new master, old one is gone", ProcessMaster, 0, true, os.Getppid() + 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			path := filepath.Join(t.TempDir(), "s")
			ls := w.listenUnix(path)
			ls.Inherited = c.inherited
			w.Process, w.NewBinary, w.Parent = c.process, c.newBinary, c.parent
			w.CloseListeningSockets()
			_, err := os.Lstat(path)
			if removed := os.IsNotExist(err); removed != c.removed {
				t.Errorf("removed %v, want %v", removed, c.removed)
			}
			if w.logged("[emerg]") != 0 {
				t.Errorf("log %q", w.lines)
			}
		})
	}
}

// unlink(2) removes no directory.
func TestDirectoryInPlaceOfAUnixSocketStays(t *testing.T) {
	w := newWorker(t)
	path := filepath.Join(t.TempDir(), "s")
	w.listenUnix(path)
	os.Remove(path)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Process = ProcessMaster
	w.CloseListeningSockets()
	if _, err := os.Lstat(path); err != nil || w.logged("[emerg] unlink() "+path+" failed (21: Is a directory)") != 1 {
		t.Errorf("%v, log %q", err, w.lines)
	}
}

func TestMissingUnixSocketFileIsLogged(t *testing.T) {
	w := newWorker(t)
	path := filepath.Join(t.TempDir(), "s")
	w.listenUnix(path)
	os.Remove(path)
	w.Process = ProcessMaster
	w.CloseListeningSockets()
	if w.logged("[emerg] unlink() "+path+" failed (2: No such file or directory)") != 1 {
		t.Errorf("log %q", w.lines)
	}
}
