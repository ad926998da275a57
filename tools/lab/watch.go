package lab

import (
	"runtime"
	"sync/atomic"
	"time"

	"herd/nginxref/sys/fake"
)

// patience is how long a lab's code may run without a kernel call. What is
// right takes microseconds. The tests shorten it.
var patience = 3 * time.Second

// looks is how often patience is counted down: a machine that stands still is
// not taken for a loop.
const looks = 20

// watch sees whether a check gets on: by its steps, and by the kernel calls of
// the scenario that it runs.
type watch struct {
	passes atomic.Int64
	world  atomic.Pointer[fake.World]
	player atomic.Pointer[fake.Goroutine] // that runs the check
	left   atomic.Bool                    // nobody waits for the check any more
}

// pass notes that the check gets on. In a goroutine that was left behind it
// does not return.
func (w *watch) pass() {
	if w.left.Load() {
		runtime.Goexit()
	}
	w.passes.Add(1)
}

// begin notes that the check runs in the calling goroutine.
func (w *watch) begin() {
	g := fake.CurrentGoroutine()
	w.player.Store(&g)
}

// stack returns the stack of the check.
func (w *watch) stack() string { return w.player.Load().Stack() }

// scenario returns s, watched.
func (w *watch) scenario(s func(*fake.World)) func(*fake.World) {
	return func(world *fake.World) {
		w.pass()
		w.world.Store(world)
		s(world)
	}
}

// until waits until the check is done, and reports false if it does not get on.
func (w *watch) until(done <-chan struct{}) bool {
	tick := time.NewTicker(patience / looks)
	defer tick.Stop()
	seen, limit := [2]int64{}, looks
	for idle := 0; idle < limit; idle++ {
		select {
		case <-done:
			return true
		case <-tick.C:
		}
		now := [2]int64{w.passes.Load()}
		if world := w.world.Load(); world != nil {
			now[1] = world.Progress()
			limit = 2 * looks // the kernel has a watch of its own on the processes, and knows more
		}
		if now != seen {
			seen, idle = now, 0
		}
	}
	w.left.Store(true)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) // it may keep one busy for good
	return false
}
