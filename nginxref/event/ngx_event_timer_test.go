package event

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
)

// timers is a cycle with a clock that only the test moves, and no kernel.
func timers(now core.Msec) *Cycle {
	cycle := NewCycle(nil, &core.Log{}, &core.Times{CurrentMsec: now})
	cycle.TimerInit()
	return cycle
}

// timer returns an event that notes its name in fired.
func timer(cycle *Cycle, fired *[]string, name string) *Event {
	return &Event{Log: cycle.Log, Handler: func(*Event) { *fired = append(*fired, name) }}
}

func TestTimersFireInOrderWhenDue(t *testing.T) {
	cycle := timers(1000)
	var fired []string
	for _, c := range []struct {
		name string
		ms   core.Msec
	}{{"c", 300}, {"a", 100}, {"d", 300}, {"b", 200}} {
		cycle.AddTimer(timer(cycle, &fired, c.name), c.ms)
	}
	for _, step := range []struct {
		now  core.Msec
		want []string
		find core.Msec // until the next one
	}{
		{1000, nil, 100},
		{1099, nil, 1},
		{1100, []string{"a"}, 100},
		{1250, []string{"a", "b"}, 50},
		{1300, []string{"a", "b", "c", "d"}, TimerInfinite}, // equal keys: as they were added
	} {
		cycle.Time.CurrentMsec = step.now
		cycle.ExpireTimers()
		if !slices.Equal(fired, step.want) {
			t.Errorf("at %d fired %v, want %v", step.now, fired, step.want)
		}
		if got := cycle.FindTimer(); got != step.find {
			t.Errorf("at %d FindTimer says %d, want %d", step.now, got, step.find)
		}
	}
}

func TestExpiredTimerIsUnsetAndTimedoutBeforeItsHandlerRuns(t *testing.T) {
	cycle := timers(1000)
	ev := &Event{Log: cycle.Log}
	ran := 0
	ev.Handler = func(got *Event) {
		ran++
		if got != ev || ev.TimerSet || !ev.Timedout {
			t.Errorf("handler: set %v, timed out %v", ev.TimerSet, ev.Timedout)
		}
		if ran == 1 {
			cycle.AddTimer(ev, 5) // may be set again right there
		}
	}
	cycle.AddTimer(ev, 10)
	if !ev.TimerSet || ev.Timedout {
		t.Errorf("added: set %v, timed out %v", ev.TimerSet, ev.Timedout)
	}
	cycle.Time.CurrentMsec += 10
	cycle.ExpireTimers()
	if ran != 1 || !ev.TimerSet {
		t.Errorf("ran %d times, set again %v", ran, ev.TimerSet)
	}
	cycle.Time.CurrentMsec += 5
	cycle.ExpireTimers()
	if ran != 2 || ev.TimerSet {
		t.Errorf("ran %d times, set %v", ran, ev.TimerSet)
	}
}

// A handler may take other due timers away: they must not fire.
func TestHandlerMayDeleteAnotherDueTimer(t *testing.T) {
	cycle := timers(1000)
	var fired []string
	b := timer(cycle, &fired, "b")
	a := &Event{Log: cycle.Log, Handler: func(*Event) { cycle.DelTimer(b) }}
	cycle.AddTimer(a, 1)
	cycle.AddTimer(b, 2)
	cycle.Time.CurrentMsec += 10
	cycle.ExpireTimers()
	if len(fired) != 0 || b.TimerSet || cycle.FindTimer() != TimerInfinite {
		t.Errorf("fired %v, set %v", fired, b.TimerSet)
	}
}

// CASES E02: the clock wraps at 2^64 milliseconds. A timer set before that is
// not due at once, and is due after it.
func TestE02TimersAcrossTheWrap(t *testing.T) {
	cycle := timers(^core.Msec(0) - 99) // 100 ms before the wrap
	var fired []string
	cycle.AddTimer(timer(cycle, &fired, "after"), 500)
	cycle.AddTimer(timer(cycle, &fired, "before"), 50)
	cycle.AddTimer(timer(cycle, &fired, "at"), 100)

	start := cycle.Time.CurrentMsec
	for _, step := range []struct {
		elapsed core.Msec
		want    []string
		find    core.Msec
	}{
		{0, nil, 50},
		{49, nil, 1},
		{50, []string{"before"}, 50},
		{99, []string{"before"}, 1},
		{100, []string{"before", "at"}, 400}, // the clock is 0
		{499, []string{"before", "at"}, 1},
		{500, []string{"before", "at", "after"}, TimerInfinite},
	} {
		cycle.Time.CurrentMsec = start + step.elapsed
		if step.elapsed == 100 && cycle.Time.CurrentMsec != 0 {
			t.Fatal("the clock did not wrap")
		}
		cycle.ExpireTimers()
		if !slices.Equal(fired, step.want) {
			t.Errorf("after %d ms fired %v, want %v", step.elapsed, fired, step.want)
		}
		if got := cycle.FindTimer(); got != step.find {
			t.Errorf("after %d ms FindTimer says %d, want %d", step.elapsed, got, step.find)
		}
	}
}

