package lab07

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/tools/measure"
)

// listen opens n sockets on one free port.
func listen(ctx context.Context, n int) (listeners []net.Listener, err error) {
	if migrates() {
		return nil, fmt.Errorf("%w: net.ipv4.tcp_migrate_req is 1 here, and the kernel moves what a closed socket leaves", measure.ErrCannotShow)
	}
	config := net.ListenConfig{Control: reuseport}
	addr := "127.0.0.1:0"
	for range n {
		l, err := config.Listen(ctx, "tcp", addr)
		if err != nil {
			closeAll(listeners)
			return nil, err
		}
		listeners = append(listeners, l)
		addr = l.Addr().String()
	}
	return listeners, nil
}

// reuseport sets the option, as it must be, before the socket is bound.
func reuseport(network, address string, c syscall.RawConn) (err error) {
	c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	return err
}

// migrates reports whether the kernel moves connections from a socket that is
// closed to another one of its group (since Linux 5.14).
func migrates() bool {
	value, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_migrate_req")
	return bytes.HasPrefix(value, []byte("1"))
}
