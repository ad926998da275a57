package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// client is a connection to the server.
type client struct {
	net.Conn
	in *bufio.Reader
}

func (r *run) hangUpAll() {
	for _, c := range r.clients {
		c.Close()
	}
}

// dial connects; from the port unless it is 0. That end has an address that
// nobody else has ports of.
func (r *run) dial(name string, from int) (*client, error) {
	d := net.Dialer{}
	if from != 0 {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 1, 1), Port: from}
	}
	conn, err := d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
	if err != nil {
		return nil, err
	}
	c := &client{conn, bufio.NewReader(conn)}
	r.clients[name] = c
	r.names[conn.LocalAddr().String()] = name
	return c, nil
}

func (r *run) connect(ctx context.Context, args []string) error {
	from := 0
	if len(args) == 3 && args[1] == "from" {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		from = r.port + n
	}
	c, err := r.dial(args[0], from)
	if err != nil {
		return err
	}
	return r.until(ctx, "the connection is accepted", func() bool {
		return r.logged(0, "accept: "+c.LocalAddr().String()+" ")
	})
}

func (r *run) queue(ctx context.Context, args []string) error {
	c, err := r.dial(args[0], 0)
	if err != nil {
		return err
	}
	// A client is connected before the server has its last packet.
	ends := fmt.Sprintf("0100007F:%04X 0100007F:%04X 01 ", r.port, c.LocalAddr().(*net.TCPAddr).Port)
	return r.until(ctx, "the connection is in the queue", func() bool {
		table, _ := os.ReadFile("/proc/net/tcp")
		return strings.Contains(string(table), ends)
	})
}

// of makes a command of what is done to one client, whose name is the first
// argument.
func of(do func(r *run, ctx context.Context, c *client, args []string) error) func(*run, context.Context, []string) error {
	return func(r *run, ctx context.Context, args []string) error {
		c := r.clients[args[0]]
		if c == nil {
			return fmt.Errorf("no client %q", args[0])
		}
		return do(r, ctx, c, args[1:])
	}
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n"

func (r *run) get(ctx context.Context, c *client, args []string) error {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
	}
	if err := c.write(ctx, strings.Repeat(request+"\r\n", n)); err != nil {
		return err
	}
	for range n {
		if err := c.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) last(ctx context.Context, c *client, args []string) error {
	if err := c.write(ctx, request+"Connection: close\r\n\r\n"); err != nil {
		return err
	}
	if err := c.read(ctx); err != nil {
		return err
	}
	return r.gone(ctx, c, args)
}

func (r *run) send(ctx context.Context, c *client, args []string) error {
	text, err := strconv.Unquote(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := c.write(ctx, text); err != nil {
		return err
	}
	pid, fd := r.accepted(c)
	return r.until(ctx, "the server receives it", func() bool {
		return r.logged(pid, "recv: fd:"+fd+" ")
	})
}

// accepted returns the worker that has accepted a connection, and its
// descriptor there; 0 if there is none.
func (r *run) accepted(c *client) (pid int, fd string) {
	for _, l := range r.log.lines {
		if _, rest, ok := strings.Cut(l.text, "accept: "+c.LocalAddr().String()+" fd:"); ok {
			pid, fd = l.pid, rest
		}
	}
	return pid, fd
}

func (r *run) receive(ctx context.Context, c *client, args []string) error {
	return c.read(ctx)
}

func (r *run) gone(ctx context.Context, c *client, args []string) error {
	return c.limited(ctx, func() error {
		if b, err := c.in.ReadByte(); err != io.EOF {
			return fmt.Errorf("expected the end of the connection: %q, %v", b, err)
		}
		return nil
	})
}

// write sends a text.
func (c *client) write(ctx context.Context, text string) error {
	return c.limited(ctx, func() error {
		_, err := io.WriteString(c, text)
		return err
	})
}

// read takes one answer.
func (c *client) read(ctx context.Context) error {
	return c.limited(ctx, func() error {
		answer, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	})
}

// limited does what may take for ever, unless ctx ends.
func (c *client) limited(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return do()
}

func (r *run) hangUp(ctx context.Context, c *client, args []string) error {
	pid, fd := r.accepted(c)
	c.Close()
	return r.until(ctx, "the server closes the connection", func() bool {
		return pid == 0 || r.logged(pid, "close http connection: "+fd)
	})
}
