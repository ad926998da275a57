package fake_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"herd/nginxref/sys"
)

// sleeper is a process with an epoll instance of its own that watches one
// descriptor, and an eventfd to wake it by.
type sleeper struct {
	proc
	ep   int
	bell file // an eventfd

	mu     sync.Mutex // below
	got    string
	sleeps int
}

// result returns what the process got, and how often it slept.
func (p *sleeper) result() (string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got, p.sleeps
}

func (p *sleeper) set(got string, sleeps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got, p.sleeps = got, sleeps
}

// sleepers makes one process for each of bits; all share f.
func sleepers(b *bench, f file, bits ...uint32) (all []*sleeper) {
	for _, bit := range bits {
		bell := b.make(sys.Kernel.Eventfd)
		p := &sleeper{proc: b.process(f, bell), bell: bell}
		p.do(func() {
			p.ep = epoll(p, bit, p.fd(f))
			p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, p.fd(bell), sys.MakeEpollEvent(sys.EPOLLIN, 9))
		})
		all = append(all, p)
	}
	return all
}

// wait has the process wait for events, and returns when it sleeps.
func (p *sleeper) wait(b *bench) {
	p.set("asleep", 0)
	p.begin(func() { p.set(wait(p, p.ep, 8, -1)) })
	b.settle()
}

// report says what each process got; those that sleep are then woken by their
// bell, which shows whether they were woken before and slept again.
func report(b *bench, all ...*sleeper) {
	b.settle()
	for i, p := range all {
		text, sleeps := p.result()
		if text == "asleep" {
			b.ring(p.bell)
			b.settle()
			text += " until the bell"
			_, sleeps = p.result()
		}
		b.say("t%d: %s, slept %d times", i, text, sleeps)
	}
}

// One connection on a listener that processes watch, each through an epoll
// instance of its own. Nobody accepts it, so that every process that is woken
// returns.
//
//	t0  t1  t2
//	 |   |   |
//	e0  e1  e2
//	  \  |  /
//	    s0
func TestWhoIsWokenByAConnection(t *testing.T) {
	const (
		in        = sys.EPOLLIN
		et        = sys.EPOLLIN | sys.EPOLLET
		exclusive = sys.EPOLLIN | sys.EPOLLEXCLUSIVE
	)
	woken := "0:IN, slept 1 times"
	not := "asleep until the bell, slept 1 times"
	var scripts []script
	for _, c := range []struct {
		name string
		bits []uint32
		want []string
	}{
		{"level", []uint32{in, in, in}, []string{woken, woken, woken}},
		{"edge", []uint32{et, et, et}, []string{woken, woken, woken}},
		{"exclusive", []uint32{exclusive, exclusive, exclusive}, []string{woken, not, not}},
		{"exclusive edge", []uint32{exclusive | sys.EPOLLET, exclusive | sys.EPOLLET}, []string{woken, not}},
		{"one is not exclusive", []uint32{exclusive, exclusive, in}, []string{woken, not, woken}},
		{"exclusive for output", []uint32{sys.EPOLLOUT | sys.EPOLLEXCLUSIVE, exclusive}, []string{not, woken}},
	} {
		s := script{name: c.name, run: func(b *bench) {
			s0 := b.listen(511)
			all := sleepers(b, s0, c.bits...)
			for i := len(all) - 1; i >= 0; i-- { // who falls asleep last does not matter
				all[i].wait(b)
			}
			b.connect(s0)
			report(b, all...)
		}}
		for i, w := range c.want {
			s.want = append(s.want, fmt.Sprintf("t%d: %s", i, w))
		}
		scripts = append(scripts, s)
	}
	runScripts(t, scripts)
}

func TestExclusiveWakeups(t *testing.T) {
	const exclusive = sys.EPOLLIN | sys.EPOLLEXCLUSIVE
	runScripts(t, []script{
		{"a process that is not in epoll_wait is passed over", func(b *bench) {
			s0 := b.listen(511)
			all := sleepers(b, s0, exclusive, exclusive, exclusive)
			all[1].wait(b)
			all[2].wait(b)
			b.connect(s0)
			report(b, all[1], all[2])
			all[0].do(func() { b.say("the first: %s", events(all[0], all[0].ep, 8)) })
		}, []string{
			"t0: 0:IN, slept 1 times",
			"t1: asleep until the bell, slept 1 times",
			"the first: 0:IN",
		}},
		{"two connections wake two", func(b *bench) {
			s0 := b.listen(511)
			all := sleepers(b, s0, exclusive, exclusive, exclusive)
			for _, p := range all {
				p.wait(b)
			}
			b.connect(s0)
			b.connect(s0)
			report(b, all...)
		}, []string{
			"t0: 0:IN, slept 1 times",
			"t1: 0:IN, slept 1 times",
			"t2: asleep until the bell, slept 1 times",
		}},
		{"deleted and added again is last", func(b *bench) {
			s0 := b.listen(511)
			all := sleepers(b, s0, exclusive, exclusive)
			p := all[0]
			p.do(func() {
				p.EpollCtl(p.ep, sys.EPOLL_CTL_DEL, p.fd(s0), sys.EpollEvent{})
				p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, p.fd(s0), sys.MakeEpollEvent(exclusive, 0))
			})
			all[0].wait(b)
			all[1].wait(b)
			b.connect(s0)
			report(b, all...)
		}, []string{
			"t0: asleep until the bell, slept 1 times",
			"t1: 0:IN, slept 1 times",
		}},
	})
}

