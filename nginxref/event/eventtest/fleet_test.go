package eventtest

import (
	"fmt"
	"testing"
	"time"

	"herd/nginxref/event"
	"herd/nginxref/sys/fake"
)

// The fixes, as configurations.
var (
	herd      = event.EventConf{}
	mutex     = event.EventConf{AcceptMutex: true}
	exclusive = event.EventConf{ExclusiveAccept: true}
)

// run runs a scenario that must not fail.
func run(t *testing.T, scenario func(w *fake.World)) {
	t.Helper()
	fake.Run(scenario, fake.Options{}).Check(t)
}

// paced makes n connections, one every gap, and returns what that took.
func (f *Fleet) paced(n int, gap time.Duration) fake.Counts {
	f.World.Settle()
	before := f.World.Total()
	for range n {
		f.World.Connect(f.Listener)
		f.World.Advance(gap)
	}
	return f.World.Total().Since(before)
}

// oneWaitsRegistered is what the accept mutex is for: no two workers sleep
// while both have the listener in their epoll sets.
func (f *Fleet) oneWaitsRegistered() {
	f.World.Always("only one worker waits for connections", func() string {
		var who []string
		for _, w := range f.Workers {
			if w.Asleep() && w.Registered() {
				who = append(who, w.Name)
			}
		}
		if len(who) > 1 {
			return fmt.Sprint(who, " all do")
		}
		return ""
	})
}

// noEAGAIN is what follows from it.
func (f *Fleet) noEAGAIN() {
	f.World.Always("nobody accepts in vain", func() string {
		for _, w := range f.Workers {
			if w.Counts.AcceptAgain > 0 {
				return w.Name + " got EAGAIN"
			}
		}
		return ""
	})
}

// quiet fails if a worker logged an alert.
func (f *Fleet) quiet() {
	for _, w := range f.Workers {
		f.World.Expect(w.Name+" logs no alert", len(w.Alerts), 0)
	}
}

// The map of wakeups a second (FACTS.md): N*r for the herd, r + (N-1)/delay
// for the mutex, whose crossover is at r = 1/delay; r for EXCLUSIVE. The
// measured machine keeps within 1 % of it, the model is exact.
func TestWakeupsPerSecond(t *testing.T) {
	const seconds = 10
	for _, n := range []int{2, 8, 32} {
		for _, rate := range []int{1, 2, 20, 100} {
			for _, c := range []struct {
				name string
				conf event.EventConf
				want int // a second
			}{
				{"herd", herd, n * rate},
				{"mutex, 500 ms", mutex, rate + 2*(n-1)},
				{"mutex, 50 ms", event.EventConf{AcceptMutex: true, AcceptMutexDelay: 50}, rate + 20*(n-1)},
				{"exclusive", exclusive, rate},
			} {
				t.Run(fmt.Sprintf("%s, %d workers, %d a second", c.name, n, rate), func(t *testing.T) {
					run(t, func(w *fake.World) {
						f := New(w, Conf{Workers: n, Event: c.conf})
						got := f.paced(rate*seconds, time.Second/time.Duration(rate))
						w.Expect("wakeups", got.Wakeups, c.want*seconds)
						w.Expect("connections", got.Accepted, rate*seconds)
						f.quiet()
					})
				})
			}
		}
	}
}

// What stat counts in a worker's slot is what the kernel knows.
func TestStatAgreesWithTheKernel(t *testing.T) {
	for _, conf := range []event.EventConf{herd, mutex, exclusive} {
		run(t, func(w *fake.World) {
			f := New(w, Conf{Workers: 4, Event: conf})
			f.paced(50, 20*time.Millisecond)
			for _, wk := range f.Workers {
				k, s := wk.Counts, wk.Slot
				// The wait that is under way has woken silently so often.
				silent := uint64(k.Sleeps) - s.Wait.SleepsBefore - 1
				w.Expect("the worker is in a wait", s.Wait.Inside, uint64(1))
				w.Expect("stat", fmt.Sprint(s.Wakeups+silent, s.ReturnsEvents, s.ReturnsTimeout, s.ReturnsSignal,
					s.Accepted, s.AcceptAgain, s.AcceptMfile, s.AcceptOther, s.CtlAdds, s.CtlDels),
					fmt.Sprint(k.Wakeups, k.ReturnsEvents, k.ReturnsTimeout, k.ReturnsSignal,
						k.Accepted, k.AcceptAgain, k.AcceptMfile, k.AcceptOther, k.CtlAdds, k.CtlDels))
			}
		})
	}
}

// Whatever the order in which the workers run: each connection wakes all of
// them, and each but one either sleeps again at once or accepts in vain.
func TestHerdInEveryInterleaving(t *testing.T) {
	for _, c := range []struct{ workers, departures int }{{2, 6}, {3, 3}} {
		vain := 0
		fake.Explore(func(w *fake.World) {
			f := New(w, Conf{Workers: c.workers, Event: herd})
			got := f.paced(2, time.Second)
			w.Expect("wakeups", got.Wakeups, 2*c.workers)
			w.Expect("accepted", got.Accepted, 2)
			w.Expect("the others", got.Silent+got.AcceptAgain, 2*(c.workers-1))
			vain = max(vain, got.AcceptAgain)
		}, fake.Options{Departures: departures(c.departures)}).Check(t)
		if vain == 0 {
			t.Error("no interleaving shows an EAGAIN")
		}
	}
}

// departures is how many departures to explore: one less if time is short.
func departures(n int) int {
	if testing.Short() {
		n--
	}
	return n
}

// clients starts a process that connects n clients, each at any moment.
func (f *Fleet) clients(n int) {
	f.World.Start("clients", func(*fake.Process) {
		for range n {
			f.World.Connect(f.Listener)
		}
	})
}

// The accept mutex in every interleaving, with connections that come at any
// moment: nobody ever accepts in vain, and nobody is forgotten.
func TestAcceptMutexInEveryInterleaving(t *testing.T) {
	for _, c := range []struct{ workers, connections, departures int }{{2, 2, 4}, {3, 2, 3}} {
		fake.Explore(func(w *fake.World) {
			f := New(w, Conf{Workers: c.workers, Event: mutex})
			f.oneWaitsRegistered()
			f.noEAGAIN()
			f.clients(c.connections)
			w.Advance(2 * time.Second)
			w.Expect("all are accepted", w.Total().Accepted, c.connections)
			f.quiet()
		}, fake.Options{Departures: departures(c.departures)}).Check(t)
	}
}
