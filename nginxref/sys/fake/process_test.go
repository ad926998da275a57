package fake_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// run runs a scenario that must not fail.
func run(t *testing.T, scenario func(w *fake.World)) {
	t.Helper()
	fake.Run(scenario, fake.Options{}).Check(t)
}

func TestFaultsReplaceTheNthCall(t *testing.T) {
	run(t, func(w *fake.World) {
		s0 := w.Listen()
		w.Connect(s0)
		p := &modelProc{w.Process("p", s0)}
		p.Fail(fake.Accept4, 2, sys.ECONNABORTED)
		p.Fail(fake.Accept4, 3, sys.EMFILE)
		p.Fail(fake.EpollCreate, 1, sys.ENFILE)
		var got []string
		p.do(func() {
			for range 4 {
				_, err := accept(p, 3)
				got = append(got, name(err))
			}
			_, err := p.EpollCreate()
			got = append(got, name(err))
			_, err = p.EpollCreate()
			got = append(got, name(err))
		})
		w.Expect("the 2nd and the 3rd fail", strings.Join(got, " "), "ok ECONNABORTED EMFILE EAGAIN ENFILE ok")
		w.Expect("results are counted", fmt.Sprint(p.Counts.Accepted, p.Counts.AcceptAgain,
			p.Counts.AcceptMfile, p.Counts.AcceptOther), "1 1 1 1")
	})
}

// SIGKILL comes before the call takes effect, and runs no deferred function.
func TestKillAtACall(t *testing.T) {
	for n := 1; n <= 4; n++ {
		deferred := false
		run(t, func(w *fake.World) {
			var word sys.Atomic
			p := w.Start("p", func(p *fake.Process) {
				defer func() {
					deferred = true
					p.AtomicFetchAdd(&word, 100)
					t.Error("a process that was killed goes on behind a call")
				}()
				for range 3 {
					p.AtomicFetchAdd(&word, 1)
				}
				p.SchedYield()
			})
			p.KillAt(fake.AnyCall, n)
			w.Settle()
			w.Expect("calls before it", word.Load(), uint64(n-1))
			w.Expect("it is dead", p.Status, fake.Status{Killed: true})
			w.Expect("deferred functions have not run", deferred, false)
		})
		if !deferred {
			t.Error("the goroutine is still there")
		}
	}
}

func TestKillOfASleeper(t *testing.T) {
	run(t, func(w *fake.World) {
		s0 := w.Listen()
		p0, p1 := w.Start("p0", worker(s0, excl|in), s0), w.Start("p1", worker(s0, excl|in), s0)
		w.Settle()
		p0.Kill()
		w.Expect("its descriptors are closed", p0.Open(), 0)
		c := w.Connect(s0)
		w.Settle()
		w.Expect("the dead one is in no queue", c.AcceptedBy, p1)
		p1.Kill()
		w.Expect("nobody listens any more", w.Connect(s0).Err, sys.ECONNREFUSED)
	})
}

// A process that dies when it has been woken for a lock and has not yet tried
// hands the turn on.
func TestDeathHandsTheTurnForALockOn(t *testing.T) {
	run(t, func(w *fake.World) {
		f := w.File("lock")
		var procs []*fake.Process
		for i := range 3 {
			p := w.Process(fmt.Sprint("p", i), f)
			procs = append(procs, p)
			p.Do(func() { p.FcntlLock(3, true, true) })
		}
		procs[0].FcntlLock(3, false, false)
		procs[1].Kill()
		w.Settle()
		w.Expect("the next has it", procs[2].Asleep(), false)
		w.Expect("and has it alone", procs[0].FcntlLock(3, true, false), sys.EAGAIN)
	})
}

func TestInterruptEndsASleepWithEINTR(t *testing.T) {
	run(t, func(w *fake.World) {
		s0, f := w.Listen().Blocking(), w.File("lock")
		a, _ := w.Socketpair()
		holder := w.Process("holder", f)
		holder.FcntlLock(3, true, false)
		var word sys.Futex
		for what, call := range map[string]func(p *fake.Process) sys.Errno{
			"epoll_wait": func(p *fake.Process) sys.Errno {
				ep, _ := p.EpollCreate()
				_, err := p.EpollWait(ep, make([]sys.EpollEvent, 1), -1)
				return err
			},
			"accept4": func(p *fake.Process) sys.Errno { _, err := accept(&modelProc{p}, 3); return err },
			"fcntl":   func(p *fake.Process) sys.Errno { return p.FcntlLock(4, true, true) },
			"futex":   func(p *fake.Process) sys.Errno { return p.FutexWait(&word, 0) },
			"recv": func(p *fake.Process) sys.Errno {
				p.SetNonblock(5, false)
				_, err := p.Recv(5, make([]byte, 1))
				return err
			},
		} {
			p := w.Process(what, s0, f, a)
			err := sys.Errno(0)
			w.Expect(what+" sleeps", p.Do(func() { err = call(p) }), false)
			p.Interrupt()
			w.Settle()
			w.Expect(what+" is interrupted", err, sys.EINTR)
			w.Expect("it was woken once", p.Counts.Wakeups, 1)
		}
	})
}

