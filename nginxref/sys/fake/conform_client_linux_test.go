package fake_test

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// linuxClient is a socket of the test's own. Its methods return when the
// other end has heard of what they did.
type linuxClient struct {
	m        *linux
	fd       int
	port     [2]byte // in network order
	peerPort [2]byte
	rst      bool
}

// connect returns when the connection is in the accept queue, or has been
// there; or when the queue is so full that the SYN is dropped.
func (m *linux) connect(to file) client {
	c := &linuxClient{m: m, fd: m.socket(unix.SOCK_NONBLOCK)}
	port := m.port(to.(int))
	err := unix.Connect(c.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
	if err != unix.EINPROGRESS {
		m.must(err)
	}
	binary.BigEndian.PutUint16(c.peerPort[:], uint16(port))
	binary.BigEndian.PutUint16(c.port[:], uint16(m.port(c.fd)))
	c.m.until("the connection is made", func() bool {
		s := c.server().state
		return s != 0 && s != synRecv && s != newSynRecv || c.state() == synSent
	})
	return c
}

// TCP states as the kernel numbers them.
const (
	established = 1
	synSent     = 2
	synRecv     = 3
	closeWait   = 8
	newSynRecv  = 12
)

// endpoint is what the kernel tells of a socket.
type endpoint struct{ state, recvq int }

// server returns the other end of the connection, state 0 if there is none. It
// asks by netlink (sock_diag(7)): to look through /proc/net/tcp may take long.
func (c *linuxClient) server() (e endpoint) {
	const dump = 56 // bytes of inet_diag_req_v2
	var req []byte
	for _, v := range []any{
		uint32(16 + dump), uint16(unix.SOCK_DIAG_BY_FAMILY), uint16(unix.NLM_F_REQUEST), uint64(0), // nlmsghdr
		uint8(unix.AF_INET), uint8(unix.IPPROTO_TCP), uint16(0), ^uint32(0),
		c.peerPort[:], c.port[:], loopback[:], loopback[:], uint32(0), ^uint64(0),
	} {
		req, _ = binary.Append(req, binary.NativeEndian, v)
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		c.m.t.Skipf("sock_diag: %v: this kernel does not tell what the other end has heard", err)
	}
	defer unix.Close(s)
	_, err = unix.Write(s, req)
	c.m.must(err)
	answer := make([]byte, 4096)
	n, err := unix.Read(s, answer)
	c.m.must(err)
	if n < 16+72 || binary.NativeEndian.Uint16(answer[4:]) != unix.SOCK_DIAG_BY_FAMILY {
		return e
	}
	msg := answer[16:] // inet_diag_msg
	return endpoint{state: int(msg[1]), recvq: int(binary.NativeEndian.Uint32(msg[56:]))}
}

var loopback = [16]byte{127, 0, 0, 1}

func (c *linuxClient) info() *unix.TCPInfo {
	info, err := unix.GetsockoptTCPInfo(c.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	c.m.must(err)
	return info
}

func (c *linuxClient) state() int      { return int(c.info().State) }
func (c *linuxClient) connected() bool { return c.state() == established }

func (c *linuxClient) send(text string) {
	before := c.server().recvq
	unix.Write(c.fd, []byte(text))
	c.m.until("the server receives", func() bool { return c.server().recvq == before+len(text) })
}

func (c *linuxClient) read() string {
	buf := make([]byte, 64<<10)
	c.m.until("the client receives", func() bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, 0)
		return n == 1 && err == nil
	})
	n, err := unix.Read(c.fd, buf)
	if err == unix.ECONNRESET {
		c.rst = true
	}
	return string(buf[:max(n, 0)])
}

func (c *linuxClient) drain(n int) {
	buf := make([]byte, 64<<10)
	c.m.until("the client receives all", func() bool {
		k, _ := unix.Read(c.fd, buf)
		n -= max(k, 0)
		return n <= 0
	})
}

func (c *linuxClient) closeWrite() {
	unix.Shutdown(c.fd, unix.SHUT_WR)
	c.m.until("the server hears of the FIN", func() bool { return c.server().state == closeWait })
}

func (c *linuxClient) close() {
	before := c.server().state
	c.m.drop(c.fd)
	c.m.until("the server hears that it is closed", func() bool { return c.server().state != before })
}

func (c *linuxClient) abort() {
	unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	c.close()
}

func (c *linuxClient) reset() bool {
	if !c.rst && unix.ECONNRESET == func() error { _, err := unix.Read(c.fd, make([]byte, 1)); return err }() {
		c.rst = true
	}
	return c.rst
}
