package fake

import (
	"fmt"
	"slices"

	"herd/nginxref/sys"
)

// File is an open file that a process can inherit: a *Listener, or what
// World.Socketpair, World.File and Process.File return.
type File interface{ open() *description }

// description is an open file description: what descriptors of several
// processes, and messages under way, can refer to together.
type description struct {
	object
	name     string
	refs     int
	nonblock bool
	items    []*epitem // registrations of it
	released bool
}

func (d *description) open() *description { return d }

// object is what a description stands for.
type object interface {
	// poll returns the EPOLL bits that are true of it now.
	poll() uint32
	// waiters returns the queue of those who want to hear of changes.
	waiters() *waitQueue
	// release is called when the last reference has gone.
	release()
}

// put gives up one reference. Not closing a descriptor but the end of the last
// one takes the file out of epoll sets.
func (d *description) put() {
	if d.refs--; d.refs > 0 {
		return
	}
	d.released = true
	for _, item := range slices.Clone(d.items) {
		item.ep.remove(item)
	}
	d.release()
}

// World returns the machine that the process is on.
func (p *Process) World() *World { return p.w }

// Fd returns the process's lowest descriptor of f, or -1 if it has none.
func (p *Process) Fd(f File) int {
	d := f.open()
	return slices.IndexFunc(p.fds, func(o *description) bool { return o == d })
}

// File returns the open file behind fd, for another process to inherit.
func (p *Process) File(fd int) File {
	d := p.description(fd)
	if d == nil {
		panic(fmt.Sprintf("fake: descriptor %d of %s is not open", fd, p.Name))
	}
	return d
}

// Open counts the open descriptors of the process, without the standard
// three.
func (p *Process) Open() (n int) {
	for _, d := range p.fds {
		if d != nil {
			n++
		}
	}
	return n
}

// description returns what fd refers to, or nil.
func (p *Process) description(fd int) *description {
	if fd < 0 || fd >= len(p.fds) {
		return nil
	}
	return p.fds[fd]
}

// freeFd returns the lowest free descriptor, or -1 at the limit.
func (p *Process) freeFd() int {
	fd := firstFd
	for fd < len(p.fds) && p.fds[fd] != nil {
		fd++
	}
	if fd >= p.Nofile {
		return -1
	}
	return fd
}

// install gives d the lowest free descriptor.
func (p *Process) install(d *description) (int, sys.Errno) {
	fd := p.freeFd()
	if fd < 0 {
		return -1, sys.EMFILE
	}
	p.installAt(fd, d)
	return fd, 0
}

func (p *Process) installAt(fd int, d *description) {
	if d.released {
		panic("fake: " + d.name + " is closed, nobody can inherit it")
	}
	for len(p.fds) <= fd {
		p.fds = append(p.fds, nil)
	}
	p.fds[fd] = d
	d.refs++
	if _, ok := d.object.(*epoll); ok && d.refs > 1 {
		p.w.sharedEpoll = true
	}
}

func (p *Process) closeFd(fd int) sys.Errno {
	d := p.description(fd)
	if d == nil {
		return ebadf
	}
	p.fds[fd] = nil
	// Any descriptor of a file takes the process's record locks with it.
	if f, ok := d.object.(*inode); ok {
		f.unlock(p)
	}
	d.put()
	return 0
}

// local reports whether nobody else could notice a call on fd: it is an
// eventfd or a client's connection, and this process has it alone, and has its
// epoll instances alone.
func (p *Process) local(fd int) bool {
	d := p.description(fd)
	if d == nil {
		return true
	}
	if d.refs > 1 || p.w.sharedEpoll {
		return false
	}
	switch o := d.object.(type) {
	case *eventfd:
		return true
	case *tcpEnd:
		return !o.busy
	}
	return false
}

func (p *Process) Close(fd int) sys.Errno {
	err := p.begin(Close, p.local(fd))
	name := p.fdName(fd)
	if err == 0 {
		err = p.closeFd(fd)
	}
	p.end(func() string { return fmt.Sprintf("close(%s) = %s", name, ret(0, err)) })
	return err
}

// Dup makes a second descriptor of the same open file.
func (p *Process) Dup(fd int) (int, sys.Errno) {
	n, err := -1, p.begin(Dup, false)
	if d := p.description(fd); err == 0 && d != nil {
		n, err = p.install(d)
	} else if err == 0 {
		err = ebadf
	}
	p.end(func() string { return fmt.Sprintf("dup(%s) = %s", p.fdName(fd), ret(n, err)) })
	return n, err
}
