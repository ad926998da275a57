package fake

import (
	"fmt"

	"herd/nginxref/sys"
)

// inode is a file on disk, of which only record locks on the whole are
// modelled. The lock belongs to a process, not to a descriptor.
type inode struct {
	name    string
	holder  *Process
	waiting waitQueue // processes in F_SETLKW, the first at the head
}

func (f *inode) poll() uint32        { return sys.EPOLLIN | sys.EPOLLOUT }
func (f *inode) waiters() *waitQueue { return &f.waiting }
func (f *inode) release()            {}

// File makes a file to lock: the handle stands for an open file of it.
func (w *World) File(name string) File {
	return &description{object: &inode{name: name}, name: name}
}

// Reopen opens the file behind fd once more: another open file, the same locks.
func (p *Process) Reopen(fd int) (int, sys.Errno) {
	n, err := -1, p.begin(Open, false)
	if err == 0 {
		f := p.inode(fd)
		n, err = p.install(&description{object: f, name: f.name})
	}
	p.end(func() string { return fmt.Sprintf("open(%s) = %s", p.fdName(fd), ret(n, err)) })
	return n, err
}

// inode returns the file that fd refers to.
func (p *Process) inode(fd int) *inode {
	f, ok := p.description(fd).object.(*inode)
	if !ok {
		panic(fmt.Sprintf("fake: descriptor %d of %s is no file: record locks of other things are not modelled", fd, p.Name))
	}
	return f
}

func (p *Process) FcntlLock(fd int, lock, wait bool) sys.Errno {
	err := p.begin(Fcntl, false)
	if err == 0 {
		err = p.fcntlLock(fd, lock, wait)
	}
	p.end(func() string {
		return fmt.Sprintf("fcntl(%s, %s) = %s", p.fdName(fd), lockName(lock, wait), ret(0, err))
	})
	return err
}

func (p *Process) fcntlLock(fd int, lock, wait bool) sys.Errno {
	if p.description(fd) == nil {
		return ebadf
	}
	f := p.inode(fd)
	if !lock {
		f.unlock(p)
		return 0
	}
	defer func() { p.wants = nil }()
	for why := continued; f.holder != nil && f.holder != p; {
		if !wait {
			return sys.EAGAIN
		}
		p.wants = f
		me := p.waiting(&f.waiting, &waiter{exclusive: true})
		if why == happened {
			f.waiting.addHead(me) // its turn has come once, and it stays first
		} else {
			f.waiting.add(me)
		}
		if why = p.sleep(never); why == interrupted {
			return sys.EINTR
		}
	}
	f.holder = p
	return 0
}

// unlock lets go of p's lock, if it is p's, and wakes the first who waits. It
// must try again, and may find that another process was faster.
func (f *inode) unlock(p *Process) {
	if f.holder == p {
		f.holder = nil
		f.waiting.wake(0)
	}
}
