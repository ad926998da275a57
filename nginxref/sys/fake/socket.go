package fake

import (
	"bytes"
	"fmt"

	"herd/nginxref/sys"
)

// socket is what tcpEnd and unixEnd have in common.
type socket interface {
	object
	recv(p []byte) (int, sys.Errno)
	send(p []byte) (int, sys.Errno)
	shutdown() sys.Errno
}

var (
	_ socket = (*tcpEnd)(nil)
	_ socket = (*unixEnd)(nil)
)

// transfer starts a call on fd and repeats f while it would block and fd is
// blocking.
func (p *Process) transfer(c Call, fd int, f func(*description) (int, sys.Errno)) (int, sys.Errno) {
	if err := p.begin(c, p.local(fd)); err != 0 {
		return -1, err
	}
	d := p.description(fd)
	if d == nil {
		return -1, ebadf
	}
	for {
		n, err := f(d)
		if err != sys.EAGAIN || d.nonblock {
			return n, err
		}
		p.note(func() string { return fmt.Sprintf("%s(%s) sleeps", c, p.fdName(fd)) })
		if p.sleepOn(d.waiters(), &waiter{}) == interrupted {
			return -1, sys.EINTR
		}
	}
}

func recv(d *description, buf []byte) (int, sys.Errno) {
	switch o := d.object.(type) {
	case socket:
		return o.recv(buf)
	case *Listener:
		return -1, sys.ENOTCONN
	}
	return -1, enotsock
}

func send(d *description, buf []byte) (int, sys.Errno) {
	switch o := d.object.(type) {
	case socket:
		return o.send(buf)
	case *Listener:
		return -1, sys.EPIPE
	}
	return -1, enotsock
}

func (p *Process) Read(fd int, buf []byte) (int, sys.Errno) {
	n, err := p.transfer(Read, fd, func(d *description) (int, sys.Errno) {
		if e, ok := d.object.(*eventfd); ok {
			return e.read(buf)
		}
		return notFile(recv(d, buf))
	})
	p.end(func() string { return fmt.Sprintf("read(%s, %d) = %s", p.fdName(fd), len(buf), ret(n, err)) })
	return n, err
}

func (p *Process) Write(fd int, buf []byte) (int, sys.Errno) {
	n, err := p.transfer(Write, fd, func(d *description) (int, sys.Errno) {
		if e, ok := d.object.(*eventfd); ok {
			return e.write(buf)
		}
		return notFile(send(d, buf))
	})
	p.end(func() string { return fmt.Sprintf("write(%s, %d) = %s", p.fdName(fd), len(buf), ret(n, err)) })
	return n, err
}

// notFile is read's and write's answer where recv and send say ENOTSOCK.
func notFile(n int, err sys.Errno) (int, sys.Errno) {
	if err == enotsock {
		err = sys.EINVAL
	}
	return n, err
}

func (p *Process) Recv(fd int, buf []byte) (int, sys.Errno) {
	n, err := p.transfer(Recv, fd, func(d *description) (int, sys.Errno) { return recv(d, buf) })
	p.end(func() string { return fmt.Sprintf("recv(%s, %d) = %s", p.fdName(fd), len(buf), ret(n, err)) })
	return n, err
}

func (p *Process) Send(fd int, buf []byte) (int, sys.Errno) {
	n, err := p.transfer(Send, fd, func(d *description) (int, sys.Errno) { return send(d, buf) })
	p.end(func() string { return fmt.Sprintf("send(%s, %d) = %s", p.fdName(fd), len(buf), ret(n, err)) })
	return n, err
}

// iovMax is how many pieces Linux.Writev sends in one call.
const iovMax = 64

func (p *Process) Writev(fd int, pieces [][]byte) (int, sys.Errno) {
	n, err := p.transfer(Writev, fd, func(d *description) (int, sys.Errno) { return notFile(send(d, gather(pieces))) })
	p.end(func() string {
		return fmt.Sprintf("writev(%s, %d pieces) = %s", p.fdName(fd), len(pieces), ret(n, err))
	})
	return n, err
}

// gather joins the first iovMax pieces that are not empty.
func gather(pieces [][]byte) []byte {
	var full [][]byte
	for _, piece := range pieces {
		if len(piece) > 0 && len(full) < iovMax {
			full = append(full, piece)
		}
	}
	return bytes.Join(full, nil)
}

func (p *Process) Nread(fd int) (int, sys.Errno) {
	n, err := p.transfer(Ioctl, fd, func(d *description) (int, sys.Errno) {
		switch o := d.object.(type) {
		case *tcpEnd:
			return len(o.in), 0
		case *unixEnd:
			return o.nread(), 0
		case *Listener, *epoll: // ENOTTY of an epoll instance before Linux 6.9
			return -1, sys.EINVAL
		}
		return -1, enotty
	})
	p.end(func() string { return fmt.Sprintf("ioctl(%s, FIONREAD) = %s", p.fdName(fd), ret(n, err)) })
	return n, err
}

