package fake_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// The conformance tests are scripts. What one says, line by line, must be what
// the table wants: on the model everywhere, and on Linux itself.

// script is one of them.
type script struct {
	name string
	run  func(b *bench)
	want []string
}

// bench is a kernel with what the script has said so far.
type bench struct {
	machine
	lines []string
}

func (b *bench) say(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// machine is one of the two kernels.
type machine interface {
	listen(backlog int) file // non-blocking
	blocking() file          // a listener that blocks
	reuseport(n int) []file  // listeners of one address
	pair() (a, b file)       // connected non-blocking AF_UNIX stream sockets
	lockFile() file
	make(call func(sys.Kernel) (int, sys.Errno)) file
	ring(eventfd file)
	drop(files ...file) // from now on only processes have them open
	process(files ...file) proc
	connect(to file) client
	settle() // waits until every process sleeps, or is done with what it was told
	futex() *sys.Futex
}

// file is an open file that processes inherit.
type file any

// proc is a process. Its calls are made in do or begin.
type proc interface {
	sys.Kernel
	fd(f file) int
	do(f func())    // f must not sleep
	begin(f func()) // f may sleep; see settle
	busy() bool     // what begin began is not done
	dup(fd int) int
	reopen(fd int) int
	sleepInAccept(fd int)
	full(on bool)    // has no descriptor to spare
	fill(fd int) int // sends until no more fits, and returns how much that was
	sendFds(fd int, text string, fds ...int)
	exit()
}

// client is the other end of a connection.
type client interface {
	connected() bool
	send(text string)
	read() string // what has come, after waiting for it
	drain(n int)  // reads n bytes
	closeWrite()
	close()
	abort()
	reset() bool // its connection was reset
}

func runScripts(t *testing.T, scripts []script) {
	t.Helper()
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			t.Run("model", func(t *testing.T) { s.onModel(t) })
			t.Run("linux", func(t *testing.T) { s.onLinux(t) })
		})
	}
}

func (s script) onModel(t *testing.T) {
	fake.Run(func(w *fake.World) {
		b := &bench{machine: &model{w: w}}
		s.run(b)
		if diff := cmp.Diff(s.want, b.lines); diff != "" {
			w.Broken("the script says what it should", "-want +got\n"+diff)
		}
	}, fake.Options{}).Check(t)
}

// model is the machine of this package.
type model struct {
	w      *fake.World
	parent *fake.Process // has made what processes inherit
}

func (m *model) make(call func(sys.Kernel) (int, sys.Errno)) file {
	if m.parent == nil {
		m.parent = m.w.Process("parent")
	}
	fd, _ := call(m.parent)
	return m.parent.File(fd)
}

// one is what is written to an eventfd: not 0 in either byte order.
var one = [8]byte{0: 1, 7: 1}

func (m *model) ring(eventfd file) { m.parent.Write(m.parent.Fd(eventfd.(fake.File)), one[:]) }

func (m *model) listen(backlog int) file {
	l := m.w.Listen()
	l.Backlog = backlog
	return l
}

func (m *model) blocking() file { return m.w.Listen().Blocking() }

func (m *model) reuseport(n int) (all []file) {
	for _, l := range m.w.ListenReuseport(n) {
		all = append(all, l)
	}
	return all
}

func (m *model) pair() (file, file) { a, b := m.w.Socketpair(); return a, b }
func (m *model) lockFile() file     { return m.w.File("lock") }
func (m *model) settle()            { m.w.Settle() }
func (m *model) futex() *sys.Futex  { return new(sys.Futex) }

func (m *model) drop(files ...file) {
	for _, f := range files {
		if m.parent != nil {
			m.parent.Close(m.parent.Fd(f.(fake.File)))
		}
	}
}

func (m *model) process(files ...file) proc {
	var open []fake.File
	for _, f := range files {
		open = append(open, f.(fake.File))
	}
	return &modelProc{m.w.Process(fmt.Sprintf("p%d", len(m.w.Processes())), open...)}
}

