package fake_test

import (
	"fmt"
	"strings"
	"testing"

	"herd/nginxref/sys"
)

// state says what epoll tells of s, whatever is asked of it.
func state(p proc, s int) string {
	ep := epoll(p, all, s)
	defer p.Close(ep)
	return strings.TrimPrefix(events(p, ep, 1), "0:")
}

// send returns what a send of one byte gives.
func send(p proc, s int) string {
	n, err := p.Send(s, []byte("x"))
	if err != 0 {
		return name(err)
	}
	return fmt.Sprint(n)
}

// What epoll, recv and send tell of a connection.
//
//	t0
//	 |
//	e0
//	 |
//	 s --- c1
func TestStatesOfAConnection(t *testing.T) {
	// with gives f an accepted connection.
	type steps struct {
		b  *bench
		p  proc
		s  int
		c1 client
	}
	with := func(f func(x *steps)) func(b *bench) {
		return func(b *bench) {
			s0 := b.listen(511)
			x := &steps{b: b, c1: b.connect(s0), p: b.process(s0)}
			x.p.do(func() { x.s, _ = accept(x.p, x.p.fd(s0)) })
			f(x)
		}
	}
	say := func(x *steps, what string) {
		x.p.do(func() { x.b.say("%s: %s", what, state(x.p, x.s)) })
	}
	recvs := func(x *steps, n int) {
		x.p.do(func() {
			for range n {
				x.b.say("recv: %s", recv(x.p, x.s))
			}
		})
	}
	sends := func(x *steps, n int) {
		x.p.do(func() {
			for range n {
				x.b.say("send: %s", send(x.p, x.s))
			}
		})
	}
	runScripts(t, []script{
		{"data, then FIN", with(func(x *steps) {
			say(x, "new")
			recvs(x, 1)
			x.c1.send("abc")
			say(x, "data")
			x.c1.closeWrite()
			say(x, "FIN")
			x.p.do(func() {
				n, err := x.p.Nread(x.s)
				x.b.say("FIONREAD: %d %s", n, name(err))
			})
			recvs(x, 3)
			say(x, "read")
			sends(x, 1)
			x.b.say("the client reads %q", x.c1.read())
			x.p.do(func() { x.b.say("shutdown: %s", name(x.p.Shutdown(x.s))) })
			say(x, "both closed")
			sends(x, 2)
		}), []string{
			"new: OUT", "recv: EAGAIN", "data: IN|OUT", "FIN: IN|OUT|RDHUP", "FIONREAD: 3 ok",
			`recv: "abc"`, "recv: end", "recv: end", "read: IN|OUT|RDHUP", "send: 1", `the client reads "x"`,
			"shutdown: ok", "both closed: IN|OUT|RDHUP|HUP", "send: EPIPE", "send: EPIPE",
		}},
		{"shutdown first", with(func(x *steps) {
			x.p.do(func() { x.b.say("shutdown: %s", name(x.p.Shutdown(x.s))) })
			say(x, "shut")
			sends(x, 1)
			x.c1.send("abc")
			say(x, "data")
			recvs(x, 1)
		}), []string{"shutdown: ok", "shut: OUT", "send: EPIPE", "data: IN|OUT", `recv: "abc"`}},
		{"RST after data", with(func(x *steps) {
			x.c1.send("abc")
			x.c1.abort()
			say(x, "RST")
			recvs(x, 3)
			say(x, "read")
			sends(x, 1)
			x.p.do(func() { x.b.say("shutdown: %s", name(x.p.Shutdown(x.s))) })
		}), []string{
			"RST: IN|OUT|RDHUP|ERR|HUP", `recv: "abc"`, "recv: ECONNRESET", "recv: end", "read: IN|OUT|RDHUP|HUP",
			"send: EPIPE", "shutdown: ENOTCONN",
		}},
		{"RST, then send", with(func(x *steps) {
			x.c1.abort()
			sends(x, 2)
			recvs(x, 1)
		}), []string{"send: ECONNRESET", "send: EPIPE", "recv: end"}},
		{"RST after FIN", with(func(x *steps) {
			x.c1.closeWrite()
			x.c1.abort()
			say(x, "RST")
			recvs(x, 1)
			sends(x, 2)
		}), []string{"RST: IN|OUT|RDHUP|ERR|HUP", "recv: end", "send: EPIPE", "send: EPIPE"}},
		{"send to a client that has closed", with(func(x *steps) {
			x.c1.close()
			say(x, "FIN")
			sends(x, 1)
			x.b.settle()
			say(x, "its answer")
			sends(x, 1)
			recvs(x, 1)
		}), []string{"FIN: IN|OUT|RDHUP", "send: 1", "its answer: IN|OUT|RDHUP|ERR|HUP", "send: EPIPE", "recv: end"}},
		{"close with data unread is a RST", with(func(x *steps) {
			x.c1.send("abc")
			x.p.do(func() { x.p.Close(x.s) })
			x.b.say("reset: %v", x.c1.reset())
		}), []string{"reset: true"}},
		{"close without is a FIN", with(func(x *steps) {
			x.p.do(func() { x.p.Close(x.s) })
			x.b.say("the client reads %q", x.c1.read())
			x.b.say("reset: %v", x.c1.reset())
		}), []string{`the client reads ""`, "reset: false"}},
	})
}