// ipprotoTCP is the level of options that only TCP sockets have.
const ipprotoTCP = 6

// SetsockoptInt accepts every option of a socket; none has an effect.
func (p *Process) SetsockoptInt(fd, level, opt, value int) sys.Errno {
	_, err := p.transfer(Setsockopt, fd, func(d *description) (int, sys.Errno) {
		switch d.object.(type) {
		case *tcpEnd, *Listener:
			return 0, 0
		case *unixEnd:
			if level == ipprotoTCP {
				return -1, eopnotsupp
			}
			return 0, 0
		}
		return -1, enotsock
	})
	p.end(func() string {
		return fmt.Sprintf("setsockopt(%s, %d, %d, %d) = %s", p.fdName(fd), level, opt, value, ret(0, err))
	})
	return err
}

func (p *Process) Shutdown(fd int) sys.Errno {
	_, err := p.transfer(Shutdown, fd, func(d *description) (int, sys.Errno) {
		switch o := d.object.(type) {
		case socket:
			return 0, o.shutdown()
		case *Listener:
			return 0, 0
		}
		return -1, enotsock
	})
	p.end(func() string { return fmt.Sprintf("shutdown(%s) = %s", p.fdName(fd), ret(0, err)) })
	return err
}

// Socketpair's sockets block, as socketpair(2)'s do; see SetNonblock.
func (p *Process) Socketpair() (fds [2]int, err sys.Errno) {
	err = p.begin(Socketpair, false)
	if err == 0 {
		a, b := p.w.socketpair()
		if fds[0], err = p.install(a); err == 0 {
			if fds[1], err = p.install(b); err != 0 {
				p.closeFd(fds[0])
			}
		}
	}
	p.end(func() string { return fmt.Sprintf("socketpair() = %d %s", fds[0], ret(fds[1], err)) })
	return fds, err
}

// SetNonblock sets or clears O_NONBLOCK, which belongs to the open file.
func (p *Process) SetNonblock(fd int, on bool) { p.File(fd).open().nonblock = on }

func (p *Process) Sendmsg(fd int, buf []byte, pass int) (int, sys.Errno) {
	var files []*description
	n, err := p.transfer(Sendmsg, fd, func(d *description) (int, sys.Errno) {
		e, ok := d.object.(*unixEnd)
		if !ok {
			return send(d, buf)
		}
		if files = nil; pass != -1 {
			if p.description(pass) == nil {
				return -1, ebadf
			}
			files = []*description{p.description(pass)}
		}
		return e.sendmsg(buf, files)
	})
	p.end(func() string {
		return fmt.Sprintf("sendmsg(%s, %d, %s) = %s", p.fdName(fd), len(buf), p.fdName(pass), ret(n, err))
	})
	return n, err
}

// SendFds sends several descriptors with one message.
func (p *Process) SendFds(fd int, buf []byte, pass ...int) (int, sys.Errno) {
	n, err := p.transfer(Sendmsg, fd, func(d *description) (int, sys.Errno) {
		var files []*description
		for _, one := range pass {
			files = append(files, p.File(one).open())
		}
		return d.object.(*unixEnd).sendmsg(buf, files)
	})
	p.end(func() string {
		return fmt.Sprintf("sendmsg(%s, %d, %v) = %s", p.fdName(fd), len(buf), pass, ret(n, err))
	})
	return n, err
}

func (p *Process) Recvmsg(fd int, buf []byte) (sys.Message, sys.Errno) {
	m := sys.Message{Fd: -1}
	n, err := p.transfer(Recvmsg, fd, func(d *description) (int, sys.Errno) {
		e, ok := d.object.(*unixEnd)
		if !ok {
			return recv(d, buf)
		}
		n, files, err := e.recvmsg(buf)
		m.Fd, m.Truncated = p.receive(files)
		return n, err
	})
	m.N = n
	p.end(func() string {
		return fmt.Sprintf("recvmsg(%s, %d) = %s, descriptor %s", p.fdName(fd), len(buf), ret(n, err), p.fdName(m.Fd))
	})
	return m, err
}

// receive installs the first of the descriptors that came with a message. The
// others, and all if there is no free number, are closed: the control message
// is truncated.
func (p *Process) receive(files []*description) (fd int, truncated bool) {
	fd = -1
	for i, d := range files {
		var err sys.Errno
		if i == 0 {
			fd, err = p.install(d)
		}
		truncated = truncated || i > 0 || err != 0
		d.put() // the message's reference
	}
	return fd, truncated
}