func TestFindTimerOfAnOverdueTimerIsZero(t *testing.T) {
	for _, now := range []core.Msec{1000, ^core.Msec(0) - 2} { // the second wraps
		cycle := timers(now)
		cycle.AddTimer(&Event{Log: cycle.Log}, 1)
		cycle.Time.CurrentMsec += 10
		if got := cycle.FindTimer(); got != 0 {
			t.Errorf("9 ms overdue: %d, want 0", got)
		}
	}
}

// A timer that would move by less than 300 ms, either way, stays.
func TestTimerIsLazyBelow300Milliseconds(t *testing.T) {
	for _, c := range []struct {
		set, again core.Msec
		want       core.Msec
	}{
		{1000, 1000, 1000},
		{1000, 1299, 1000}, {1000, 1300, 1300},
		{1000, 701, 1000}, {1000, 700, 700},
		{1000, 60_000, 60_000}, {1000, 1, 1},
	} {
		for _, now := range []core.Msec{5000, ^core.Msec(0) - 500} { // the second wraps
			cycle := timers(now)
			ev := &Event{Log: cycle.Log}
			cycle.AddTimer(ev, c.set)
			cycle.AddTimer(ev, c.again)
			if got := cycle.FindTimer(); got != c.want || !ev.TimerSet {
				t.Errorf("%d then %d at %d: due in %d, want %d", c.set, c.again, now, got, c.want)
			}
			cycle.DelTimer(ev)
			if cycle.FindTimer() != TimerInfinite || ev.TimerSet {
				t.Errorf("%d then %d: it was in the tree twice", c.set, c.again)
			}
		}
	}
}

// An exiting worker waits for every timer but cancelable ones.
func TestNoTimersLeftDisregardsCancelableOnes(t *testing.T) {
	for _, c := range []struct {
		name       string
		cancelable []bool
		want       core.Status
	}{
		{"none", nil, core.OK},
		{"one", []bool{false}, core.Again},
		{"one cancelable", []bool{true}, core.OK},
		{"all cancelable", []bool{true, true, true, true}, core.OK},
		{"the first is not", []bool{false, true, true}, core.Again},
		{"the last is not", []bool{true, true, true, true, false}, core.Again},
	} {
		cycle := timers(1000)
		for i, cancelable := range c.cancelable {
			ev := &Event{Log: cycle.Log, Cancelable: cancelable}
			cycle.AddTimer(ev, core.Msec(1000*(i+1)))
		}
		if got := cycle.NoTimersLeft(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Against a list: timers at random, before, across and after the wrap.
func TestTimersAgreeWithAList(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	now := ^core.Msec(0) - 20_000
	cycle := timers(now)
	type entry struct {
		ev   *Event
		left core.MsecInt // to go, from the test's start
	}
	var elapsed core.MsecInt
	var model []entry
	var fired []core.MsecInt
	for range 4000 {
		if left := core.MsecInt(rnd.IntN(3000)); rnd.IntN(3) > 0 {
			due := elapsed + left
			ev := &Event{Log: cycle.Log}
			ev.Handler = func(*Event) { fired = append(fired, due) }
			cycle.AddTimer(ev, core.Msec(left))
			model = append(model, entry{ev, due})
		} else if len(model) > 0 {
			i := rnd.IntN(len(model))
			cycle.DelTimer(model[i].ev)
			model = slices.Delete(model, i, i+1)
		}
		elapsed += core.MsecInt(rnd.IntN(20))
		cycle.Time.CurrentMsec = now + core.Msec(elapsed)

		fired = fired[:0]
		cycle.ExpireTimers()
		var want []core.MsecInt
		model = slices.DeleteFunc(model, func(e entry) bool {
			if e.left <= elapsed {
				want = append(want, e.left)
			}
			return e.left <= elapsed
		})
		slices.Sort(want)
		if !slices.Equal(fired, want) {
			t.Fatalf("at %d fired %v, want %v", elapsed, fired, want)
		}
		next := TimerInfinite
		for _, e := range model {
			next = min(next, core.Msec(e.left-elapsed))
		}
		if got := cycle.FindTimer(); got != next {
			t.Fatalf("at %d FindTimer says %d, want %d", elapsed, got, next)
		}
	}
	if elapsed < 20_000 {
		t.Errorf("the clock did not reach its wrap, at %d", elapsed)
	}
}

func TestTimerLogIsNginxs(t *testing.T) {
	lines := &errorLog{}
	cycle := NewCycle(nil, nil, &core.Times{CurrentMsec: 1000})
	cycle.Log = &core.Log{Level: core.LogDebugEvent, File: core.NewOpenFile("", lines, cycle.Time, 1)}
	cycle.TimerInit()
	ev := &Event{Log: cycle.Log, Data: &Connection{Fd: 7}, Handler: func(*Event) {}}
	cycle.AddTimer(ev, 60_000)
	cycle.AddTimer(ev, 60_100)
	cycle.AddTimer(ev, 500)
	cycle.Time.CurrentMsec = 1500
	cycle.ExpireTimers()
	want := []string{
		"[debug] event timer add: 7: 60000:61000",
		"[debug] event timer: 7, old: 61000, new: 61100",
		"[debug] event timer del: 7: 61000",
		"[debug] event timer add: 7: 500:1500",
		"[debug] event timer del: 7: 1500",
	}
	if diff := cmp.Diff(want, lines.lines); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
