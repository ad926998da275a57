package fake

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"herd/nginxref/sys"
)

const (
	// bootNsec is what the monotonic clock shows first: not 0, which code
	// takes for "not set".
	bootNsec = uint64(time.Second)
	// bootUnix is the wall clock at that moment: 2026-01-01 00:00:00 UTC.
	bootUnix = 1767225600

	// untilLimit is how far Until lets the clock run.
	untilLimit = 10 * time.Minute
)

// World is one machine: its clock, its processes and what they share. All of
// it is deterministic: the same scenario under the same policy makes the same
// steps.
//
// One goroutine at a time has the processor: the scenario's, or that of the
// process in running. It alone touches the World, and hands the processor on
// over a channel; so there are no locks.
type World struct {
	// Hash spreads the connections to a reuseport group over its sockets, as
	// Linux does by the four-tuple: n is the number of the connection. Nil
	// spreads them in turn.
	Hash func(n int) uint32
	// MigrateReq is the sysctl net.ipv4.tcp_migrate_req: connections queued on
	// a reuseport socket that is closed go to another one of its group.
	MigrateReq bool

	opts      Options
	now       uint64 // CLOCK_MONOTONIC, nanoseconds
	processes []*Process
	ready     []*Process // wait for the processor, the longest first
	running   atomic.Pointer[Process]
	baton     chan struct{} // gives the processor to the scenario
	timers    []timer       // in the order they go off
	timerSeq  int

	decisions  []decision
	candidates []*Process // of the decision being made
	calls      int        // kernel calls since the clock last moved
	alive      atomic.Int64

	sharedEpoll bool // some processes share an epoll instance

	listeners   int
	clients     int
	descriptors int
	words       map[any]string
	futexes     map[*sys.Futex]*waitQueue

	rules   []rule
	failure *Failure
	tracing bool
	stepsMu sync.Mutex // one that is stuck may write still
	steps   []Step
	woken   []string // processes that the current step has woken
}

func newWorld(o Options) *World {
	return &World{
		opts:    o.withDefaults(),
		now:     bootNsec,
		baton:   make(chan struct{}, 1),
		words:   map[any]string{},
		futexes: map[*sys.Futex]*waitQueue{},
	}
}

// Now returns the time since the world began. It stands still while a process
// can run.
func (w *World) Now() time.Duration { return time.Duration(w.now - bootNsec) }

// Processes returns all processes that ever were, in the order they started.
func (w *World) Processes() []*Process { return w.processes }

// Progress returns how many kernel calls were begun so far. Any goroutine may
// ask, at any time: one that watches whether the scenario gets on.
func (w *World) Progress() int64 { return w.alive.Load() }

// Total returns the counts of all processes together.
func (w *World) Total() Counts {
	var all Counts
	for _, p := range w.processes {
		all = all.Add(p.Counts)
	}
	return all
}

// Settle lets the processes run until all of them sleep. The clock stands
// still.
func (w *World) Settle() {
	w.scenarioOnly("Settle")
	if q := w.next(nil, false); q != nil {
		w.hand(q)
		w.await()
	}
}

// Advance lets d pass: what is due on the way happens at its time, and the
// processes that it wakes run until all of them sleep again.
func (w *World) Advance(d time.Duration) {
	end := w.now + uint64(d)
	for w.Settle(); len(w.timers) > 0 && w.timers[0].at <= end; w.Settle() {
		w.fire()
	}
	w.now = end
}

// Until lets time pass until done reports true while all processes sleep. If
// that cannot happen any more, or not within 10 minutes, rule is broken.
func (w *World) Until(rule string, done func() bool) {
	end := w.now + uint64(untilLimit)
	for w.Settle(); !done(); w.Settle() {
		if len(w.timers) == 0 {
			w.Broken(rule, "it never happens: every process sleeps, and nothing is left that would wake one")
		}
		if w.timers[0].at > end {
			w.Broken(rule, "it does not happen within 10 minutes")
		}
		w.fire()
	}
}

