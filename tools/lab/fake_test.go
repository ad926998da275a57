package lab

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

func init() { patience = time.Second }

// said returns what a check whose code is in this file ends with.
func said(t *testing.T, run func(*T)) string {
	t.Helper()
	l := &Lab{Name: "lab", Files: []string{"fake_test.go"}}
	return l.verdict(t, &Check{Part: "A", Sentence: "The rule.", Read: "the book", Run: run}).text
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// spins is a loop that the test which leaves it behind ends.
//
//go:noinline
func spins(over *atomic.Bool) {
	for !over.Load() {
	}
}

// A loop that calls nothing is named by its function, and the checks behind it
// are judged as if there were none.
func TestEndlessLoopIsNamedAndSpoilsNothingElse(t *testing.T) {
	var over atomic.Bool
	defer over.Store(true)
	l := &Lab{Name: "lab", Files: []string{"fake_test.go"}, Checks: []Check{
		{Part: "A", Name: "loops", Run: func(t *T) {
			t.Run(func(w *fake.World) {
				w.Start("worker 1", func(p *fake.Process) {
					p.SchedYield()
					spins(&over)
				})
				w.Settle()
			})
		}},
		{Part: "A", Name: "loops-outside", Run: func(t *T) {
			t.Run(func(w *fake.World) {
				w.Settle()
				spins(&over)
			})
		}},
		{Part: "A", Name: "loops-alone", Run: func(t *T) {
			t.Step("it is called")
			spins(&over)
		}},
		{Part: "A", Name: "is-right", Run: func(t *T) {
			t.Explore(2, func(w *fake.World) {
				for range 2 {
					w.Start("worker", func(p *fake.Process) { p.SchedYield() })
				}
				w.Settle()
			})
		}},
	}}
	for i, text := range []string{"worker 1 has not for 1s", "must come to an end", "->   1. it is called"} {
		says(t, l.verdict(t, &l.Checks[i]).text, text, "at fake_test.go:", " in spins")
	}
	if r := l.verdict(t, &l.Checks[3]); r.failed {
		t.Error(r.text)
	}
}

func TestPanicIsReportedWithItsPlaceAlone(t *testing.T) {
	panics := func() { panic("oops") }
	for _, text := range []string{
		said(t, func(t *T) { t.Run(func(w *fake.World) { w.Process("worker 1").Do(panics) }) }),
		said(t, func(t *T) { panics() }), // in the check, without a process
	} {
		says(t, text, "oops", "at fake_test.go:", "handout: The rule.")
		if strings.Contains(text, "goroutine") {
			t.Errorf("the stack as Go prints it:\n%s", text)
		}
	}
}

// The 100,000 calls of a loop tell nothing. How it came to the loop does.
func TestStoryOfALoopEndsWithItsFirstRound(t *testing.T) {
	text := said(t, func(t *T) {
		t.Run(func(w *fake.World) {
			s0 := w.Listen()
			for _, name := range []string{"worker 1", "worker 2"} {
				w.Start(name, func(p *fake.Process) {
					ep, _ := p.EpollCreate()
					var addr sys.Sockaddr
					for {
						p.EpollWait(ep, nil, -1)
						p.Accept4(p.Fd(s0), &addr)
					}
				}, s0)
			}
			w.Settle()
		})
	})
	says(t, text, "the processes come to rest", "worker 1 does its last 2 steps here again and again", `
    1     0.000 ms  worker 1  epoll_create1() = 4
    2     0.000 ms  worker 1  epoll_wait(4 epoll, for ever) = EINVAL
>   3     0.000 ms  worker 1  accept4(3 s0) = EAGAIN
`)
}

// A check whose code ends its goroutine has no verdict, and must not pass.
func TestGoexitIsNoPass(t *testing.T) {
	says(t, said(t, func(t *T) { runtime.Goexit() }), "ended the goroutine that called it")
}

// What was left behind cannot fail a test that has ended: that would end all.
func TestLeftBehindCheckIsSilent(t *testing.T) {
	var over atomic.Bool
	var check *T
	gone := make(chan struct{})
	said(t, func(t *T) {
		check = t
		defer close(gone)
		spins(&over)
		t.Wrong("too late")
	})
	over.Store(true)
	<-gone
	if !check.watch.left.Load() || check.over {
		t.Error("it has spoken")
	}
}

// A rule is a sentence: that it is false says it all; of a number one wants to
// know which it was.
func TestBrokenRulesSayWhatWasSeen(t *testing.T) {
	for _, c := range []struct {
		scenario func(w *fake.World)
		want     string
	}{
		{func(w *fake.World) { w.Expect("the lock is free", false, true) }, "broken: the lock is free\n  it is not so\n"},
		{func(w *fake.World) { w.Expect("two are served", 1, 2) }, "broken: two are served\n  got 1, want 2\n"},
		{func(w *fake.World) { AtMost(w, "three at most", 3, 3); AtMost(w, "two at most", 3, 2) }, "broken: two at most\n  got 3\n"},
	} {
		says(t, said(t, func(t *T) { t.Run(c.scenario) }), c.want)
	}
}

// Who goes round outside of the deterministic kernel is found by the steps.
func TestStoryOfALoopOfStepsEndsWithItsFirstRound(t *testing.T) {
	text := said(t, func(t *T) {
		t.Step("it begins")
		for {
			t.Step("wait: none has ended")
			t.Step("again")
		}
	})
	says(t, text, "it does its last 2 steps again and again", "at fake_test.go:", `
        1. it begins
        2. wait: none has ended
   ->   3. again
`)
}

func TestFirstRound(t *testing.T) {
	for _, c := range []struct {
		steps string
		end   int
		what  string
	}{
		{"abc" + strings.Repeat("d", 20), 4, "last step"},
		{"abc" + strings.Repeat("d", 19), 0, ""},
		{"ab" + strings.Repeat("abc", 20), 5, "last 3 steps"},
		{strings.Repeat("ab", 30), 2, "last 2 steps"},
		{"", 0, ""},
	} {
		end, what := firstRound(len(c.steps), func(i, j int) bool { return c.steps[i] == c.steps[j] })
		if end != c.end || what != c.what {
			t.Errorf("%s: %d %q, want %d %q", c.steps, end, what, c.end, c.what)
		}
	}
}
