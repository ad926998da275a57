package fake

import (
	"fmt"

	"herd/nginxref/sys"
)

// The processes share the memory of the one program that all of them are part
// of; so any word will do, and its address is its identity.

func (p *Process) AtomicLoad(word *sys.Atomic) uint64 {
	p.begin(AtomicLoad, false)
	v := word.Load()
	p.end(func() string { return fmt.Sprintf("load(%s) = %d", p.w.wordName(word), int64(v)) })
	return v
}

func (p *Process) AtomicCmpSet(word *sys.Atomic, old, set uint64) bool {
	p.begin(AtomicCmpSet, false)
	done := word.CompareAndSwap(old, set)
	p.end(func() string {
		return fmt.Sprintf("cmpset(%s, %d, %d) = %v", p.w.wordName(word), int64(old), int64(set), done)
	})
	return done
}

func (p *Process) AtomicFetchAdd(word *sys.Atomic, delta int64) uint64 {
	p.begin(AtomicFetchAdd, false)
	v := word.Add(uint64(delta)) - uint64(delta)
	p.end(func() string { return fmt.Sprintf("fetchadd(%s, %d) = %d", p.w.wordName(word), delta, int64(v)) })
	return v
}

func (p *Process) FutexLoad(word *sys.Futex) uint32 {
	p.begin(AtomicLoad, false)
	v := word.Load()
	p.end(func() string { return fmt.Sprintf("load(%s) = %d", p.w.wordName(word), v) })
	return v
}

func (p *Process) FutexCmpSet(word *sys.Futex, old, set uint32) bool {
	p.begin(AtomicCmpSet, false)
	done := word.CompareAndSwap(old, set)
	p.end(func() string { return fmt.Sprintf("cmpset(%s, %d, %d) = %v", p.w.wordName(word), old, set, done) })
	return done
}

func (p *Process) FutexWait(word *sys.Futex, value uint32) sys.Errno {
	err := p.begin(FutexWait, false)
	if err == 0 {
		err = p.futexWait(word, value)
	}
	p.end(func() string { return fmt.Sprintf("futex_wait(%s, %d) = %s", p.w.wordName(word), value, ret(0, err)) })
	return err
}

func (p *Process) futexWait(word *sys.Futex, value uint32) sys.Errno {
	if word.Load() != value {
		return sys.EAGAIN
	}
	p.note(func() string { return fmt.Sprintf("futex_wait(%s, %d) sleeps", p.w.wordName(word), value) })
	switch p.sleepOn(p.w.futex(word), &waiter{exclusive: true}) {
	case interrupted, continued:
		return sys.EINTR
	}
	return 0
}

// FutexWake wakes the processes that have slept longest.
func (p *Process) FutexWake(word *sys.Futex, n int) (woken int, err sys.Errno) {
	err = p.begin(FutexWake, false)
	if q := p.w.futex(word); err == 0 {
		for ; woken < n && len(*q) > 0; woken++ {
			q.wake(0)
		}
	}
	p.end(func() string { return fmt.Sprintf("futex_wake(%s, %d) = %s", p.w.wordName(word), n, ret(woken, err)) })
	return woken, err
}

// futex returns the queue of those who sleep on word.
func (w *World) futex(word *sys.Futex) *waitQueue {
	q := w.futexes[word]
	if q == nil {
		q = &waitQueue{}
		w.futexes[word] = q
	}
	return q
}

// CPUPause lets the others go on: who spins waits for one of them.
func (p *Process) CPUPause() {
	p.begin(CPUPause, false)
	p.end(func() string { return "pause" })
}

func (p *Process) SchedYield() {
	p.begin(SchedYield, false)
	p.end(func() string { return "sched_yield()" })
}

// The clock and the own pid are nothing that another process could change.

func (p *Process) Getpid() int           { return p.Pid }
func (p *Process) MonotonicNsec() uint64 { return p.w.now }

func (p *Process) Gettimeofday() (sec int64, msec int) {
	since := p.w.now - bootNsec
	return bootUnix + int64(since/1e9), int(since / 1e6 % 1e3)
}
