package fake_test

import (
	"encoding/binary"
	"math"
	"testing"

	"herd/nginxref/sys"
)

const (
	in   = sys.EPOLLIN
	out  = sys.EPOLLOUT
	et   = sys.EPOLLET
	excl = sys.EPOLLEXCLUSIVE
	once = sys.EPOLLONESHOT
	all  = in | out | sys.EPOLLRDHUP
)

// ctl is epoll_ctl, and says what it returned.
func (b *bench) ctl(p proc, what string, ep, op, fd int, bits uint32, data uint64) {
	b.say("%s: %s", what, name(p.EpollCtl(ep, op, fd, sys.MakeEpollEvent(bits, data))))
}

const (
	add = sys.EPOLL_CTL_ADD
	del = sys.EPOLL_CTL_DEL
	mod = sys.EPOLL_CTL_MOD
)

// CASES E13, and the other things that epoll_ctl refuses.
func TestEpollCtlArguments(t *testing.T) {
	runScripts(t, []script{
		{"exclusive", func(b *bench) {
			s0 := b.listen(511)
			p := b.process(s0)
			p.do(func() {
				fd := p.fd(s0)
				for _, c := range []struct {
					what string
					bits uint32
				}{
					{"ADD IN", in}, {"ADD IN|ET", in | et}, {"ADD IN|OUT", in | out},
					{"ADD IN|RDHUP", in | sys.EPOLLRDHUP}, {"ADD IN|ONESHOT", in | once},
				} {
					b.ctl(p, c.what+"|EXCLUSIVE", epoll(p, 0), add, fd, c.bits|excl, 0)
				}
				ep := epoll(p, in|excl, fd)
				b.ctl(p, "MOD to the same", ep, mod, fd, in|excl, 0)
				b.ctl(p, "MOD to plain", ep, mod, fd, in, 0)
				b.ctl(p, "DEL", ep, del, fd, 0, 0)
				b.ctl(p, "ADD plain", ep, add, fd, in, 0)
				b.ctl(p, "MOD to exclusive", ep, mod, fd, in|excl, 0)
			})
		}, []string{
			"ADD IN|EXCLUSIVE: ok", "ADD IN|ET|EXCLUSIVE: ok", "ADD IN|OUT|EXCLUSIVE: ok",
			"ADD IN|RDHUP|EXCLUSIVE: EINVAL", "ADD IN|ONESHOT|EXCLUSIVE: EINVAL",
			"MOD to the same: EINVAL", "MOD to plain: EINVAL", "DEL: ok", "ADD plain: ok",
			"MOD to exclusive: EINVAL",
		}},
		{"wrong descriptors", func(b *bench) {
			s0, lock := b.listen(511), b.lockFile()
			p := b.process(s0, lock)
			p.do(func() {
				fd, ep := p.fd(s0), epoll(p, in)
				b.ctl(p, "DEL of what is not there", ep, del, fd, 0, 0)
				b.ctl(p, "MOD of what is not there", ep, mod, fd, in, 0)
				b.ctl(p, "ADD", ep, add, fd, in, 0)
				b.ctl(p, "ADD again", ep, add, fd, in, 0)
				b.ctl(p, "ADD no descriptor", ep, add, 999, in, 0)
				b.ctl(p, "ADD to no descriptor", 999, add, fd, in, 0)
				b.ctl(p, "ADD to a listener", fd, add, ep, in, 0)
				b.ctl(p, "ADD to itself", ep, add, ep, in, 0)
				b.ctl(p, "ADD a file", ep, add, p.fd(lock), in, 0)
				b.ctl(p, "no such operation", ep, 4, fd, in, 0)
				b.say("wait on no descriptor: %s", events(p, 999, 1))
				b.say("wait on a listener: %s", events(p, fd, 1))
				b.say("wait for no events: %s", events(p, ep, 0))
			})
		}, []string{
			"DEL of what is not there: ENOENT", "MOD of what is not there: ENOENT", "ADD: ok", "ADD again: EEXIST",
			"ADD no descriptor: EBADF", "ADD to no descriptor: EBADF", "ADD to a listener: EINVAL",
			"ADD to itself: EINVAL", "ADD a file: EPERM", "no such operation: EINVAL",
			"wait on no descriptor: EBADF", "wait on a listener: EINVAL", "wait for no events: EINVAL",
		}},
	})
}

