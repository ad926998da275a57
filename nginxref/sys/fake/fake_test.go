package fake_test

import (
	"fmt"
	"testing"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// worker is the smallest accept loop: one connection a turn, closed at once.
func worker(ls *fake.Listener, bits uint32) func(*fake.Process) {
	return func(p *fake.Process) {
		ep, _ := p.EpollCreate()
		p.EpollCtl(ep, sys.EPOLL_CTL_ADD, p.Fd(ls), sys.MakeEpollEvent(bits, 0))
		list := make([]sys.EpollEvent, 8)
		var sa sys.Sockaddr
		for {
			p.EpollWait(ep, list, -1)
			if s, err := p.Accept4(p.Fd(ls), &sa); err == 0 {
				p.Close(s)
			}
		}
	}
}

// The thundering herd, counted exactly (CASES A01): N wakeups a connection, of
// which N-1 find nothing and do not even return.
//
//	t0  t1  ...
//	 |   |
//	e0  e1  ...
//	  \  |
//	    s0
func TestHerdWakesAllForEachConnection(t *testing.T) {
	for _, n := range []int{1, 2, 8, 32} {
		fake.Run(func(w *fake.World) {
			s0 := w.Listen()
			for i := range n {
				w.Start(fmt.Sprintf("worker %d", i+1), worker(s0, sys.EPOLLIN), s0)
			}
			w.Settle()
			for range 3 {
				before := w.Total()
				w.Connect(s0)
				w.Settle()
				got := w.Total().Since(before)
				w.Expect("a connection wakes all", got.Wakeups, n)
				w.Expect("all but one sleep again", got.Silent, n-1)
				w.Expect("one returns", got.ReturnsEvents, 1)
				w.Expect("nobody accepts in vain", got.AcceptAgain, 0)
			}
		}, fake.Options{}).Check(t)
	}
}

// What a call costs while nothing is traced, as when exploring.
func BenchmarkCall(b *testing.B) {
	fake.Explore(func(w *fake.World) {
		var word sys.Atomic
		w.Start("p", func(p *fake.Process) {
			for range b.N {
				p.AtomicLoad(&word)
			}
		})
		w.Start("q", func(p *fake.Process) {})
		w.Settle()
	}, fake.Options{Steps: b.N + 1}).Check(b)
}

// What a schedule costs: four workers and three connections.
func BenchmarkSchedule(b *testing.B) {
	for range b.N {
		fake.Explore(func(w *fake.World) {
			s0 := w.Listen()
			for i := range 4 {
				w.Start(fmt.Sprint("p", i), worker(s0, sys.EPOLLIN), s0)
			}
			for range 3 {
				w.Settle()
				w.Connect(s0)
			}
			w.Settle()
		}, fake.Options{}).Check(b)
	}
}
