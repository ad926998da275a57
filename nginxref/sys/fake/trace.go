package fake

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"time"

	"herd/nginxref/sys"
)

// Step is one line of the trace.
type Step struct {
	Time time.Duration // since the world began
	Who  string        // a process or a client
	What string        // "accept4(3 s0) = 5 client 1"
}

// Trace returns the steps so far; the first is number 1. Run keeps them,
// Explore only of the schedule that failed.
func (w *World) Trace() []Step {
	w.stepsMu.Lock()
	defer w.stepsMu.Unlock()
	return w.steps
}

// Tracing reports whether steps are kept.
func (w *World) Tracing() bool { return w.tracing }

// Note adds a line of who's to the trace.
func (w *World) Note(who, what string) { w.trace(who, what) }

// manyNotes is how many lines the code of a process may write between two
// calls.
const manyNotes = 10_000

// Note adds a line to the trace: a message of the process's own.
func (p *Process) Note(what string) {
	if p.doomed.Load() {
		runtime.Goexit()
	}
	p.w.trace(p.Name, what)
	if p.notes++; p.notes > manyNotes {
		p.w.Broken(callsNowAndThen, fmt.Sprintf("%s has written %d lines and made no call: an endless loop?", p.Name, manyNotes))
	}
}

// Name gives a word of shared memory a name in the trace; word is a
// *sys.Atomic or a *sys.Futex. Others are called word 1, word 2 and so on.
func (w *World) Name(word any, name string) { w.words[word] = name }

func (w *World) trace(who, what string) {
	if !w.tracing {
		return
	}
	if len(w.woken) > 0 {
		what += "  wakes " + strings.Join(w.woken, ", ")
		w.woken = w.woken[:0]
	}
	w.stepsMu.Lock()
	defer w.stepsMu.Unlock()
	w.steps = append(w.steps, Step{w.Now(), who, what})
}

// note adds the line to the trace, if there is one.
func (p *Process) note(line func() string) {
	if p.w.tracing {
		p.w.trace(p.Name, line())
	}
}

// PrintTrace prints the trace up to step upto, step mark with an arrow; 0
// marks none.
func (w *World) PrintTrace(out io.Writer, upto, mark int) { printSteps(out, w.steps, 0, upto, mark) }

// printSteps prints the steps behind number from up to number upto.
func printSteps(out io.Writer, steps []Step, from, upto, mark int) {
	who := 0
	for _, s := range steps[from:upto] {
		who = max(who, len(s.Who))
	}
	for i, s := range steps[from:upto] {
		n, arrow := from+i+1, " "
		if n == mark {
			arrow = ">"
		}
		fmt.Fprintf(out, "%s%4d %9.3f ms  %-*s  %s\n", arrow, n, s.Time.Seconds()*1e3, who, s.Who, s.What)
	}
}

// fdName returns a descriptor with what it refers to: "3 s0".
func (p *Process) fdName(fd int) string {
	if d := p.description(fd); d != nil {
		return fmt.Sprintf("%d %s", fd, d.name)
	}
	return fmt.Sprint(fd)
}

// fdRet is ret for a new descriptor.
func (p *Process) fdRet(fd int, err sys.Errno) string {
	if err != 0 {
		return errnoName(err)
	}
	return p.fdName(fd)
}

// ret returns the result of a call as strace prints it.
func ret(v any, err sys.Errno) string {
	if err != 0 {
		return errnoName(err)
	}
	return fmt.Sprint(v)
}

func (w *World) wordName(word any) string {
	name, ok := w.words[word]
	if !ok {
		name = fmt.Sprintf("word %d", len(w.words)+1)
		w.words[word] = name
	}
	return name
}

var errnoNames = map[sys.Errno]string{
	sys.EAGAIN: "EAGAIN", sys.EINTR: "EINTR", sys.EMFILE: "EMFILE", sys.ENFILE: "ENFILE",
	sys.ENOSYS: "ENOSYS", sys.EINVAL: "EINVAL", sys.EPIPE: "EPIPE", sys.ETIMEDOUT: "ETIMEDOUT",
	sys.ENOTCONN: "ENOTCONN", sys.ECONNRESET: "ECONNRESET", sys.ECONNABORTED: "ECONNABORTED",
	sys.ECONNREFUSED: "ECONNREFUSED", ebadf: "EBADF", echild: "ECHILD", eexist: "EEXIST",
	enoent: "ENOENT", enotsock: "ENOTSOCK", enotty: "ENOTTY", eopnotsupp: "EOPNOTSUPP",
	eperm: "EPERM", syscall.EOVERFLOW: "EOVERFLOW", syscall.ENOSPC: "ENOSPC",
}

// errnoName returns the name of err in C: they are the same everywhere, the
// numbers are not.
func errnoName(err sys.Errno) string {
	if name, ok := errnoNames[err]; ok {
		return name
	}
	return fmt.Sprintf("errno %d", int(err))
}

func opName(op int) string {
	switch op {
	case sys.EPOLL_CTL_ADD:
		return "ADD"
	case sys.EPOLL_CTL_DEL:
		return "DEL"
	case sys.EPOLL_CTL_MOD:
		return "MOD"
	}
	return fmt.Sprintf("op %d", op)
}

// bitNames returns EPOLL bits by name: "IN|ET".
func bitNames(bits uint32) string {
	var names []string
	for _, b := range []struct {
		bit  uint32
		name string
	}{
		{sys.EPOLLIN, "IN"}, {sys.EPOLLOUT, "OUT"}, {sys.EPOLLRDHUP, "RDHUP"}, {sys.EPOLLERR, "ERR"},
		{sys.EPOLLHUP, "HUP"}, {sys.EPOLLET, "ET"}, {sys.EPOLLONESHOT, "ONESHOT"}, {sys.EPOLLEXCLUSIVE, "EXCLUSIVE"},
	} {
		if bits&b.bit != 0 {
			names = append(names, b.name)
			bits &^= b.bit
		}
	}
	if bits != 0 || len(names) == 0 {
		names = append(names, fmt.Sprintf("%#x", bits))
	}
	return strings.Join(names, "|")
}

// eventNames returns what epoll_wait reported: " [IN 3 s0]".
func (p *Process) eventNames(epfd int, list []sys.EpollEvent) string {
	var b strings.Builder
	for i := range list {
		name := fmt.Sprintf("data %#x", list[i].Data())
		if ep, ok := p.description(epfd).object.(*epoll); ok {
			for _, item := range ep.items {
				if item.data == list[i].Data() {
					name = fmt.Sprintf("%d %s", item.fd, item.d.name)
				}
			}
		}
		fmt.Fprintf(&b, " [%s %s]", bitNames(list[i].Events), name)
	}
	return b.String()
}

func msecName(msec int) string {
	if msec < 0 {
		return "for ever"
	}
	return fmt.Sprintf("%d ms", msec)
}

func lockName(lock, wait bool) string {
	switch {
	case !lock:
		return "F_SETLK, F_UNLCK"
	case wait:
		return "F_SETLKW, F_WRLCK"
	}
	return "F_SETLK, F_WRLCK"
}
