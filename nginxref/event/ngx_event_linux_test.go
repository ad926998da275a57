package event

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// How long a turn may wait in the kernel. The accept mutex caps it only for
// a worker that tried and lost.
func TestTimeoutOfATurn(t *testing.T) {
	const delay = 500
	for _, c := range []struct {
		name  string
		mutex string // "", "won", "lost" or "skipped"
		timer core.Msec
		next  bool // an event is posted to the next turn
		res   core.Msec
		want  int
	}{
		{name: "nothing to wait for", timer: TimerInfinite, want: -1},
		{name: "a timer", timer: 2000, want: 2000},
		{name: "a timer that is due", timer: 0, want: 0},
		{name: "an event of the next turn", timer: 2000, next: true, want: 0},
		{name: "timer_resolution", timer: 2000, res: 100, want: -1},
		{name: "mutex won", mutex: "won", timer: TimerInfinite, want: -1},
		{name: "mutex won, a timer", mutex: "won", timer: 2000, want: 2000},
		{name: "mutex lost", mutex: "lost", timer: TimerInfinite, want: delay},
		{name: "mutex lost, a later timer", mutex: "lost", timer: 2000, want: delay},
		{name: "mutex lost, a sooner timer", mutex: "lost", timer: 100, want: 100},
		{name: "mutex lost, timer_resolution", mutex: "lost", timer: 100, res: 100, want: delay},
		{name: "mutex lost, an event of the next turn", mutex: "lost", timer: 2000, next: true, want: 0},
		{name: "mutex not tried", mutex: "skipped", timer: TimerInfinite, want: -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.Event.AcceptMutexDelay = delay
			w.Conf.TimerResolution = c.res
			if c.mutex != "" {
				w.Event.AcceptMutex = true
				w.Conf.WorkerProcesses = 2
			}
			w.AcceptMutex = &fakeLock{taken: c.mutex == "lost"}
			w.kernel.now = 1e9 // the clock stands still
			w.Time.TimeUpdate()
			w.start()
			if c.mutex == "skipped" {
				w.AcceptDisabled = 1
			}
			if c.timer != TimerInfinite {
				w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) {}}, c.timer)
			}
			if c.next {
				PostEvent(&Event{Log: w.Log, Handler: func(*Event) {}}, &w.PostedNextEvents)
			}
			w.kernel.wait = func([]sys.EpollEvent, int) (int, sys.Errno) { return 0, 0 }
			w.ProcessEventsAndTimers()
			if diff := cmp.Diff([]int{c.want}, w.kernel.waits); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// fakeLock is a mutex that somebody else has while taken is set.
type fakeLock struct {
	taken, held    bool
	tries, unlocks int
}

func (l *fakeLock) Trylock() bool { l.tries++; l.held = !l.taken; return l.held }

func (l *fakeLock) Lock() { panic("nginx never waits for the accept mutex") }

func (l *fakeLock) Unlock() { l.unlocks++; l.held = false }

func (l *fakeLock) ForceUnlock(pid int) bool { panic("that is the master's") }

// One turn, in nginx's order: what was posted to the next turn moves before
// the wait; connections are accepted before the mutex is let go, and
// everything else comes after.
func TestOrderOfATurn(t *testing.T) {
	w := newWorker(t)
	w.Event.AcceptMutex = true
	w.Conf.WorkerProcesses = 2
	lock := &fakeLock{}
	w.AcceptMutex = lock
	ls := w.listen()
	w.start()
	var steps []string
	note := func(what string) { steps = append(steps, fmt.Sprintf("%s, lock held %v", what, lock.held)) }

	c, peer := w.pair()
	w.mustBe(core.OK, w.AddEvent(c.Read, ReadEvent, ClearEvent))
	c.Read.Handler = func(*Event) { note("read") }
	ls.Handler = func(c *Connection) {
		note("accept")
		PostEvent(&Event{Log: w.Log, Handler: func(*Event) { note("posted by accept") }}, &w.PostedEvents)
	}
	w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) {
		note("timer")
		PostEvent(&Event{Log: w.Log, Handler: func(*Event) { note("posted by timer") }}, &w.PostedEvents)
	}}, 0)
	PostEvent(&Event{Log: w.Log, Handler: func(*Event) { note("put off") }}, &w.PostedNextEvents)
	send(t, peer, "x")
	dial(t, ls, 1)

	w.ProcessEventsAndTimers()
	// book:order
	want := []string{
		"accept, lock held true",
		"timer, lock held false",
		"put off, lock held false",
		"read, lock held false",
		"posted by accept, lock held false",
		"posted by timer, lock held false",
	}
	// book:end
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if lock.tries != 1 || lock.unlocks != 1 {
		t.Errorf("%d tries and %d unlocks, want one each", lock.tries, lock.unlocks)
	}
}

