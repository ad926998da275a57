package fake

import (
	"time"

	"herd/nginxref/sys"
)

// Setitimer has the process interrupted every msec milliseconds. There is no
// handler to run: only a sleeping call notices.
func (p *Process) Setitimer(msec uint64) sys.Errno {
	p.itimer++
	if msec != 0 {
		p.alarm(p.itimer, time.Duration(msec)*time.Millisecond)
	}
	return 0
}

// alarm interrupts the process after every, again and again, until the timer
// that is the n-th it has set is no longer the last.
func (p *Process) alarm(n int, every time.Duration) {
	p.w.After(every, func() {
		if p.Dead() || p.itimer != n {
			return
		}
		p.Interrupt()
		p.alarm(n, every)
	})
}
