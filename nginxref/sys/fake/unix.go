package fake

import (
	"bytes"
	"fmt"

	"herd/nginxref/sys"
)

const (
	// sndbuf is net.core.wmem_default: what a Unix socket may have unread.
	sndbuf = 212992
	// perMessage is what each message costs besides its bytes. With it 278
	// messages of 32 bytes fit, as measured on Linux.
	perMessage = 736
	// chunk is the longest piece that a message is cut into.
	chunk = 32 << 10
)

// unixEnd is one end of an AF_UNIX stream socket pair.
type unixEnd struct {
	peer   *unixEnd
	wq     waitQueue
	in     []message
	unread int // cost of in

	rcvShut, sndShut bool
	err              sys.Errno
	closed           bool
}

// message is what one sendmsg sent. The descriptors come with its first byte.
type message struct {
	data  []byte // what is left of it
	cost  int
	files []*description
}

// Socketpair makes two connected non-blocking AF_UNIX stream sockets, for
// processes to inherit.
func (w *World) Socketpair() (a, b File) {
	da, db := w.socketpair()
	da.nonblock, db.nonblock = true, true
	return da, db
}

func (w *World) socketpair() (a, b *description) {
	ea, eb := &unixEnd{}, &unixEnd{}
	ea.peer, eb.peer = eb, ea
	name := fmt.Sprintf("pair%d", w.descriptors)
	w.descriptors++
	return &description{object: ea, name: name + "a"}, &description{object: eb, name: name + "b"}
}

// poll is unix_poll.
func (e *unixEnd) poll() (bits uint32) {
	if e.err != 0 {
		bits |= sys.EPOLLERR
	}
	if e.rcvShut && e.sndShut {
		bits |= sys.EPOLLHUP
	}
	if e.rcvShut {
		bits |= sys.EPOLLIN | sys.EPOLLRDHUP
	}
	if len(e.in) > 0 {
		bits |= sys.EPOLLIN
	}
	if e.writable() {
		bits |= sys.EPOLLOUT
	}
	return bits
}

func (e *unixEnd) waiters() *waitQueue { return &e.wq }

// writable reports whether at most a quarter of the buffer is used: Linux does
// not announce less.
func (e *unixEnd) writable() bool { return 4*e.peer.unread <= sndbuf }

func (e *unixEnd) send(p []byte) (int, sys.Errno) { return e.sendmsg(p, nil) }

// sendmsg is unix_stream_sendmsg. The descriptors go with the first piece; a
// message without bytes carries nothing.
func (e *unixEnd) sendmsg(p []byte, files []*description) (n int, err sys.Errno) {
	if e.sndShut || e.peer.closed || e.peer.rcvShut {
		return -1, sys.EPIPE
	}
	for n < len(p) {
		if e.peer.unread >= sndbuf {
			if n == 0 {
				return -1, sys.EAGAIN
			}
			break
		}
		data := bytes.Clone(p[n:min(len(p), n+chunk)])
		m := message{data: data, cost: perMessage + len(data), files: files}
		for _, f := range files {
			f.refs++
		}
		files = nil
		n += len(data)
		e.peer.in = append(e.peer.in, m)
		e.peer.unread += m.cost
		e.peer.wq.wake(sys.EPOLLIN)
	}
	return n, 0
}

func (e *unixEnd) recv(p []byte) (int, sys.Errno) {
	n, files, err := e.recvmsg(p)
	for _, f := range files {
		f.put() // nobody asked for them
	}
	return n, err
}

// recvmsg is unix_stream_read_generic. It goes on from message to message, but
// not past one that carries descriptors.
func (e *unixEnd) recvmsg(p []byte) (n int, files []*description, err sys.Errno) {
	if len(e.in) == 0 {
		switch {
		case e.err != 0:
			err, e.err = e.err, 0
			return -1, nil, err
		case e.rcvShut || len(p) == 0:
			return 0, nil, 0
		}
		return -1, nil, sys.EAGAIN
	}
	freed := false
	for n < len(p) && len(e.in) > 0 && files == nil {
		m := &e.in[0]
		k := copy(p[n:], m.data)
		n += k
		m.data = m.data[k:]
		files, m.files = m.files, nil
		if len(m.data) > 0 {
			break
		}
		e.unread -= m.cost
		e.in = e.in[1:]
		freed = true
	}
	if freed && e.peer.writable() {
		e.peer.wq.wake(sys.EPOLLOUT)
	}
	return n, files, 0
}

// nread returns how many bytes can be read (FIONREAD).
func (e *unixEnd) nread() (n int) {
	for _, m := range e.in {
		n += len(m.data)
	}
	return n
}

func (e *unixEnd) shutdown() sys.Errno {
	e.sndShut = true
	e.wq.wakeAll(0)
	e.peer.rcvShut = true
	e.peer.wq.wakeAll(0)
	return 0
}

// release closes the end, and what was on its way to it.
func (e *unixEnd) release() {
	e.closed = true
	if len(e.in) > 0 {
		e.peer.err = sys.ECONNRESET
	}
	for _, m := range e.in {
		for _, f := range m.files {
			f.put()
		}
	}
	e.in = nil
	e.peer.rcvShut, e.peer.sndShut = true, true
	e.peer.wq.wakeAll(0)
}
