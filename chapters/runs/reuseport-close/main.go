// Reuseport-close fills the queues of 4 reuseport listeners with 40
// connections, closes one listener, and says how many of the clients are reset.
// What the kernel does with them is net.ipv4.tcp_migrate_req.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sockets = 4
	clients = 40
)

func main() {
	group := listen()
	var conns []net.Conn
	for range clients {
		c, err := net.Dial("tcp", group[0].Addr().String())
		if err != nil {
			log.Fatal(err)
		}
		conns = append(conns, c)
	}
	group[1].Close()
	reset := 0
	for _, c := range conns {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // no reset comes later
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, syscall.ECONNRESET) {
			reset++
		}
	}
	fmt.Printf("%d connections in %d queues, one listener closed: %d reset\n", clients, sockets, reset)
}

// listen opens the sockets, all on one port.
func listen() (group []net.Listener) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	addr := "127.0.0.1:0"
	for range sockets {
		l, err := lc.Listen(context.Background(), "tcp", addr)
		if err != nil {
			log.Fatal(err)
		}
		addr = l.Addr().String()
		group = append(group, l)
	}
	return group
}
