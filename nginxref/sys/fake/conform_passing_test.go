package fake_test

import (
	"fmt"
	"strings"
	"testing"

	"herd/nginxref/sys"
)

// recvmsg returns what one recvmsg of up to size bytes gives. It closes the
// descriptor that came.
func recvmsg(p proc, fd, size int) string {
	buf := make([]byte, size)
	m, err := p.Recvmsg(fd, buf)
	if err != 0 {
		return name(err)
	}
	text := fmt.Sprintf("%d bytes", m.N)
	if m.N < 20 {
		text = fmt.Sprintf("%q", buf[:m.N])
	}
	if m.Fd != -1 {
		text += " and a descriptor"
		p.Close(m.Fd)
	}
	if m.Truncated {
		text += ", truncated"
	}
	return text
}

// Descriptors over a stream (CASES D20, D21).
//
//	t0
//	/ \
//	a--z
func TestDescriptorPassing(t *testing.T) {
	with := func(f func(b *bench, p proc, a, z int)) func(b *bench) {
		return func(b *bench) {
			fa, fz := b.pair()
			p := b.process(fa, fz)
			b.drop(fa, fz)
			p.do(func() { f(b, p, p.fd(fa), p.fd(fz)) })
		}
	}
	runScripts(t, []script{
		{"bytes of two descriptors stay apart, plain ones before join", with(func(b *bench, p proc, a, z int) {
			p.Sendmsg(a, []byte("plain"), -1)
			p.Sendmsg(a, []byte("1"), a)
			p.Sendmsg(a, []byte("2"), z)
			p.Sendmsg(a, []byte("plain"), -1)
			for range 4 {
				b.say("%s", recvmsg(p, z, 64))
			}
		}), []string{`"plain1" and a descriptor`, `"2" and a descriptor`, `"plain"`, "EAGAIN"}},
		{"it comes with the first byte", with(func(b *bench, p proc, a, z int) {
			p.Sendmsg(a, []byte("abcdef"), a)
			p.Sendmsg(a, []byte("plain"), -1)
			for range 3 {
				b.say("%s", recvmsg(p, z, 4))
			}
		}), []string{`"abcd" and a descriptor`, `"efpl"`, `"ain"`}},
		{"it needs a byte", with(func(b *bench, p proc, a, z int) {
			n, err := p.Sendmsg(a, nil, a)
			b.say("%d %s, %s", n, name(err), recvmsg(p, z, 4))
		}), []string{"0 ok, EAGAIN"}},
		{"a large message", with(func(b *bench, p proc, a, z int) {
			n, err := p.Sendmsg(a, []byte(strings.Repeat("x", 20000)), a)
			b.say("%d %s", n, name(err))
			for range 3 {
				b.say("%s", recvmsg(p, z, 8000))
			}
		}), []string{"20000 ok", "8000 bytes and a descriptor", "8000 bytes", "4000 bytes"}},
		{"two where one has room", with(func(b *bench, p proc, a, z int) {
			p.sendFds(a, "x", a, z)
			b.say("%s", recvmsg(p, z, 4))
			p.Sendmsg(a, []byte("y"), -1)
			b.say("%s", recvmsg(p, z, 4))
		}), []string{`"x" and a descriptor, truncated`, `"y"`}},
		{"no descriptor to spare", with(func(b *bench, p proc, a, z int) {
			p.Sendmsg(a, []byte("x"), a)
			p.full(true)
			b.say("%s", recvmsg(p, z, 4))
			p.full(false)
			b.say("%s", recvmsg(p, z, 4))
		}), []string{`"x", truncated`, "EAGAIN"}},
		{"no descriptor to pass", with(func(b *bench, p proc, a, z int) {
			_, err := p.Sendmsg(a, []byte("x"), 999)
			b.say("%s, %s", name(err), recvmsg(p, z, 4))
		}), []string{"EBADF, EAGAIN"}},
		// CASES D22.
		{"how much fits", with(func(b *bench, p proc, a, z int) {
			n := 0
			for err := sys.Errno(0); err == 0; n++ {
				_, err = p.Sendmsg(a, make([]byte, 32), a)
				if err != 0 {
					b.say("%d messages, then %s", n, name(err))
				}
			}
			ep := epoll(p, out|et, a)
			b.say("full: %s", events(p, ep, 1))
			buf := make([]byte, 32)
			for read := 1; ; read++ {
				m, _ := p.Recvmsg(z, buf)
				p.Close(m.Fd)
				if got := events(p, ep, 1); got != "nothing" {
					b.say("after reading %d: %s, %s", read, got, events(p, ep, 1))
					break
				}
			}
		}), []string{"278 messages, then EAGAIN", "full: nothing", "after reading 209: 0:OUT, nothing"}},
		{"the end is closed", with(func(b *bench, p proc, a, z int) {
			p.Sendmsg(a, []byte("x"), a)
			b.say("before: %s, %s", state(p, a), state(p, z))
			p.Close(z)
			b.say("data unread: %s", state(p, a))
			_, err := p.Sendmsg(a, []byte("x"), -1)
			b.say("sendmsg: %s, recv: %s, then %s", name(err), recv(p, a), recv(p, a))
		}), []string{
			"before: OUT, IN|OUT", "data unread: IN|OUT|RDHUP|ERR|HUP", "sendmsg: EPIPE, recv: ECONNRESET, then end",
		}},
		{"the end is closed, nothing unread", with(func(b *bench, p proc, a, z int) {
			p.Sendmsg(z, []byte("x"), -1)
			p.Close(z)
			b.say("%s, recv: %s, then %s", state(p, a), recv(p, a), recv(p, a))
			_, err := p.Sendmsg(a, []byte("x"), -1)
			b.say("sendmsg: %s", name(err))
		}), []string{`IN|OUT|RDHUP|HUP, recv: "x", then end`, "sendmsg: EPIPE"}},
		{"shutdown", with(func(b *bench, p proc, a, z int) {
			p.Send(a, []byte("x"))
			p.Shutdown(a)
			b.say("%s and %s", state(p, a), state(p, z))
			b.say("recv: %s, then %s; send: %s, back: %s", recv(p, z), recv(p, z), send(p, a), send(p, z))
		}), []string{"OUT and IN|OUT|RDHUP", `recv: "x", then end; send: EPIPE, back: 1`}},
		{"writev", with(func(b *bench, p proc, a, z int) {
			n, err := p.Writev(a, [][]byte{[]byte("a"), nil, []byte("bc"), {}})
			b.say("%d %s, %s", n, name(err), recv(p, z))
			n, err = p.Writev(a, nil)
			b.say("%d %s", n, name(err))
		}), []string{`3 ok, "abc"`, "0 ok"}},
	})
}

// A process that dies closes what it has: its peer hears of it.
func TestDeathClosesDescriptors(t *testing.T) {
	runScripts(t, []script{{"the last descriptor of one end", func(b *bench) {
		fa, fz := b.pair()
		p0, p1, p2 := b.process(fa), b.process(fz), b.process(fz)
		b.drop(fa, fz)
		p1.exit()
		p0.do(func() { b.say("one of two dead: %s", state(p0, p0.fd(fa))) })
		p2.exit()
		p0.do(func() { b.say("both: %s", state(p0, p0.fd(fa))) })
	}, []string{"one of two dead: OUT", "both: IN|OUT|RDHUP|HUP"}}})
}