// Calls on what they are not for.
func TestCallsOnTheWrongDescriptor(t *testing.T) {
	runScripts(t, []script{{"all", func(b *bench) {
		s0, n0 := b.listen(511), b.make(sys.Kernel.Eventfd)
		a, z := b.pair()
		p := b.process(s0, n0, a, z)
		p.do(func() {
			ep, _ := p.EpollCreate()
			buf := make([]byte, 8)
			for _, c := range []struct {
				what string
				fd   int
			}{{"no descriptor", 999}, {"a listener", p.fd(s0)}, {"an eventfd", p.fd(n0)},
				{"an epoll instance", ep}, {"a pair", p.fd(a)}} {
				_, accepts := accept(p, c.fd)
				_, reads := p.Read(c.fd, buf)
				_, recvs := p.Recv(c.fd, buf)
				_, nreads := p.Nread(c.fd)
				if c.fd == ep {
					nreads = 0 // Linux has changed its mind: ENOTTY before 6.9
				}
				_, sends := p.Send(c.fd, buf)
				_, writes := p.Write(c.fd, buf)
				b.say("%s: accept4 %s, read %s, recv %s, FIONREAD %s, send %s, write %s, TCP_NODELAY %s", c.what,
					name(accepts), name(reads), name(recvs), name(nreads), name(sends), name(writes),
					name(p.SetsockoptInt(c.fd, 6, 1, 1)))
			}
			b.say("shutdown: %s, %s, %s", name(p.Shutdown(p.fd(s0))), name(p.Shutdown(p.fd(n0))), name(p.Shutdown(999)))
			b.say("close: %s", name(p.Close(999)))
		})
	}, []string{
		"no descriptor: accept4 EBADF, read EBADF, recv EBADF, FIONREAD EBADF, send EBADF, write EBADF, TCP_NODELAY EBADF",
		"a listener: accept4 EAGAIN, read ENOTCONN, recv ENOTCONN, FIONREAD EINVAL, send EPIPE, write EPIPE, TCP_NODELAY ok",
		"an eventfd: accept4 ENOTSOCK, read EAGAIN, recv ENOTSOCK, FIONREAD ENOTTY, send ENOTSOCK, write ok, TCP_NODELAY ENOTSOCK",
		"an epoll instance: accept4 ENOTSOCK, read EINVAL, recv ENOTSOCK, FIONREAD ok, send ENOTSOCK, write EINVAL, TCP_NODELAY ENOTSOCK",
		"a pair: accept4 EINVAL, read EAGAIN, recv EAGAIN, FIONREAD ok, send ok, write ok, TCP_NODELAY EOPNOTSUPP",
		"shutdown: ok, ENOTSOCK, EBADF",
		"close: EBADF",
	}}})
}

