package fake_test

import (
	"fmt"
	"sync"
	"testing"

	"herd/nginxref/sys"
)

// try takes the lock if it is free, and says what came of it.
func try(b *bench, p proc, who string, fd int) {
	p.do(func() { b.say("%s: %s", who, name(p.FcntlLock(fd, true, false))) })
}

func unlock(p proc, fd int) {
	p.do(func() { p.FcntlLock(fd, false, false) })
}

// The record lock of a file belongs to a process: what that means is what
// catches people.
//
//	t0  t1
//	  \ /
//	  f0   one open file
func TestRecordLocks(t *testing.T) {
	// with gives f two processes that share one open file.
	with := func(f func(b *bench, f0 file, p0, p1 proc)) func(b *bench) {
		return func(b *bench) {
			f0 := b.lockFile()
			f(b, f0, b.process(f0), b.process(f0))
		}
	}
	runScripts(t, []script{
		{"exclude processes, though they share the open file", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			try(b, p1, "t1", p1.fd(f0))
			unlock(p1, p1.fd(f0))
			try(b, p1, "t1, after an unlock of its own", p1.fd(f0))
			unlock(p0, p0.fd(f0))
			try(b, p1, "t1, after t0's", p1.fd(f0))
		}), []string{"t0: ok", "t1: EAGAIN", "t1, after an unlock of its own: EAGAIN", "t1, after t0's: ok"}},
		{"a second lock by the same process succeeds", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			try(b, p0, "t0", p0.fd(f0))
			unlock(p0, p0.fd(f0))
			try(b, p1, "one unlock was enough, t1", p1.fd(f0))
		}), []string{"t0: ok", "t0: ok", "one unlock was enough, t1: ok"}},
		{"closing a duplicate drops it", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			p0.do(func() { p0.Close(p0.dup(p0.fd(f0))) })
			try(b, p1, "t1", p1.fd(f0))
		}), []string{"t0: ok", "t1: ok"}},
		{"closing another open file of it drops it", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			p0.do(func() { p0.Close(p0.reopen(p0.fd(f0))) })
			try(b, p1, "t1", p1.fd(f0))
		}), []string{"t0: ok", "t1: ok"}},
		{"closing the other process's descriptor does not", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			other := -1
			p1.do(func() {
				other = p1.reopen(p1.fd(f0))
				p1.Close(p1.fd(f0))
			})
			try(b, p1, "t1", other)
		}), []string{"t0: ok", "t1: EAGAIN"}},
		{"death drops it", with(func(b *bench, f0 file, p0, p1 proc) {
			try(b, p0, "t0", p0.fd(f0))
			p0.exit()
			try(b, p1, "t1", p1.fd(f0))
		}), []string{"t0: ok", "t1: ok"}},
		{"no descriptor", with(func(b *bench, f0 file, p0, p1 proc) { try(b, p0, "t0", 999) }),
			[]string{"t0: EBADF"}},
	})
}

// Processes that sleep in F_SETLKW get the lock in the order they came.
func TestWaitingForARecordLock(t *testing.T) {
	runScripts(t, []script{
		{"first come, first served", func(b *bench) {
			f0 := b.lockFile()
			procs := []proc{b.process(f0), b.process(f0), b.process(f0)}
			try(b, procs[0], "t0", procs[0].fd(f0))
			var mu sync.Mutex
			order := "t0"
			for i, p := range procs[1:] {
				p.begin(func() {
					p.FcntlLock(p.fd(f0), true, true)
					mu.Lock()
					order += fmt.Sprint(" t", i+1)
					mu.Unlock()
				})
				b.settle()
			}
			b.say("%v %v wait", procs[1].busy(), procs[2].busy())
			unlock(procs[0], procs[0].fd(f0))
			b.settle()
			b.say("%v %v wait", procs[1].busy(), procs[2].busy())
			try(b, procs[0], "t0 again", procs[0].fd(f0))
			procs[1].exit()
			b.settle()
			mu.Lock()
			b.say("%s", order)
			mu.Unlock()
		}, []string{"t0: ok", "true true wait", "false true wait", "t0 again: EAGAIN", "t0 t1 t2"}},
	})
}

// Processes that sleep on a word are woken in the order they came.
func TestFutex(t *testing.T) {
	runScripts(t, []script{{"three processes", func(b *bench) {
		word := b.futex()
		word.Store(1)
		procs := []proc{b.process(), b.process(), b.process(), b.process()}
		ringer := procs[3]
		ringer.do(func() {
			b.say("another value: %s", name(ringer.FutexWait(word, 0)))
			n, err := ringer.FutexWake(word, 1)
			b.say("nobody there: %d %s", n, name(err))
		})
		got := make([]sys.Errno, 3)
		for i, p := range procs[:3] {
			got[i] = sys.EINVAL
			p.begin(func() { got[i] = p.FutexWait(word, 1) })
			b.settle()
		}
		wake := func(n int) {
			ringer.do(func() {
				woken, err := ringer.FutexWake(word, n)
				b.say("woken: %d %s", woken, name(err))
			})
			b.settle()
			b.say("asleep: %v %v %v", procs[0].busy(), procs[1].busy(), procs[2].busy())
		}
		wake(1)
		wake(5)
		b.say("%s %s %s", name(got[0]), name(got[1]), name(got[2]))
	}, []string{
		"another value: EAGAIN", "nobody there: 0 ok",
		"woken: 1 ok", "asleep: false true true",
		"woken: 2 ok", "asleep: false false false", "ok ok ok",
	}}})
}
