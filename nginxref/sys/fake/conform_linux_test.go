package fake_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

// patience bounds the wait for what must happen at once; reaching it is a
// failure.
const patience = 30 * time.Second

// The main thread outlives any goroutine that is locked to it, and would keep
// its descriptors: leave it to the main goroutine.
func init() { runtime.LockOSThread() }

func (s script) onLinux(t *testing.T) {
	m := &linux{t: t}
	defer m.close()
	b := &bench{machine: m}
	s.run(b)
	if diff := cmp.Diff(s.want, b.lines); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// linux is the real kernel. A process is a thread that has its own table of
// descriptors by unshare(CLONE_FILES): to record locks, to SCM_RIGHTS and to
// the count of references that is a process. It ends with the thread.
type linux struct {
	t     *testing.T
	fds   []int // that processes do not inherit unless told
	procs []*linuxProc
}

// must is for the steps that set a script up.
func (m *linux) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// until waits for what must happen at once.
func (m *linux) until(what string, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			m.t.Fatalf("it does not happen: %s", what)
		}
	}
}

func (m *linux) close() {
	for _, p := range m.procs {
		p.exit()
	}
	for _, fd := range m.fds {
		unix.Close(fd)
	}
}

func (m *linux) own(fd int, err error) int {
	m.t.Helper()
	m.must(err)
	m.fds = append(m.fds, fd)
	return fd
}

func (m *linux) socket(flags int) int {
	m.t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
	return m.own(fd, err)
}

func (m *linux) bind(fd, port int) {
	m.t.Helper()
	m.must(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}))
}

func (m *linux) listen(backlog int) file {
	fd := m.socket(unix.SOCK_NONBLOCK)
	m.bind(fd, 0)
	m.must(unix.Listen(fd, backlog))
	return fd
}

func (m *linux) blocking() file {
	l := m.listen(511)
	m.must(unix.SetNonblock(l.(int), false))
	return l
}

func (m *linux) reuseport(n int) (all []file) {
	port := 0
	for range n {
		fd := m.socket(unix.SOCK_NONBLOCK)
		m.must(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		m.bind(fd, port)
		m.must(unix.Listen(fd, 511))
		port = m.port(fd)
		all = append(all, fd)
	}
	return all
}

func (m *linux) port(fd int) int {
	m.t.Helper()
	sa, err := unix.Getsockname(fd)
	m.must(err)
	return sa.(*unix.SockaddrInet4).Port
}

func (m *linux) pair() (file, file) {
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	return m.own(s[0], err), m.own(s[1], err)
}

func (m *linux) lockFile() file {
	path := filepath.Join(m.t.TempDir(), "lock")
	return m.own(unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600))
}

func (m *linux) make(call func(sys.Kernel) (int, sys.Errno)) file {
	k, err := sys.New()
	m.must(err)
	fd, errno := call(k)
	if errno != 0 {
		err = errno
	}
	return m.own(fd, err)
}

func (m *linux) ring(eventfd file) { unix.Write(eventfd.(int), one[:]) }

func (m *linux) drop(files ...file) {
	for _, f := range files {
		fd := f.(int)
		unix.Close(fd)
		m.fds = slices.DeleteFunc(m.fds, func(o int) bool { return o == fd })
	}
}

func (m *linux) futex() *sys.Futex { return new(sys.Futex) }

// settle sees all processes quiet several times in a row: one that a softirq
// is just about to wake may look asleep once.
func (m *linux) settle() {
	m.t.Helper()
	quiet := 0
	m.until("all processes sleep", func() bool {
		quiet++
		for _, p := range m.procs {
			if p.busy() && !p.asleep() {
				quiet = 0
			}
		}
		return quiet == 4
	})
}

// linuxProc is a thread that carries out what it is sent.
type linuxProc struct {
	sys.Kernel
	m    *linux
	tid  int
	jobs chan func()
	done chan struct{} // one for each job
	left int           // jobs sent and not known to be done
	gone bool
}