// A woken process looks again. If there is nothing to report it sleeps again
// without returning: the wakeup that only the count of sleeps shows. Here the
// peer's FIN wakes a process that waits for room to send.
//
//	t0
//	 | (OUT)
//	e0
//	 |
//	c1   its buffers are full
func TestWakeupWithoutEventIsSilent(t *testing.T) {
	runScripts(t, []script{{"FIN while waiting to send", func(b *bench) {
		s0 := b.listen(511)
		c1 := b.connect(s0)
		p := sleepers(b, s0, 0)[0]
		sent := 0
		p.do(func() {
			s, _ := accept(p, p.fd(s0))
			sent = p.fill(s)
			p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, s, sys.MakeEpollEvent(sys.EPOLLOUT, 1))
		})
		p.wait(b)
		c1.closeWrite()
		b.settle()
		got, _ := p.result()
		b.say("after the FIN: %s", got)
		c1.drain(sent)
		report(b, p)
	}, []string{
		"after the FIN: asleep",
		"t0: 1:OUT, slept 2 times",
	}}})
}

// Two processes that have inherited one epoll instance. The one that fell
// asleep last is woken. A level-triggered event stays on the list, and so the
// other is woken as well.
//
//	t0  t1
//	  \ /
//	  e0
//	   |
//	  s0
func TestSharedEpollInstance(t *testing.T) {
	share := func(bits uint32) func(b *bench) {
		return func(b *bench) {
			s0, bell := b.listen(511), b.make(sys.Kernel.Eventfd)
			e0 := b.make(sys.Kernel.EpollCreate)
			var all []*sleeper
			for range 2 {
				p := &sleeper{proc: b.process(s0, e0, bell), bell: bell}
				p.ep = p.fd(e0)
				all = append(all, p)
			}
			all[0].do(func() {
				p := all[0]
				p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, p.fd(s0), sys.MakeEpollEvent(bits, 0))
				p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, p.fd(bell), sys.MakeEpollEvent(sys.EPOLLIN, 9))
			})
			all[0].wait(b)
			all[1].wait(b)
			b.connect(s0)
			report(b, all...)
		}
	}
	runScripts(t, []script{
		{"level", share(sys.EPOLLIN), []string{
			"t0: 0:IN, slept 1 times",
			"t1: 0:IN, slept 1 times",
		}},
		{"edge", share(sys.EPOLLIN | sys.EPOLLET), []string{
			"t0: asleep until the bell, slept 1 times",
			"t1: 0:IN, slept 1 times",
		}},
	})
}

// The accept loop with EPOLLEXCLUSIVE, 200 connections one after the other
// (CASES A03).
//
//	t0  t1  t2  t3
//	 |   |   |   |
//	e0  e1  e2  e3    EXCLUSIVE
//	  \  |   |  /
//	      s0
func TestExclusiveSharesWithAndWithoutReadding(t *testing.T) {
	const exclusive = sys.EPOLLIN | sys.EPOLLEXCLUSIVE
	shares := func(readd bool) func(b *bench) {
		return func(b *bench) {
			s0 := b.listen(511)
			all := sleepers(b, s0, exclusive, exclusive, exclusive, exclusive)
			var mu sync.Mutex
			var order []int // who accepted, in turn
			stop := false
			stopped := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return stop
			}
			for i, p := range all {
				p.begin(func() {
					for n := 0; ; n++ {
						if wait(p, p.ep, 8, -1); stopped() {
							return
						}
						s, _ := accept(p, p.fd(s0))
						p.Close(s)
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
						if readd && n%16 == 0 {
							p.EpollCtl(p.ep, sys.EPOLL_CTL_DEL, p.fd(s0), sys.EpollEvent{})
							p.EpollCtl(p.ep, sys.EPOLL_CTL_ADD, p.fd(s0), sys.MakeEpollEvent(exclusive, 0))
						}
					}
				})
			}
			b.settle()
			for range 200 {
				b.connect(s0)
				b.settle()
			}
			mu.Lock()
			stop = true
			mu.Unlock()
			for _, p := range all {
				b.ring(p.bell)
			}
			b.settle()
			got := make([]int, len(all))
			for _, i := range order {
				got[i]++
			}
			b.say("shares %v", got)
			b.say("first 40: %v", order[:40])
			b.say("others: %v", slices.Compact(order[40:]))
		}
	}
	runScripts(t, []script{
		{"without", shares(false), []string{
			"shares [200 0 0 0]",
			"first 40: " + fmt.Sprint(make([]int, 40)),
			"others: [0]",
		}},
		// Each accepts one, and then 16 in a row.
		{"with", shares(true), []string{
			"shares [53 49 49 49]",
			"first 40: [0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 2 2 2]",
			"others: [2 3 0 1 2 3 0 1 2 3 0]",
		}},
	})
}
