package fake

import (
	"fmt"
	"net/netip"
	"time"

	"herd/nginxref/sys"
)

const (
	// window is how many bytes may be under way in one direction.
	window = 64 << 10
	// synRetries is how often a client tries again that finds the queue full:
	// after 1, 2, 4, ... seconds (tcp_syn_retries).
	synRetries = 6
)

// Client is a client of a Listener: an actor that the scenario moves, and that
// needs no process. It may also be made and moved by the code of a process;
// then Explore tries every moment for it.
type Client struct {
	Name       string // "client 1", "client 2" and so on
	Number     int    // of all clients, from 0
	Addr       netip.AddrPort
	Listener   *Listener // whose queue it is or was in, or nil
	AcceptedBy *Process  // nil before
	AcceptedAt time.Duration
	Err        sys.Errno // why it has no connection: ECONNREFUSED, ECONNRESET, ETIMEDOUT

	w   *World
	end *tcpEnd
	eof bool
}

// Connect makes a client that connects to l. If l's queue is full it tries
// again later, as TCP does.
func (w *World) Connect(l *Listener) *Client {
	c := &Client{
		Name:   fmt.Sprintf("client %d", w.clients+1),
		Number: w.clients,
		Addr:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(40000+w.clients)),
		w:      w,
	}
	w.clients++
	c.act("connects to "+l.Name, func() { c.connect(l, 0) })
	return c
}

// ConnectN makes n clients, one after the other.
func (w *World) ConnectN(l *Listener, n int) []*Client {
	all := make([]*Client, n)
	for i := range all {
		all[i] = w.Connect(l)
	}
	return all
}

// act is something that the client does. In the code of a process it is a
// point to switch at.
func (c *Client) act(what string, f func()) {
	if p := c.w.running.Load(); p != nil {
		p.begin(Actor, false)
	}
	f()
	c.w.trace(c.Name, what)
	c.w.check()
}

func (c *Client) connect(l *Listener, try int) {
	to := l.pick(c.Number)
	if to == nil {
		c.Err = sys.ECONNREFUSED
		return
	}
	client, server := newConnection(c, window)
	server.busy = c.w.running.Load() != nil
	if to.enqueue(server) {
		c.end = client
		return
	}
	if try == synRetries {
		c.Err = sys.ETIMEDOUT
		return
	}
	c.w.After(time.Second<<try, func() {
		c.act("tries again to connect to "+to.Name, func() { c.connect(l, try+1) })
	})
}

// Send sends text and returns how many bytes of it there was room for.
func (c *Client) Send(text string) (n int) {
	c.act(fmt.Sprintf("sends %d bytes", len(text)), func() {
		n, _ = c.connected().send([]byte(text))
	})
	return max(n, 0)
}

// Read takes what has come since the last Read.
func (c *Client) Read() (text string) {
	c.act("reads", func() {
		buf := make([]byte, window)
		n, err := c.connected().recv(buf)
		switch {
		case err != 0 && err != sys.EAGAIN:
			c.Err = err
		case n == 0:
			c.eof = true
		}
		text = string(buf[:max(n, 0)])
	})
	return text
}

// EOF reports whether a Read has found the end of what the server sends.
func (c *Client) EOF() bool { return c.eof }

// Reset reports whether the server has reset the connection.
func (c *Client) Reset() bool { return c.end != nil && c.end.reset }

// Connected reports whether the connection was made, and was not reset since.
func (c *Client) Connected() bool { return c.end != nil && !c.end.reset }

// CloseWrite ends what the client sends (FIN); it can still read.
func (c *Client) CloseWrite() { c.act("half-closes", func() { c.connected().shutdown() }) }

// Close closes the connection: with a FIN, or with a RST if something came
// that was not read.
func (c *Client) Close() { c.act("closes", func() { c.connected().release() }) }

// Abort closes the connection with a RST.
func (c *Client) Abort() {
	c.act("resets", func() {
		c.connected().closed = true
		c.end.sendReset()
	})
}

func (c *Client) connected() *tcpEnd {
	if c.end == nil {
		panic("fake: " + c.Name + " is not connected: " + errnoName(c.Err))
	}
	return c.end
}
