package fake

import "herd/nginxref/sys"

// tcpEnd is one end of a TCP connection: the one that a process accepts, or
// the client's. What is sent is received at once.
//
//	rcvShut sndShut  state
//	no      no       ESTABLISHED
//	yes     no       CLOSE_WAIT: the peer has sent its FIN
//	no      yes      FIN_WAIT: we have
//	yes     yes      both have, or closed by a RST
type tcpEnd struct {
	peer   *tcpEnd
	client *Client // that the connection belongs to
	wq     waitQueue
	in     []byte // received and not yet read
	room   int    // bytes that in may hold; sender's and receiver's buffer in one

	rcvShut, sndShut bool
	done             bool // a FIN was received: the end of input is no error
	reset            bool // a RST was sent or received
	err              sys.Errno
	noSpace          bool // somebody waits for room to send
	closed           bool // has no descriptor, and nobody to wake
	busy             bool // the client is part of a process: calls are points
}

// newConnection returns both ends.
func newConnection(c *Client, room int) (client, server *tcpEnd) {
	client = &tcpEnd{client: c, room: room}
	server = &tcpEnd{client: c, room: room, peer: client}
	client.peer = server
	return client, server
}

// poll is tcp_poll.
func (e *tcpEnd) poll() (bits uint32) {
	if e.rcvShut && e.sndShut {
		bits |= sys.EPOLLHUP
	}
	if e.rcvShut {
		bits |= sys.EPOLLIN | sys.EPOLLRDHUP
	}
	if len(e.in) > 0 {
		bits |= sys.EPOLLIN
	}
	if e.sndShut || e.writable() {
		bits |= sys.EPOLLOUT
	} else {
		e.noSpace = true
	}
	if e.err != 0 {
		bits |= sys.EPOLLERR
	}
	return bits
}

func (e *tcpEnd) waiters() *waitQueue { return &e.wq }

// writable reports whether at least a third of the room is free: Linux does
// not announce less.
func (e *tcpEnd) writable() bool { return 3*len(e.peer.in) <= 2*e.room }

func (e *tcpEnd) takeErr() sys.Errno {
	err := e.err
	e.err = 0
	return err
}

// recv is tcp_recvmsg: data that came before a FIN or RST is read first.
func (e *tcpEnd) recv(p []byte) (int, sys.Errno) {
	switch {
	case len(e.in) > 0:
		n := copy(p, e.in)
		e.in = e.in[n:]
		e.peer.drained()
		return n, 0
	case len(p) == 0 || e.done:
		return 0, 0
	case e.err != 0:
		return -1, e.takeErr()
	case e.rcvShut:
		return 0, 0
	}
	return -1, sys.EAGAIN
}

// drained hears that the peer has read.
func (e *tcpEnd) drained() {
	if e.noSpace && e.writable() {
		e.noSpace = false
		e.wq.wake(sys.EPOLLOUT)
	}
}

// send is tcp_sendmsg.
func (e *tcpEnd) send(p []byte) (int, sys.Errno) {
	if e.err != 0 {
		return -1, e.takeErr()
	}
	if e.sndShut {
		return -1, sys.EPIPE
	}
	if len(p) == 0 {
		return 0, 0
	}
	if e.peer.closed { // its answer is a RST
		e.receiveReset()
		return len(p), 0
	}
	n := min(len(p), e.room-len(e.peer.in))
	if n == 0 {
		e.noSpace = true
		return -1, sys.EAGAIN
	}
	e.peer.in = append(e.peer.in, p[:n]...)
	e.peer.wq.wake(sys.EPOLLIN)
	return n, 0
}

// shutdown sends a FIN.
func (e *tcpEnd) shutdown() sys.Errno {
	if e.reset {
		return sys.ENOTCONN
	}
	if !e.sndShut {
		e.sndShut = true
		e.peer.receiveFin()
	}
	e.wq.wakeAll(0)
	return 0
}

func (e *tcpEnd) receiveFin() {
	e.rcvShut = true
	e.done = true
	e.wq.wakeAll(0)
}

func (e *tcpEnd) receiveReset() {
	if e.reset {
		return
	}
	e.err = sys.ECONNRESET
	if e.rcvShut && !e.sndShut { // CLOSE_WAIT
		e.err = sys.EPIPE
	}
	e.rcvShut, e.sndShut, e.reset = true, true, true
	e.wq.wakeAll(0)
	e.wq.wake(sys.EPOLLERR)
}

// sendReset closes with a RST.
func (e *tcpEnd) sendReset() {
	e.rcvShut, e.sndShut, e.reset = true, true, true
	e.peer.receiveReset()
}

// release closes the end. The peer gets a FIN, or a RST if there was data that
// nobody has read.
func (e *tcpEnd) release() {
	e.closed = true
	switch {
	case e.reset:
	case len(e.in) > 0:
		e.sendReset()
	case !e.sndShut:
		e.sndShut = true
		e.peer.receiveFin()
	}
}
