package event

import (
	"math"
	"strings"
	"sync"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// CASES E15. The handler is stored before the eventfd is written. One
// goroutine at a time hands over a handler of its own and waits for it to
// run: not one may be lost, and the race detector must have nothing to say.
//
//	t0          t1 (writes)
//	 |           |
//	e0           |
//	 | (et)      |
//	n0 ----------+   eventfd
func TestE15NotifyFromAnotherGoroutine(t *testing.T) {
	const times = 2000

	w := newWorker(t)
	w.Log.Level = core.LogErr
	w.start()
	ran := 0
	done := make(chan int)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range times {
			var h Handler = func(*Event) { ran++; done <- i }
			if w.Notify(&h) != core.OK {
				t.Error("Notify failed")
			}
			if got := <-done; got != i {
				t.Errorf("handler %d ran, want %d", got, i)
			}
		}
	})
	w.turnsUntil(func() bool { return ran == times })
	wg.Wait()
}

// Many goroutines at once: the last handler stored is the one that runs, so
// each writes the same, and the loop must hear at least once after the last.
func TestE15NotifyFromManyGoroutinesAtOnce(t *testing.T) {
	w := newWorker(t)
	w.Log.Level = core.LogErr
	w.start()
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		written int
		seen    int
	)
	var h Handler = func(*Event) {
		mu.Lock()
		seen = written
		mu.Unlock()
	}
	for range 8 {
		wg.Go(func() {
			for range 500 {
				mu.Lock()
				written++
				mu.Unlock()
				w.Notify(&h)
			}
		})
	}
	w.turnsUntil(func() bool { return seen == 8*500 })
	wg.Wait()
}

// The eventfd is read only when its counter might overflow.
func TestNotifyReadsTheCounterBeforeItOverflows(t *testing.T) {
	w := newWorker(t)
	w.start()
	ran := 0
	var h Handler = func(*Event) { ran++ }
	count := func() uint64 {
		var buf [8]byte
		if _, err := w.kernel.Read(w.epoll.notifyFd, buf[:]); err == sys.EAGAIN {
			return 0
		}
		return 1 // it was not read before
	}
	w.mustBe(core.OK, w.Notify(&h))
	w.turnsUntil(func() bool { return ran == 1 })
	if count() == 0 {
		t.Error("the counter was read at the first event")
	}
	w.epoll.notifyEvent.notifications = math.MaxUint32 - 1
	w.mustBe(core.OK, w.Notify(&h))
	w.turnsUntil(func() bool { return ran == 2 })
	if count() != 0 || w.epoll.notifyEvent.notifications != 0 {
		t.Errorf("the counter was not read at event 2^32-1, %d noted", w.epoll.notifyEvent.notifications)
	}
	if w.logged("[alert]") != 0 {
		t.Errorf("log %q", w.lines)
	}
}

// A notification is what a signal is to nginx: its handler has run when the
// wait is over, which was interrupted unless it has events too.
//
//	t0
//	 |
//	e0
//	 | (et)
//	n0, and s0 in the second case
func TestNotificationInterruptsTheWait(t *testing.T) {
	for _, test := range []struct {
		name   string
		input  bool // on another descriptor
		alarm  bool // it is the timer signal
		status core.Status
		ran    string
	}{
		{"alone", false, false, core.Error, "notification"},
		{"alone, the timer signal", false, true, core.OK, "notification"},
		{"with input", true, false, core.OK, "notification input"},
		{"with input, the timer signal", true, true, core.OK, "notification input"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorker(t)
			w.start()
			w.Log.Level = core.LogInfo
			w.lines = nil
			ran := []string{}
			c, peer := w.pair()
			c.Read.Handler = func(*Event) { ran = append(ran, "input") }
			w.mustBe(core.OK, w.AddEvent(c.Read, ReadEvent, ClearEvent))
			var h Handler = func(*Event) {
				ran = append(ran, "notification")
				if test.alarm {
					w.TimerSignal()
				}
			}
			if test.input {
				send(t, peer, "x")
			}
			w.mustBe(core.OK, w.Notify(&h))

			w.mustBe(test.status, w.ProcessEvents(TimerInfinite, 0))

			if got := strings.Join(ran, " "); got != test.ran {
				t.Errorf("%q ran, want %q", got, test.ran)
			}
			if logged := w.logged("[info] epoll_wait() failed (4: ") == 1; logged != (test.status == core.Error) {
				t.Errorf("the interruption is logged: %v; log %q", logged, w.lines)
			}
			// As nginx: only an interrupted wait has seen the alarm.
			if w.EventTimerAlarm != (test.alarm && test.input) {
				t.Errorf("the alarm is set: %v", w.EventTimerAlarm)
			}
		})
	}
}
