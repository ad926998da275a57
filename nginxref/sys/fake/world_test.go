package fake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// The clock stands still while anybody can run, and goes from one thing that
// is due to the next.
func TestClockMovesOnlyWhenAllSleep(t *testing.T) {
	run(t, func(w *fake.World) {
		var said []string
		say := func(what string) { said = append(said, fmt.Sprint(what, " at ", w.Now())) }
		p := w.Start("p", func(p *fake.Process) {
			ep, _ := p.EpollCreate()
			for range 2 {
				before := p.MonotonicNsec()
				n, err := p.EpollWait(ep, make([]sys.EpollEvent, 1), 300)
				say(fmt.Sprintf("p: %d %s after %d ns", n, name(err), p.MonotonicNsec()-before))
			}
			for range 100 {
				p.SchedYield()
			}
			say("p yielded")
		})
		w.After(time.Second, func() { say("due") })
		w.After(300*time.Millisecond, func() { say("due") })
		w.Settle()
		say("settled")
		w.Advance(400 * time.Millisecond)
		say("advanced")
		w.Advance(time.Second)
		say("advanced")
		want := []string{
			"settled at 0s",
			"due at 300ms",
			"p: 0 ok after 300000000 ns at 300ms",
			"advanced at 400ms",
			"p: 0 ok after 300000000 ns at 600ms",
			"p yielded at 600ms",
			"due at 1s",
			"advanced at 1.4s",
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("-want +got\\n%s", diff)
		}
		sec, msec := p.Gettimeofday()
		w.Expect("the wall clock goes with it",
			time.Unix(sec, int64(msec)*1e6).UTC().Format(time.StampMilli), "Jan  1 00:00:01.400")
	})
}

func TestUntil(t *testing.T) {
	run(t, func(w *fake.World) {
		w.Start("p", func(p *fake.Process) { p.Sleep(time.Minute) })
		w.Until("p is dead", w.Processes()[0].Dead)
		w.Expect("the clock has moved no further", w.Now(), time.Minute)
	})
	says(t, failure(t, fake.Options{}, func(w *fake.World) {
		w.Start("p", worker(w.Listen(), in))
		w.Until("pigs fly", func() bool { return false })
	}), "broken: pigs fly", "nothing is left that would wake one")
	says(t, failure(t, fake.Options{}, func(w *fake.World) {
		w.Start("p", func(p *fake.Process) {
			for {
				p.Sleep(time.Second)
			}
		})
		w.Until("pigs fly", func() bool { return false })
	}), "it does not happen within 10 minutes")
}

