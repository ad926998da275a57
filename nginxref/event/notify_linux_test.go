package event

import (
	"math"
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
