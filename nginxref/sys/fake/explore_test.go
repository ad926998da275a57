package fake_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// interleave starts n processes of calls each, and returns the order in which
// they made them.
func interleave(n, calls int, order *string) func(w *fake.World) {
	return func(w *fake.World) {
		var word sys.Atomic
		*order = ""
		for i := range n {
			w.Start(fmt.Sprint("p", i), func(p *fake.Process) {
				for range calls {
					p.AtomicFetchAdd(&word, 1)
					*order += fmt.Sprint(i)
				}
			})
		}
		w.Settle()
	}
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy func() fake.Policy
		want   string
	}{
		{"RunToBlock", fake.RunToBlock, "000011112222"},
		{"RoundRobin", fake.RoundRobin, "012012012012"},
		{"Replay of nothing", func() fake.Policy { return fake.Replay("") }, "000011112222"},
		{"Replay", func() fake.Policy { return fake.Replay("2:1 3:2") }, "001002222111"},
		{"Random", func() fake.Policy { return fake.Random(7) }, "000012112212"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 3 {
				var order string
				fake.Run(interleave(3, 4, &order), fake.Options{Policy: c.policy()}).Check(t)
				if order != c.want {
					t.Errorf("%s, want %s", order, c.want)
				}
			}
		})
	}
}

// A process that never sleeps does not keep the others out for ever.
func TestSliceLetsTheOthersGoOn(t *testing.T) {
	var order string
	fake.Run(interleave(2, 5, &order), fake.Options{Slice: 2}).Check(t)
	if want := "0011001101"; order != want {
		t.Errorf("%s, want %s", order, want)
	}
}

// Who spins or yields waits for somebody: the others come first.
func TestSpinningAndYieldingLetTheOthersGoOn(t *testing.T) {
	for _, give := range []func(p *fake.Process){(*fake.Process).CPUPause, (*fake.Process).SchedYield} {
		fake.Run(func(w *fake.World) {
			var word sys.Atomic
			spins := 0
			w.Start("spinner", func(p *fake.Process) {
				for ; p.AtomicLoad(&word) == 0; spins++ {
					give(p)
				}
			})
			w.Start("other", func(p *fake.Process) { p.AtomicCmpSet(&word, 0, 1) })
			w.Settle()
			w.Expect("one spin", spins, 1)
		}, fake.Options{}).Check(t)
	}
}

// Two processes of n calls each can be interleaved in (2n choose n) ways. With
// enough departures Explore tries each of them once.
func TestExploreTriesEveryInterleavingOnce(t *testing.T) {
	var order string
	run := interleave(2, 3, &order)
	seen := map[string]int{}
	r := fake.Explore(func(w *fake.World) {
		run(w)
		seen[order]++
	}, fake.Options{Departures: 100})
	r.Check(t)
	for order, times := range seen {
		if times != 1 {
			t.Errorf("%s: %d times", order, times)
		}
	}
	if len(seen) != 20 || r.Schedules != 20 {
		t.Errorf("%d interleavings in %d schedules, want 20", len(seen), r.Schedules)
	}
}

// The number of departures bounds how far from the default a schedule is.
func TestExploreIsBoundByDepartures(t *testing.T) {
	for departures, want := range map[int]int{
		0: 1,
		// The other process makes all its calls first, or behind the first or
		// the second of this one's.
		1: 4,
	} {
		var order string
		r := fake.Explore(interleave(2, 3, &order), fake.Options{Departures: departures})
		r.Check(t)
		if r.Schedules != want {
			t.Errorf("%d departures: %d schedules, want %d", departures, r.Schedules, want)
		}
	}
}