// CASES E06: an event put off to the next turn runs once the kernel was asked
// for news, without waiting. Its handler puts itself off five times.
func TestE06OneLookAtTheKernelBetweenTwoRuns(t *testing.T) {
	w := newWorker(t)
	w.start()
	var asked [][]int // timeouts between runs
	ev := &Event{Log: w.Log}
	ev.Handler = func(*Event) {
		asked = append(asked, w.kernel.waits)
		w.kernel.waits = nil
		if len(asked) < 5 {
			PostEvent(ev, &w.PostedNextEvents)
		}
	}
	PostEvent(ev, &w.PostedNextEvents)
	w.turnsUntil(func() bool { return len(asked) == 5 })
	if diff := cmp.Diff([][]int{{0}, {0}, {0}, {0}, {0}}, asked); diff != "" {
		t.Errorf("waits between runs: -want +got\n%s", diff)
	}
}

// CASES E03: a timer that is due already when it is added fires in this turn
// or the next, though the cached time does not move.
func TestE03ZeroDelayTimerFiresWithinTwoTurns(t *testing.T) {
	for _, from := range []string{"an event handler", "a timer handler"} {
		t.Run("added in "+from, func(t *testing.T) {
			w := newWorker(t)
			w.kernel.now = 1e9 // stands still
			w.Time.TimeUpdate()
			w.start()
			fired := 0
			zero := &Event{Log: w.Log, Handler: func(*Event) { fired++ }}
			added := false
			add := func(*Event) { added = true; w.AddTimer(zero, 0) }
			if from == "an event handler" {
				PostEvent(&Event{Log: w.Log, Handler: add}, &w.PostedNextEvents)
			} else {
				w.AddTimer(&Event{Log: w.Log, Handler: add}, 0)
			}
			w.turnsUntil(func() bool { return added })
			if turns := w.turnsUntil(func() bool { return fired > 0 }); turns > 1 {
				t.Errorf("fired %d turns after the one that added it, want 0 or 1", turns)
			}
			if w.turnsUntil(func() bool { return true }); fired != 1 || zero.TimerSet {
				t.Errorf("fired %d times, still set %v", fired, zero.TimerSet)
			}
		})
	}
}

// Timers that handlers add are taken along if they are due, as in nginx, so a
// handler that wants to run again in the next turn posts itself instead.
func TestExpireTimersTakesTimersAddedMeanwhile(t *testing.T) {
	w := newWorker(t)
	w.kernel.now = 1e9
	w.Time.TimeUpdate()
	w.start()
	fired := 0
	ev := &Event{Log: w.Log}
	ev.Handler = func(*Event) {
		if fired++; fired < 3 {
			w.AddTimer(ev, 0)
		}
	}
	w.AddTimer(ev, 0)
	w.ProcessEventsAndTimers()
	if fired != 3 || len(w.kernel.waits) != 1 {
		t.Errorf("fired %d times in %d waits, want 3 in 1", fired, len(w.kernel.waits))
	}
}

// CASES E10: an interrupted wait is no error, the turn goes on.
func TestE10InterruptedWaitDoesNotStopTimers(t *testing.T) {
	w := newWorker(t)
	w.start()
	fired := 0
	w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) { fired++ }}, 0)
	w.kernel.wait = func([]sys.EpollEvent, int) (int, sys.Errno) { return -1, sys.EINTR }
	w.ProcessEventsAndTimers()
	if fired != 1 {
		t.Errorf("the timer fired %d times", fired)
	}
}

// CASES E11: 100 ms are 100 ms though the wall clock is set back an hour.
func TestE11TimersDoNotFollowTheWallClock(t *testing.T) {
	w := newWorker(t)
	wall := &steppedClock{Kernel: w.Kernel}
	w.Cycle.Time = core.NewTimes(wall)
	w.start()
	fired := false
	start := w.Time.CurrentMsec
	w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) { fired = true }}, 100)
	wall.back = 3600
	w.turnsUntil(func() bool { return fired })
	if took := w.Time.CurrentMsec - start; took < 100 || took > patience {
		t.Errorf("fired after %d ms", took)
	}
	if sec, _ := w.kernel.Gettimeofday(); w.Time.Sec > sec-3000 {
		t.Error("the wall clock was not set back")
	}
}

// steppedClock is a kernel whose wall clock is some seconds back.
type steppedClock struct {
	sys.Kernel
	back int64
}

func (k *steppedClock) Gettimeofday() (int64, int) {
	sec, msec := k.Kernel.Gettimeofday()
	return sec - k.back, msec
}