// A stop interrupts epoll_wait and a futex; other sleeps go on afterwards.
func TestStopAndContinue(t *testing.T) {
	run(t, func(w *fake.World) {
		s0 := w.Listen().Blocking()
		p0, p1 := w.Process("p0", s0), w.Process("p1", s0)
		for _, p := range []*fake.Process{p0, p1} {
			p.Begin(func() { accept(&modelProc{p}, 3) })
			w.Settle()
		}
		p0.Stop()
		w.Expect("the queue passes a stopped process", w.Connect(s0).AcceptedBy, (*fake.Process)(nil))
		w.Settle()
		w.Expect("p1 has accepted", p1.Counts.Accepted, 1)
		p0.Continue()
		w.Settle()
		w.Expect("p0 waits again", p0.Asleep(), true)
		w.Connect(s0)
		w.Settle()
		w.Expect("p0 has accepted", p0.Counts.Accepted, 1)

		var word sys.Atomic
		p1.Begin(func() { p1.AtomicFetchAdd(&word, 1) })
		p1.Stop()
		w.Settle()
		w.Expect("one that is ready does not run", word.Load(), uint64(0))
		p1.Continue()
		w.Settle()
		w.Expect("and then it does", word.Load(), uint64(1))
	})
}

func TestForkExitAndWait(t *testing.T) {
	run(t, func(w *fake.World) {
		s0, f := w.Listen(), w.File("lock")
		parent := w.Process("parent", s0, f)
		parent.FcntlLock(4, true, false)
		var said []string
		say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		parent.Do(func() {
			_, err := parent.Wait(true)
			say("without a child: %s", name(err))
			parent.Nofile = 7
			parent.Fork("child 1", func(p *fake.Process) {
				say("it has %d descriptors below %d, the file as %d", p.Open(), p.Nofile, p.Fd(f))
				say("the lock is not inherited: %s", name(p.FcntlLock(4, true, false)))
				p.Sleep(time.Second)
				p.Exit(2)
			}, 3, 4)
			parent.Fork("child 2", func(p *fake.Process) { p.Sleep(2 * time.Second) }).KillAt(fake.Nanosleep, 1)
			parent.Fork("child 3", func(p *fake.Process) {})
			for range 4 {
				child, err := parent.Wait(true)
				if err != 0 {
					say("no more: %s", name(err))
					return
				}
				say("%s %+v", child, child.Status)
			}
		})
		w.Advance(time.Second)
		for i, want := range []string{
			"without a child: ECHILD",
			"it has 2 descriptors below 7, the file as 4",
			"the lock is not inherited: EAGAIN",
			"child 2 {Code:0 Killed:true}",
			"child 3 {Code:0 Killed:false}",
			"child 1 {Code:2 Killed:false}",
			"no more: ECHILD",
		} {
			w.Expect("in this order", said[i], want)
		}
	})
}

func TestWaitWithoutBlocking(t *testing.T) {
	run(t, func(w *fake.World) {
		parent := w.Process("parent")
		child := parent.Fork("child", func(p *fake.Process) { p.Sleep(time.Second) })
		got, err := parent.Wait(false)
		w.Expect("it lives", got == nil && err == 0, true)
		w.Advance(time.Second)
		got, err = parent.Wait(false)
		w.Expect("it is dead", got == child && err == 0, true)
		_, err = parent.Wait(false)
		w.Expect("and reaped", name(err), "ECHILD")
	})
}

// failure returns what a scenario fails with.
func failure(t *testing.T, o fake.Options, scenario func(w *fake.World)) *fake.Failure {
	t.Helper()
	f := fake.Run(scenario, o).Failure
	if f == nil {
		t.Fatal("the scenario does not fail")
	}
	return f
}

// says fails unless the failure's text holds all of parts.
func says(t *testing.T, f *fake.Failure, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(f.Error(), part) {
			t.Errorf("it does not say %q:\n%v", part, f)
		}
	}
}

func TestPanicIsAFailureOfTheScenario(t *testing.T) {
	f := failure(t, fake.Options{}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) {
			p.SchedYield()
			var list []int
			list[len(list)]++
		})
		w.Settle()
		t.Error("the scenario goes on")
	})
	says(t, f, "worker 1 dies: panic: runtime error: index out of range", "process_test.go", ">   2")
}