// What is reported when, to one process.
//
//	t0
//	 |
//	e0
//	 |
//	c1   a connection, or eventfds
func TestWhenEventsAreReported(t *testing.T) {
	// script gives f a connection on descriptor s.
	connected := func(f func(b *bench, p proc, s int, c1 client)) func(b *bench) {
		return func(b *bench) {
			s0 := b.listen(511)
			c1 := b.connect(s0)
			p := b.process(s0)
			s := -1
			p.do(func() { s, _ = accept(p, p.fd(s0)) })
			f(b, p, s, c1)
		}
	}
	runScripts(t, []script{
		{"level: until it is read", connected(func(b *bench, p proc, s int, c1 client) {
			c1.send("abc")
			p.do(func() {
				ep := epoll(p, in, s)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
				b.say("recv %s, then %s", recv(p, s), events(p, ep, 8))
			})
		}), []string{`0:IN, 0:IN`, `recv "abc", then nothing`}},
		{"edge: once each time that something comes", connected(func(b *bench, p proc, s int, c1 client) {
			c1.send("abc")
			ep := -1
			p.do(func() {
				ep = epoll(p, all|et, s)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
			})
			c1.send("d")
			p.do(func() {
				b.say("more: %s, %s", events(p, ep, 8), events(p, ep, 8))
				b.say("recv %s, then %s", recv(p, s), events(p, ep, 8))
			})
			c1.closeWrite()
			p.do(func() { b.say("FIN: %s, %s", events(p, ep, 8), events(p, ep, 8)) })
		}), []string{
			"0:IN|OUT, nothing", "more: 0:IN|OUT, nothing", `recv "abcd", then nothing`,
			"FIN: 0:IN|OUT|RDHUP, nothing",
		}},
		{"edge: MOD reports what is there again", connected(func(b *bench, p proc, s int, c1 client) {
			c1.send("abc")
			p.do(func() {
				ep := epoll(p, in|et, s)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
				b.ctl(p, "MOD", ep, mod, s, in|et, 5)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
			})
		}), []string{"0:IN, nothing", "MOD: ok", "5:IN, nothing"}},
		{"ONESHOT: nothing more, errors neither, until MOD", connected(func(b *bench, p proc, s int, c1 client) {
			c1.send("abc")
			ep := -1
			p.do(func() {
				ep = epoll(p, in|once, s)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
			})
			c1.abort()
			p.do(func() {
				b.say("after a RST: %s", events(p, ep, 8))
				b.ctl(p, "MOD", ep, mod, s, in|once, 1)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
			})
		}), []string{"0:IN, nothing", "after a RST: nothing", "MOD: ok", "1:IN|ERR|HUP, nothing"}},
		{"edge: a partial write is no edge, room is", connected(func(b *bench, p proc, s int, c1 client) {
			var ep, sent int
			p.do(func() {
				ep = epoll(p, out|et, s)
				b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
				sent = p.fill(s)
				b.say("full: %s", events(p, ep, 8))
			})
			p.begin(func() {
				text, sleeps := wait(p, ep, 8, -1)
				b.say("room: %s after %d sleep", text, sleeps)
			})
			b.settle()
			c1.drain(sent)
			b.settle()
		}), []string{"0:OUT, nothing", "full: nothing", "room: 0:OUT after 1 sleep"}},
		{"eventfd, edge: each write", func(b *bench) {
			n0 := b.make(sys.Kernel.Eventfd)
			p := b.process(n0)
			p.do(func() {
				fd := p.fd(n0)
				ep := epoll(p, in|et, fd)
				b.say("%s", events(p, ep, 8))
				for range 2 {
					p.Write(fd, one[:])
					b.say("%s, %s", events(p, ep, 8), events(p, ep, 8))
				}
				var buf [8]byte
				n, err := p.Read(fd, buf[:])
				b.say("read: %d %s, %d and %d", n, name(err), buf[0], buf[7])
				_, err = p.Read(fd, buf[:])
				b.say("read again: %s", name(err))
				b.say("%s", events(p, ep, 8))
				_, err = p.Read(fd, buf[:7])
				b.say("a short read: %s", name(err))
				_, err = p.Write(fd, buf[:7])
				b.say("a short write: %s", name(err))
				_, err = p.Write(fd, []byte{255, 255, 255, 255, 255, 255, 255, 255})
				b.say("a write of all ones: %s", name(err))
				p.Write(fd, binary.NativeEndian.AppendUint64(nil, math.MaxUint64-1))
				_, err = p.Write(fd, one[:])
				b.say("a write that overflows: %s", name(err))
			})
		}, []string{
			"nothing", "0:IN, nothing", "0:IN, nothing", "read: 8 ok, 2 and 2", "read again: EAGAIN", "nothing",
			"a short read: EINVAL", "a short write: EINVAL", "a write of all ones: EINVAL",
			"a write that overflows: EAGAIN",
		}},
		{"level: what was reported goes to the end", func(b *bench) {
			n := []file{b.make(sys.Kernel.Eventfd), b.make(sys.Kernel.Eventfd), b.make(sys.Kernel.Eventfd)}
			p := b.process(n...)
			p.do(func() {
				ep := epoll(p, in, p.fd(n[0]), p.fd(n[1]), p.fd(n[2]))
				for _, i := range []int{1, 2, 0} { // the list is in the order they became ready
					p.Write(p.fd(n[i]), one[:])
				}
				b.say("%s; %s; %s", events(p, ep, 2), events(p, ep, 1), events(p, ep, 8))
			})
		}, []string{"1:IN 2:IN; 0:IN; 1:IN 2:IN 0:IN"}},
		{"edge: what did not fit stays first", func(b *bench) {
			n := []file{b.make(sys.Kernel.Eventfd), b.make(sys.Kernel.Eventfd), b.make(sys.Kernel.Eventfd)}
			p := b.process(n...)
			p.do(func() {
				ep := epoll(p, in|et, p.fd(n[0]), p.fd(n[1]), p.fd(n[2]))
				for _, f := range n {
					p.Write(p.fd(f), one[:])
				}
				b.say("%s", events(p, ep, 1))
				p.Write(p.fd(n[0]), one[:])
				b.say("%s; %s", events(p, ep, 8), events(p, ep, 8))
			})
		}, []string{"0:IN", "1:IN 2:IN 0:IN; nothing"}},
	})
}