func (m *linux) process(files ...file) proc {
	k, err := sys.New()
	m.must(err)
	p := &linuxProc{Kernel: k, m: m, jobs: make(chan func()), done: make(chan struct{}, 1)}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
		err := unix.Unshare(unix.CLONE_FILES)
		p.tid = unix.Gettid()
		for _, fd := range m.fds {
			if err == nil && !slices.Contains(files, file(fd)) {
				unix.Close(fd)
			}
		}
		ready <- err
		if err != nil { // a sandboxed kernel
			return
		}
		for job := range p.jobs {
			job()
			p.done <- struct{}{}
		}
	}()
	if err := <-ready; err != nil {
		m.t.Skipf("unshare(CLONE_FILES): %v: this kernel cannot play several processes here", err)
	}
	m.procs = append(m.procs, p)
	return p
}

func (p *linuxProc) fd(f file) int { return f.(int) }

func (p *linuxProc) do(f func()) {
	p.m.t.Helper()
	p.begin(f)
	p.m.until("the process does what it was told", func() bool { return !p.busy() })
}

func (p *linuxProc) begin(f func()) {
	if p.busy() {
		p.m.t.Fatal("the process is busy")
	}
	p.left++
	p.jobs <- f
}

func (p *linuxProc) busy() bool {
	select {
	case <-p.done:
		p.left--
	default:
	}
	return p.left > 0
}

// asleep reports whether the thread sleeps in a call of the script's, which is
// none that Go's runtime makes for itself.
func (p *linuxProc) asleep() bool {
	dir := fmt.Sprintf("/proc/self/task/%d/", p.tid)
	syscall, err := os.ReadFile(dir + "syscall") // "running", or the number and its arguments
	if err != nil {
		return false
	}
	stat, _ := os.ReadFile(dir + "stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	if !strings.HasPrefix(state, "S") {
		return false
	}
	var nr, arg, op int
	fmt.Sscanf(string(syscall), "%d %v %v", &nr, &arg, &op)
	switch nr {
	case unix.SYS_EPOLL_PWAIT, unix.SYS_ACCEPT4, unix.SYS_FCNTL:
		return true
	case unix.SYS_FUTEX:
		return op == 0 // the runtime's have FUTEX_PRIVATE_FLAG
	}
	return false
}

// sleepInAccept tells Go's scheduler that it sleeps; sys.Linux does not, its
// listeners do not block.
func (p *linuxProc) sleepInAccept(fd int) { unix.Accept4(fd, unix.SOCK_CLOEXEC) }

func (p *linuxProc) dup(fd int) int {
	n, err := unix.Dup(fd)
	if err != nil {
		return -1
	}
	return n
}

func (p *linuxProc) reopen(fd int) int {
	n, err := unix.Open(fmt.Sprintf("/proc/thread-self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return n
}

// full sets RLIMIT_NOFILE, which holds for all threads, to the lowest free
// number of this one. Nobody else opens anything meanwhile.
func (p *linuxProc) full(on bool) {
	var lim unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &lim)
	lim.Cur = lim.Max
	if on {
		lowest, _ := unix.Dup(0)
		unix.Close(lowest)
		lim.Cur = uint64(lowest)
	}
	unix.Prlimit(0, unix.RLIMIT_NOFILE, &lim, nil)
}

// fill sends until nothing has fitted for a while: the kernel moves what was
// sent from one buffer to the next.
func (p *linuxProc) fill(fd int) (n int) {
	for full := 0; full < 20; {
		k, err := p.Send(fd, make([]byte, 64<<10))
		if err == sys.EAGAIN {
			full++
			time.Sleep(time.Millisecond)
			continue
		}
		full = 0
		n += k
	}
	return n
}

func (p *linuxProc) sendFds(fd int, text string, fds ...int) {
	unix.Sendmsg(fd, []byte(text), unix.UnixRights(fds...), nil, 0)
}

// exit ends the thread, and with it its descriptors.
func (p *linuxProc) exit() {
	if p.gone {
		return
	}
	if p.busy() {
		p.m.t.Errorf("the script ends while a process is busy")
		return
	}
	close(p.jobs)
	p.gone = true
	p.m.until("the thread ends", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", p.tid))
		return err != nil
	})
}