func (m *model) connect(to file) client { return &modelClient{m.w.Connect(to.(*fake.Listener))} }

type modelProc struct{ *fake.Process }

func (p *modelProc) fd(f file) int { return p.Fd(f.(fake.File)) }

func (p *modelProc) do(f func()) {
	if !p.Do(f) {
		p.World().Broken("do does not sleep", p.Name)
	}
}

func (p *modelProc) begin(f func())    { p.Begin(f) }
func (p *modelProc) busy() bool        { return p.Asleep() }
func (p *modelProc) dup(fd int) int    { n, _ := p.Dup(fd); return n }
func (p *modelProc) reopen(fd int) int { n, _ := p.Reopen(fd); return n }
func (p *modelProc) exit()             { p.Kill() }

func (p *modelProc) sleepInAccept(fd int) { accept(p, fd) }

func (p *modelProc) full(on bool) {
	p.Nofile = 1024
	if on {
		p.Nofile = 0
	}
}

func (p *modelProc) fill(fd int) (n int) {
	for {
		k, err := p.Send(fd, make([]byte, 64<<10))
		if err != 0 {
			return n
		}
		n += k
	}
}

func (p *modelProc) sendFds(fd int, text string, fds ...int) { p.SendFds(fd, []byte(text), fds...) }

type modelClient struct{ *fake.Client }

func (c *modelClient) connected() bool  { return c.Connected() }
func (c *modelClient) send(text string) { c.Send(text) }
func (c *modelClient) read() string     { return c.Read() }
func (c *modelClient) drain(int)        { c.Read() }
func (c *modelClient) closeWrite()      { c.CloseWrite() }
func (c *modelClient) close()           { c.Close() }
func (c *modelClient) abort()           { c.Abort() }
func (c *modelClient) reset() bool      { return c.Reset() }

// What follows is for the scripts.

// wait returns the events of ep as text, "data bits", or the error, and how
// often the process slept for them.
func wait(p proc, ep, room, msec int) (string, int) {
	var w sys.Wait
	list := make([]sys.EpollEvent, room)
	sleeps := 0
	for {
		n, err := p.EpollWaitCounted(ep, list, msec, &w)
		sleeps += int(w.SleepsAfter - w.SleepsBefore)
		if err == sys.EINTR { // Go's runtime preempts by signals
			continue
		}
		if err != 0 {
			return fake.ErrnoName(err), sleeps
		}
		text := ""
		for i := range list[:n] {
			text += fmt.Sprintf(" %d:%s", list[i].Data(), fake.BitNames(list[i].Events))
		}
		if text == "" {
			return "nothing", sleeps
		}
		return text[1:], sleeps
	}
}

// events is wait without sleeping.
func events(p proc, ep, room int) (text string) {
	text, _ = wait(p, ep, room, 0)
	return text
}

// epoll makes an epoll instance that watches fds for bits; what it reports of
// them is 0, 1, 2 and so on.
func epoll(p proc, bits uint32, fds ...int) int {
	ep, _ := p.EpollCreate()
	for i, fd := range fds {
		p.EpollCtl(ep, sys.EPOLL_CTL_ADD, fd, sys.MakeEpollEvent(bits, uint64(i)))
	}
	return ep
}

func accept(p proc, fd int) (int, sys.Errno) {
	var sa sys.Sockaddr
	return p.Accept4(fd, &sa)
}

// name returns the name of an errno, "ok" for 0.
func name(err sys.Errno) string {
	if err == 0 {
		return "ok"
	}
	return fake.ErrnoName(err)
}

// recv returns what one recv of up to 64 bytes gives.
func recv(p proc, fd int) string {
	buf := make([]byte, 64)
	n, err := p.Recv(fd, buf)
	if err != 0 {
		return name(err)
	}
	if n == 0 {
		return "end"
	}
	return fmt.Sprintf("%q", buf[:n])
}
