package event

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
)

// herd is four workers, each looping on a thread of its own, on one listener.
//
//	t0    t1    t2    t3
//	 |     |     |     |
//	e0    e1    e2    e3     registered in this order
//	  \    \   /    /
//	        s0
type herd struct {
	t    testing.TB
	ws   []*worker
	ls   *Listening
	tids []int
	stop atomic.Bool
	wg   sync.WaitGroup
}

func newHerd(t testing.TB, configure func(*worker)) *herd {
	t.Helper()
	h := &herd{t: t, ws: workers(t, 4)}
	tids := make(chan int)
	for i, w := range h.ws {
		w.Log.Level = core.LogErr
		configure(w)
		if i == 0 {
			h.ls = w.listen()
		} else {
			w.inherit(h.ls)
		}
		w.Listening[0].Handler = w.CloseConnection
		w.start()
		h.wg.Go(func() {
			runtime.LockOSThread() // the thread ends with its goroutine
			tids <- unix.Gettid()
			for !h.stop.Load() {
				w.ProcessEventsAndTimers()
			}
		})
		h.tids = append(h.tids, <-tids)
	}
	h.untilAsleep()
	return h
}

// untilAsleep waits until every worker sleeps in its wait.
func (h *herd) untilAsleep() {
	h.t.Helper()
	for i, w := range h.ws {
		for end := time.Now().Add(patience * time.Millisecond); ; time.Sleep(50 * time.Microsecond) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", h.tids[i]))
			_, state, _ := strings.Cut(string(stat), ") ")
			if atomic.LoadUint64(&w.Counters.Wait.Inside) == 1 && strings.HasPrefix(state, "S") {
				break
			}
			if time.Now().After(end) {
				h.t.Fatalf("worker %d does not fall asleep", i)
			}
		}
	}
}

// serve makes n connections, each when all workers are asleep again.
func (h *herd) serve(n int) {
	h.t.Helper()
	for range n {
		accepted := h.ws[0].Zone.Accepted.Word.Load()
		c := client(h.t, h.ls)
		for end := time.Now().Add(patience * time.Millisecond); h.ws[0].Zone.Accepted.Word.Load() == accepted; time.Sleep(50 * time.Microsecond) {
			if time.Now().After(end) {
				h.t.Fatal("nobody accepts")
			}
		}
		h.untilAsleep()
		unix.Close(c)
	}
}

// end stops the workers, which wakes each once.
func (h *herd) end() {
	h.stop.Store(true)
	var noop Handler = func(*Event) {}
	for _, w := range h.ws {
		w.Notify(&noop)
	}
	h.wg.Wait()
}

// What each way to share a listener costs: FACTS and CASES A01 to A03, G03.
func TestHerdOfFourWorkers(t *testing.T) {
	noReorder := func(*Cycle, *Listening) {}
	for _, c := range []struct {
		name      string
		configure func(*worker)
		conns     int
		wakeups   int   // a connection
		shares    []int // connections of each worker; nil: anyhow
	}{
		{"shared, level-triggered", func(w *worker) { w.Event.ExclusiveAccept = false }, 50, 4, nil},
		{"exclusive without re-add", func(w *worker) { w.Actions.ReorderAcceptEvents = noReorder }, 200, 1, []int{200, 0, 0, 0}},
		// One each, then blocks of 16 in turn.
		{"exclusive, 25 connections", func(w *worker) {}, 25, 1, []int{17, 6, 1, 1}},
		{"exclusive, 200 connections", func(w *worker) {}, 200, 1, []int{53, 49, 49, 49}},
		{"exclusive with multi_accept", func(w *worker) { w.Event.MultiAccept = true }, 40, 1, []int{40, 0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHerd(t, c.configure)
			h.serve(c.conns)
			h.end()

			var shares []int
			var wakeups, again, accepted uint64
			for _, w := range h.ws {
				n := w.Counters
				shares = append(shares, int(n.Accepted))
				wakeups += n.Wakeups
				again += n.AcceptAgain
				accepted += n.Accepted
			}
			if c.shares != nil && !slices.Equal(shares, c.shares) {
				t.Errorf("shares %v, want %v", shares, c.shares)
			}
			if accepted != uint64(c.conns) {
				t.Errorf("%d accepted, want %d", accepted, c.conns)
			}
			// Each worker was woken to end. The runtime's preemption signals,
			// which a real worker has switched off, may add 2 %.
			got, want := int(wakeups)-len(h.ws), c.wakeups*c.conns
			if got < want || got > want+max(2, want/50) {
				t.Errorf("%d wakeups for %d connections, want %d", got, c.conns, want)
			}
			if want := 0; c.wakeups == 1 {
				if h.ws[0].Event.MultiAccept {
					want = c.conns
				}
				if int(again) != want {
					t.Errorf("%d EAGAIN, want %d", again, want)
				}
			}
		})
	}
}