func TestAcceptQueue(t *testing.T) {
	runScripts(t, []script{
		{"EMFILE leaves the connection queued, and comes before EAGAIN", func(b *bench) {
			s0 := b.listen(511)
			b.connect(s0)
			p := b.process(s0)
			try := func() {
				_, err := accept(p, p.fd(s0))
				b.say("accept4: %s", name(err))
			}
			p.do(func() {
				ep := epoll(p, in, p.fd(s0))
				p.full(true)
				try()
				_, err := p.Eventfd()
				b.say("eventfd: %s", name(err))
				_, err = p.Socketpair()
				b.say("socketpair: %s", name(err))
				p.full(false)
				b.say("epoll: %s", events(p, ep, 1))
				try()
				try()
				p.full(true)
				try()
				p.full(false)
			})
		}, []string{
			"accept4: EMFILE", "eventfd: EMFILE", "socketpair: EMFILE", "epoll: 0:IN",
			"accept4: ok", "accept4: EAGAIN", "accept4: EMFILE",
		}},
		{"a connection that was reset is accepted", func(b *bench) {
			s0 := b.listen(511)
			c1 := b.connect(s0)
			c1.abort()
			p := b.process(s0)
			p.do(func() {
				s, err := accept(p, p.fd(s0))
				b.say("accept4: %s, recv: %s", name(err), recv(p, s))
			})
		}, []string{"accept4: ok, recv: ECONNRESET"}},
		{"data and FIN wait with it", func(b *bench) {
			s0 := b.listen(511)
			c1 := b.connect(s0)
			c1.send("abc")
			c1.closeWrite()
			p := b.process(s0)
			p.do(func() {
				s, _ := accept(p, p.fd(s0))
				b.say("%s, then %s", recv(p, s), recv(p, s))
			})
		}, []string{`"abc", then end`}},
		{"it holds one more than the backlog", func(b *bench) {
			s0 := b.listen(1)
			b.say("%v %v %v", b.connect(s0).connected(), b.connect(s0).connected(), b.connect(s0).connected())
		}, []string{"true true false"}},
		{"it is reset when the last descriptor goes", func(b *bench) {
			s0 := b.listen(511)
			c1 := b.connect(s0)
			p0, p1 := b.process(s0), b.process(s0)
			b.drop(s0)
			p0.do(func() { p0.Close(p0.fd(s0)) })
			b.settle()
			b.say("one closed it: %v", c1.reset())
			p1.exit()
			b.settle()
			b.say("both: %v", c1.reset())
		}, []string{"one closed it: false", "both: true"}},
		// Of two sockets of one address only the queue of the closed one is
		// lost (CASES C02). Which connection is where, nobody can tell.
		{"reuseport: another socket's is not", func(b *bench) {
			pair := b.reuseport(2)
			var clients []client
			for range 32 {
				clients = append(clients, b.connect(pair[0]))
			}
			p, other := b.process(pair[0]), b.process(pair[1])
			b.drop(pair...)
			other.exit()
			accepted, lost := 0, 0
			p.do(func() {
				for {
					if _, err := accept(p, p.fd(pair[0])); err != 0 {
						return
					}
					accepted++
				}
			})
			for _, c := range clients {
				if c.reset() {
					lost++
				}
			}
			b.say("all: %v, some of both: %v", accepted+lost == 32, accepted > 0 && lost > 0)
		}, []string{"all: true, some of both: true"}},
	})
}

// Processes that sleep in accept4 itself (CASES A04): each connection wakes
// one, and they take turns.
//
//	t0  t1  t2
//	  \  |  /
//	    s0   blocking
func TestBlockingAcceptTakesTurns(t *testing.T) {
	runScripts(t, []script{{"three processes", func(b *bench) {
		s0 := b.blocking()
		got := make(chan int, 9)
		for i := range 3 {
			p := b.process(s0)
			p.begin(func() {
				for range 3 {
					p.sleepInAccept(p.fd(s0))
					got <- i
				}
			})
			b.settle()
		}
		order := ""
		for range 9 {
			b.connect(s0)
			b.settle()
			order += fmt.Sprint(<-got, " ")
		}
		b.say("%s", order)
	}, []string{"0 1 2 0 1 2 0 1 2 "}}})
}