func TestGoexitIsAFailureOfTheScenario(t *testing.T) {
	f := failure(t, fake.Options{}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) { runtime.Goexit() })
		w.Settle()
	})
	says(t, f, "worker 1 ended its goroutine")
}

// stuckIn runs a process that calls code behind its first call, and returns
// what is said of it. The watchdog goes by the wall clock: it cannot come too
// early here, code makes no call.
func stuckIn(t *testing.T, code func()) *fake.Failure {
	return failure(t, fake.Options{Patience: 100 * time.Millisecond}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) {
			p.SchedYield()
			code()
		})
		w.Settle()
	})
}

func TestProcessThatLoopsIsReported(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	for _, c := range []struct {
		function string
		code     func()
	}{
		{"loopFirst", func() { loopFirst(&stop) }},
		// The first one still runs.
		{"loopSecond", func() { loopSecond(&stop) }},
	} {
		says(t, stuckIn(t, c.code), "worker 1 has not for 100ms", "process_test.go", "sched_yield", c.function)
	}
}

//go:noinline
func loopFirst(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

//go:noinline
func loopSecond(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// A process that waits for what no kernel call will bring is no better.
func TestProcessThatWaitsOutsideOfTheKernelIsReported(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	says(t, stuckIn(t, func() { <-forever }), "worker 1 has not for 100ms", "[chan receive]", "process_test.go")
}

// A loop whose turns call nothing is found by their number, not by the clock.
func TestLoopWithoutCallsIsReported(t *testing.T) {
	turns := 0
	f := failure(t, fake.Options{Patience: time.Hour}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) {
			p.Loop(func() {
				if turns++; turns <= 10 {
					p.SchedYield()
				}
			})
		})
		w.Settle()
	})
	says(t, f, "worker 1 has turned 1000 times without a call", ">  10")
	if turns != 1010 {
		t.Errorf("%d turns, want 1010", turns)
	}
}

// One that writes to its log meanwhile is found by its lines, before they fill
// the memory.
func TestLoopThatWritesLinesIsReported(t *testing.T) {
	lines := 0
	f := failure(t, fake.Options{Patience: time.Hour}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) {
			for {
				lines++
				p.Note("again")
			}
		})
		w.Settle()
	})
	says(t, f, "worker 1 has written 10000 lines and made no call")
	if lines != 10001 {
		t.Errorf("%d lines, want 10001", lines)
	}
}

func TestProcessThatNeverSleepsIsReported(t *testing.T) {
	f := failure(t, fake.Options{Steps: 1000}, func(w *fake.World) {
		w.Start("worker 1", func(p *fake.Process) {
			for {
				p.SchedYield()
			}
		})
		w.Settle()
	})
	says(t, f, "1000 kernel calls", "worker 1  sched_yield()")
}

// panicOf returns what f panics with.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestMisuseByTheScenarioPanics(t *testing.T) {
	run(t, func(w *fake.World) {
		p, s0 := w.Process("p"), w.Listen()
		q := w.Process("q", s0)
		for _, c := range []struct {
			what   string
			misuse func()
		}{
			{"p would sleep here", func() { p.FutexWait(new(sys.Futex), 0) }},
			{"p is dead, or busy with the last", func() { p.Do(func() { p.Sleep(time.Hour) }); p.Begin(nil) }},
			{"record locks of other things", func() { q.FcntlLock(3, true, false) }},
			{"epoll instances in epoll sets", func() {
				epoll(&modelProc{q}, in, epoll(&modelProc{q}, in))
			}},
			{"descriptor 99, which is not open", func() { q.Fork("child", nil, 99) }},
			{"s0 is closed", func() { q.Close(3); w.Process("r", s0) }},
			{"q is dead and makes no calls", func() { q.Kill(); q.SchedYield() }},
			{`"x" in schedule "x" is not`, func() { fake.Replay("x") }},
		} {
			if got := panicOf(c.misuse); !strings.Contains(got, c.what) {
				t.Errorf("%q, want %q", got, c.what)
			}
		}
	})
}

func TestMisuseByAProcessIsAFailure(t *testing.T) {
	says(t, failure(t, fake.Options{}, func(w *fake.World) {
		w.Start("p", func(p *fake.Process) { w.Settle() })
		w.Settle()
	}), "Settle is for the scenario")
	says(t, failure(t, fake.Options{}, func(w *fake.World) {
		q := w.Process("q")
		w.Start("p", func(p *fake.Process) { q.SchedYield() })
		w.Settle()
	}), "the code of p calls the kernel as q")
}
