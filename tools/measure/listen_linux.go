package measure

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// backlog is nginx's default on Linux (NGX_LISTEN_BACKLOG).
const backlog = 511

// listen opens n listening sockets on addr, which share one port, and returns
// them with the address they are bound to.
func listen(addr string, n int, reuseport, blocking bool) ([]int, netip.AddrPort, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, ap, fmt.Errorf("-listen %s: give an address and a port, such as 127.0.0.1:8080", addr)
	}
	if !ap.Addr().IsLoopback() {
		return nil, ap, fmt.Errorf("-listen %s: give a loopback address; the load is meant for this machine only", addr)
	}

	var fds []int
	for range n {
		fd, err := listenOne(ap, reuseport, blocking)
		if err != nil {
			closeAll(fds)
			return nil, ap, fmt.Errorf("listen %s: %w%s", ap, err, listenHint(err))
		}
		fds = append(fds, fd)
		ap = boundTo(fd, ap)
	}
	return fds, ap, nil
}

// listenHint says what to do about a failed bind.
func listenHint(err error) string {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return " (another process has the port; choose one with -listen, or port 0 for a free one)"
	case errors.Is(err, unix.EACCES):
		return " (ports below 1024 need root or CAP_NET_BIND_SERVICE)"
	case errors.Is(err, unix.EMFILE):
		return " (raise the limit of open files with ulimit -n)"
	}
	return ""
}

func listenOne(ap netip.AddrPort, reuseport, blocking bool) (fd int, err error) {
	family := unix.AF_INET
	if ap.Addr().Is6() {
		family = unix.AF_INET6
	}
	typ := unix.SOCK_STREAM | unix.SOCK_CLOEXEC
	if !blocking {
		typ |= unix.SOCK_NONBLOCK
	}
	if fd, err = unix.Socket(family, typ, 0); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return -1, err
	}
	if reuseport {
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return -1, err
		}
	}
	if err = unix.Bind(fd, sockaddr(ap)); err != nil {
		return -1, err
	}
	return fd, unix.Listen(fd, backlog)
}

func sockaddr(ap netip.AddrPort) unix.Sockaddr {
	if ap.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}
}

// boundTo returns ap with the port that the kernel chose, if it did.
func boundTo(fd int, ap netip.AddrPort) netip.AddrPort {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return ap
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(ap.Addr(), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(ap.Addr(), uint16(sa.Port))
	}
	return ap
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
