package fake_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// stopped is what happens when the first of two processes that watch a
// listener with EPOLLEXCLUSIVE is stopped in epoll_wait.
var stopped = []string{
	"the other is woken: 0:IN",
	"the one that is continued: EINTR",
}

// A process that is stopped is in no wait queue: an exclusive wakeup goes to
// the next. When it is continued its epoll_wait returns EINTR, though it has
// no handler for any signal (signal(7)).
//
//	t0  t1    t0 is stopped
//	 |   |
//	e0  e1    EXCLUSIVE
//	  \  |
//	    s0
func TestStoppedProcessIsInNoQueue(t *testing.T) {
	fake.Run(func(w *fake.World) {
		s0 := w.Listen()
		got := make([]string, 2)
		var procs []*fake.Process
		for i := range got {
			p := w.Process([]string{"t0", "t1"}[i], s0)
			procs = append(procs, p)
			p.Do(func() {
				ep := epoll(&modelProc{p}, in|excl, p.Fd(s0))
				list := make([]sys.EpollEvent, 1)
				n, err := p.EpollWait(ep, list, -1)
				if got[i] = name(err); err == 0 && n == 1 {
					got[i] = "0:" + fake.BitNames(list[0].Events)
				}
			})
		}
		procs[0].Stop()
		w.Connect(s0)
		w.Settle()
		w.Expect("a stopped process does not run", got[0], "")
		lines := []string{"the other is woken: " + got[1]}
		procs[0].Continue()
		w.Settle()
		lines = append(lines, "the one that is continued: "+got[0])
		w.Expect("it is as on Linux", cmp.Diff(stopped, lines), "")
	}, fake.Options{}).Check(t)
}