// After has f called when d has passed and all processes sleep: something
// that a client does then, say.
func (w *World) After(d time.Duration, f func()) {
	w.addTimer(timer{at: w.now + uint64(d), f: f})
}

// timer is something due: a call of f, or the end of p's sleep.
type timer struct {
	at  uint64
	seq int // orders those of the same moment
	p   *Process
	f   func()
}

func (w *World) addTimer(t timer) {
	w.timerSeq++
	t.seq = w.timerSeq
	i, _ := slices.BinarySearchFunc(w.timers, t, func(a, b timer) int {
		if a.at != b.at {
			return int(int64(a.at - b.at))
		}
		return a.seq - b.seq
	})
	w.timers = slices.Insert(w.timers, i, t)
}

// cancelTimer takes back the end of p's sleep.
func (w *World) cancelTimer(p *Process) {
	w.timers = slices.DeleteFunc(w.timers, func(t timer) bool { return t.p == p })
}

// fire moves the clock to the first timer and lets everything happen that is
// due then.
func (w *World) fire() {
	w.now = max(w.now, w.timers[0].at)
	w.calls = 0
	for len(w.timers) > 0 && w.timers[0].at <= w.now {
		t := w.timers[0]
		w.timers = w.timers[1:]
		if t.p != nil {
			t.p.wake(timedOut)
		} else {
			t.f()
		}
	}
}

// hand gives the processor to q, or to the scenario if q is nil.
func (w *World) hand(q *Process) {
	w.running.Store(q)
	if q == nil {
		w.baton <- struct{}{}
		return
	}
	q.baton <- struct{}{}
}

// looks is how often the watchdog looks within Options.Patience. It counts
// looks, not time: a machine that stands still is not taken for a loop.
const looks = 20

// await waits for the processor to come back to the scenario, and ends the
// scenario if a rule was broken meanwhile. It watches for a process that keeps
// the processor without calling the kernel.
func (w *World) await() {
	watchdog := time.NewTicker(w.opts.Patience / looks)
	defer watchdog.Stop()
	seen, idle := w.alive.Load(), 0
	for {
		select {
		case <-w.baton:
			if w.failure != nil {
				panic(broken{})
			}
			return
		case <-watchdog.C:
		}
		if now := w.alive.Load(); now != seen {
			seen, idle = now, 0
		} else if idle++; idle == looks {
			w.stuck()
		}
	}
}

// callsNowAndThen is the rule of who has the processor.
const callsNowAndThen = "a process calls the kernel now and then"

// stuck fails the scenario because of the process that runs and runs. Its
// goroutine cannot be ended, and may keep a thread busy for good: the others
// get one more.
func (w *World) stuck() {
	p := w.running.Load()
	if p == nil { // it just came back
		return
	}
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	p.doomed.Store(true) // should it call the kernel after all, it ends there
	p.stuck = true
	w.failure = &Failure{
		Rule: callsNowAndThen,
		Detail: fmt.Sprintf("%s has not for %v: an endless loop, or a wait for something that is not the kernel's?",
			p.Name, w.opts.Patience),
		Step: len(w.Trace()),
	}
	if g := p.goroutine.Load(); g != nil {
		w.failure.Stack = g.Stack()
	}
	panic(broken{})
}

// close ends the goroutines of all processes. Deferred functions of their
// code run now; kernel calls in them do nothing.
func (w *World) close() {
	for _, p := range w.processes {
		if p.gone == nil || p.stuck {
			continue
		}
		p.doomed.Store(true)
		select {
		case p.baton <- struct{}{}:
		default: // it was on its way already
		}
		select {
		case <-p.gone:
		case <-time.After(w.opts.Patience): // a deferred function loops
		}
	}
}

// scenarioOnly panics if the caller is the code of a process.
func (w *World) scenarioOnly(name string) {
	if p := w.running.Load(); p != nil {
		panic("fake: " + name + " is for the scenario, not for the code of " + p.Name)
	}
}