// The rule is looked at after each step, so that the first wrong one is the
// one that is marked; what comes behind it does not happen.
func TestAlwaysMarksTheFirstWrongStep(t *testing.T) {
	f := failure(t, fake.Options{}, func(w *fake.World) {
		var word sys.Atomic
		w.Name(&word, "level")
		w.Always("the level stays below 3", func() string {
			if n := word.Load(); n >= 3 {
				return fmt.Sprintf("it is %d", n)
			}
			return ""
		})
		p := w.Start("p", func(p *fake.Process) {
			for {
				p.AtomicFetchAdd(&word, 1)
			}
		})
		defer func() { p.Note("the end") }()
		w.Settle()
	})
	want := strings.Trim(`
broken: the level stays below 3
  it is 3
    1     0.000 ms  p  fetchadd(level, 1) = 0
    2     0.000 ms  p  fetchadd(level, 1) = 1
>   3     0.000 ms  p  fetchadd(level, 1) = 2
`, "\n")
	if got := f.Error(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A scenario's own trace and its failure are the same in every run.
func TestSameScenarioMakesTheSameSteps(t *testing.T) {
	trace := func(p fake.Policy) []fake.Step {
		var steps []fake.Step
		fake.Run(func(w *fake.World) {
			s0 := w.Listen()
			for i := range 4 {
				w.Start(fmt.Sprint("p", i), worker(s0, in), s0)
			}
			for range 5 {
				w.Settle()
				w.ConnectN(s0, 3)
			}
			w.Advance(time.Second)
			steps = w.Trace()
		}, fake.Options{Policy: p}).Check(t)
		return steps
	}
	first := trace(fake.Random(1))
	if diff := cmp.Diff(first, trace(fake.Random(1))); diff != "" {
		t.Errorf("the same seed: %s", diff)
	}
	if cmp.Equal(first, trace(fake.Random(2))) {
		t.Error("another seed makes the same steps")
	}
}

func TestLongFailureShowsItsLastSteps(t *testing.T) {
	f := failure(t, fake.Options{}, func(w *fake.World) {
		p := w.Process("p")
		for range 100 {
			p.SchedYield()
		}
		w.Broken("it ends", "")
	})
	if lines := strings.Count(f.Error(), "sched_yield"); lines != 60 {
		t.Errorf("%d steps, want 60", lines)
	}
	says(t, f, "(40 steps before)", "> 100", "   41")
}

func TestReuseportSpreadsByHashOrInTurn(t *testing.T) {
	shares := func(hash func(int) uint32) (got [3]int) {
		run(t, func(w *fake.World) {
			w.Hash = hash
			group := w.ListenReuseport(3)
			w.ConnectN(group[0], 12)
			for i, l := range group {
				got[i] = l.Queued()
			}
		})
		return got
	}
	if got := shares(nil); got != [3]int{4, 4, 4} {
		t.Errorf("in turn: %v", got)
	}
	if got := shares(func(n int) uint32 { return uint32(n) << 28 }); got != [3]int{6, 5, 1} {
		t.Errorf("by hash: %v", got)
	}
}

// CASES C02, C06: what closing one socket of a group loses.
func TestClosingAReuseportSocket(t *testing.T) {
	for _, migrate := range []bool{false, true} {
		run(t, func(w *fake.World) {
			w.MigrateReq = migrate
			group := w.ListenReuseport(4)
			var procs []*fake.Process
			for i, l := range group {
				procs = append(procs, w.Process(fmt.Sprint("p", i), l))
			}
			clients := w.ConnectN(group[0], 40)
			procs[1].Close(3)
			reset := 0
			for _, c := range clients {
				if c.Reset() {
					reset++
				}
			}
			queued := []int{group[0].Queued(), group[1].Queued(), group[2].Queued(), group[3].Queued()}
			if !migrate {
				w.Expect("its queue is lost", reset, 10)
				w.Expect("the others are not", fmt.Sprint(queued), "[10 0 10 10]")
				w.Expect("it is asked no more", w.Connect(group[0]).Listener != group[1], true)
				return
			}
			w.Expect("nothing is lost", reset, 0)
			w.Expect("its queue has moved", queued[0]+queued[2]+queued[3], 40)
		})
	}
}

// A client that finds the queue full tries again after 1, 2, 4, ... seconds.
func TestFullAcceptQueue(t *testing.T) {
	run(t, func(w *fake.World) {
		s0 := w.Listen()
		s0.Backlog = 0
		p := &modelProc{w.Process("p", s0)}
		clients := w.ConnectN(s0, 3)
		w.Expect("one is queued", fmt.Sprint(clients[0].Connected(), clients[1].Connected()), "true false")
		p.do(func() { accept(p, 3) })
		w.Advance(999 * time.Millisecond)
		w.Expect("not yet", clients[1].Connected(), false)
		w.Advance(time.Millisecond)
		w.Expect("the first to try again", fmt.Sprint(clients[1].Connected(), clients[2].Connected()), "true false")
		w.Advance(126 * time.Second)
		w.Expect("the other gives up", clients[2].Err, sys.ETIMEDOUT)
	})
}

func TestClientsReadAndWrite(t *testing.T) {
	run(t, func(w *fake.World) {
		s0 := w.Listen()
		p := &modelProc{w.Process("p", s0)}
		c := w.Connect(s0)
		c.Send("ping")
		s := -1
		p.do(func() {
			var sa sys.Sockaddr
			s, _ = p.Accept4(3, &sa)
			w.Expect("the peer's address", sa.String(), c.Addr.String())
			w.Expect("what it sent", recv(p, s), `"ping"`)
			p.Send(s, []byte("po"))
			p.Send(s, []byte("ng"))
			p.Shutdown(s)
		})
		w.Expect("who serves it", c.AcceptedBy, p.Process)
		w.Expect("the reply", c.Read(), "pong")
		w.Expect("no end yet", c.EOF(), false)
		w.Expect("nothing more", c.Read(), "")
		w.Expect("the end", c.EOF(), true)
		c.Close()
		p.do(func() { w.Expect("its end", recv(p, s), "end") })
	})
}