// No other process could notice a call on one's own connection or eventfd.
func TestCallsThatNobodyNoticesAreNotExplored(t *testing.T) {
	r := fake.Explore(func(w *fake.World) {
		s0 := w.Listen()
		w.Connect(s0)
		w.Connect(s0)
		var procs []*fake.Process
		for i := range 2 {
			procs = append(procs, w.Process(fmt.Sprint("p", i), s0))
			procs[i].Do(func() { accept(&modelProc{procs[i]}, 3) })
		}
		for _, p := range procs {
			p.Begin(func() {
				fd, _ := p.Eventfd()
				ep, _ := p.EpollCreate()
				p.EpollCtl(ep, sys.EPOLL_CTL_ADD, fd, sys.MakeEpollEvent(sys.EPOLLIN, 0))
				p.Write(fd, one[:])
				p.Send(4, []byte("x"))
				p.Recv(4, make([]byte, 1))
				p.Close(4)
			})
		}
		w.Settle()
	}, fake.Options{Departures: 9})
	r.Check(t)
	if r.Schedules != 2 { // which of the two goes first
		t.Errorf("%d schedules, want 2", r.Schedules)
	}
}

func TestExploreTriesEveryChoice(t *testing.T) {
	seen := map[string]bool{}
	r := fake.Explore(func(w *fake.World) {
		a := w.Choose(3)
		b := w.Choose(a + 1)
		seen[fmt.Sprint(a, b)] = true
	}, fake.Options{})
	r.Check(t)
	if r.Schedules != 6 || len(seen) != 6 {
		t.Errorf("%d schedules, saw %v; want 6", r.Schedules, seen)
	}
}

// lostUpdate is two processes that count by a load and a compare-and-set, once.
func lostUpdate(w *fake.World) {
	var count sys.Atomic
	w.Name(&count, "count")
	for i := range 2 {
		w.Start(fmt.Sprint("p", i), func(p *fake.Process) {
			n := p.AtomicLoad(&count)
			p.AtomicCmpSet(&count, n, n+1) // and does not look what came of it
		})
	}
	w.Settle()
	w.Expect("two processes count to 2", count.Load(), uint64(2))
}

func TestExploreFindsARaceAndPrintsTheWayToIt(t *testing.T) {
	fake.Explore(lostUpdate, fake.Options{}).Check(t) // it needs a preemption
	r := fake.Explore(lostUpdate, fake.Options{Departures: 1})
	want := strings.Trim(`
broken: two processes count to 2
  got 1, want 2
  schedule "1:1"
    1     0.000 ms  p0  load(count) = 0
    2     0.000 ms  p1  load(count) = 0
    3     0.000 ms  p1  cmpset(count, 0, 1) = true
    4     0.000 ms  p1  exits
    5     0.000 ms  p0  cmpset(count, 0, 1) = false
>   6     0.000 ms  p0  exits
`, "\n")
	if r.Failure == nil || r.Failure.Error() != want {
		t.Fatalf("%v\nwant\n%s", r.Failure, want)
	}
	again := fake.Run(lostUpdate, fake.Options{Policy: fake.Replay(r.Failure.Schedule)})
	if diff := cmp.Diff(r.Failure, again.Failure); diff != "" {
		t.Errorf("replayed: -want +got\n%s", diff)
	}
}

// fatal is a test that Check ends.
type fatal struct{ said string }

func (f *fatal) Helper()           {}
func (f *fatal) Fatal(args ...any) { f.said = fmt.Sprint(args...) }

func TestSchedulesLeftOutAreAFailure(t *testing.T) {
	var order string
	r := fake.Explore(interleave(2, 3, &order), fake.Options{Departures: 100, Schedules: 19})
	if r.Complete || r.Schedules != 19 {
		t.Errorf("complete %v after %d schedules", r.Complete, r.Schedules)
	}
	var f fatal
	if r.Check(&f); !strings.Contains(f.said, "19 schedules are too few") {
		t.Errorf("Check says %q", f.said)
	}
}

func TestScenarioThatIsNotDeterministicIsReported(t *testing.T) {
	runs := 0
	r := fake.Explore(func(w *fake.World) {
		runs++
		var order string
		interleave(1+runs, 2, &order)(w)
	}, fake.Options{Departures: 2})
	if r.Failure == nil || !strings.Contains(r.Failure.Rule, "deterministic") {
		t.Errorf("%v", r.Failure)
	}
}
