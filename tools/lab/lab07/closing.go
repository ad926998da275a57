package lab07

import (
	"context"
	"net"
)

// connect makes n connections to addr.
func connect(ctx context.Context, addr string, n int) (conns []net.Conn, err error) {
	var d net.Dialer
	for range n {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// greetAll greets whoever comes to l, until l is closed.
func greetAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Write([]byte("hello\n"))
		conn.Close()
	}
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}