// A registration belongs to the open file and goes when the last descriptor of
// it does, not when the descriptor goes that it was made with.
func TestRegistrationLivesAsLongAsTheFile(t *testing.T) {
	runScripts(t, []script{
		{"a duplicate", func(b *bench) {
			n0, n1 := b.make(sys.Kernel.Eventfd), b.make(sys.Kernel.Eventfd)
			p := b.process(n0, n1)
			b.drop(n0, n1)
			p.do(func() {
				fd := p.fd(n0)
				ep := epoll(p, in, fd)
				p.Write(fd, one[:])
				second := p.dup(fd)
				b.say("close: %s, then %s", name(p.Close(fd)), events(p, ep, 8))
				b.ctl(p, "DEL of the closed number", ep, del, fd, 0, 0)
				b.ctl(p, "DEL of the duplicate", ep, del, second, 0, 0)
				b.say("the number is given away again: %v", p.dup(p.fd(n1)) == fd)
				b.ctl(p, "ADD of the new file", ep, add, fd, in, 7)
				p.Write(fd, one[:])
				b.say("both: %s", events(p, ep, 8))
				b.say("close the duplicate: %s, then %s", name(p.Close(second)), events(p, ep, 8))
			})
		}, []string{
			"close: ok, then 0:IN", "DEL of the closed number: EBADF", "DEL of the duplicate: ENOENT",
			"the number is given away again: true", "ADD of the new file: ok",
			"both: 0:IN 7:IN", "close the duplicate: ok, then 7:IN",
		}},
		{"a descriptor of another process", func(b *bench) {
			n0 := b.make(sys.Kernel.Eventfd)
			p0, p1 := b.process(n0), b.process(n0)
			b.drop(n0)
			var ep int
			p0.do(func() {
				fd := p0.fd(n0)
				ep = epoll(p0, in, fd)
				p0.Write(fd, one[:])
				p0.Close(fd)
				b.say("closed here: %s", events(p0, ep, 8))
			})
			p1.exit()
			p0.do(func() { b.say("the other process is dead: %s", events(p0, ep, 8)) })
		}, []string{"closed here: 0:IN", "the other process is dead: nothing"}},
		{"a message under way", func(b *bench) {
			n0 := b.make(sys.Kernel.Eventfd)
			a, z := b.pair()
			p := b.process(n0, a, z)
			b.drop(n0)
			p.do(func() {
				fd := p.fd(n0)
				ep := epoll(p, in, fd)
				p.Write(fd, one[:])
				p.Sendmsg(p.fd(a), []byte("x"), fd)
				p.Close(fd)
				b.say("sent and closed: %s", events(p, ep, 8))
				b.say("recv without room for it: %s, then %s", recv(p, p.fd(z)), events(p, ep, 8))
			})
		}, []string{"sent and closed: 0:IN", `recv without room for it: "x", then nothing`}},
		{"the epoll instance closed", func(b *bench) {
			s0 := b.listen(511)
			one, two := sleepers(b, s0, in|excl)[0], sleepers(b, s0, in|excl)[0]
			one.do(func() { one.Close(one.ep) })
			two.wait(b)
			b.connect(s0)
			report(b, two)
		}, []string{"t0: 0:IN, slept 1 times"}},
	})
}
