package fake

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"

	"herd/nginxref/sys"
)

// Policy picks who runs next, at each point where more than one process can.
type Policy interface {
	// pick returns a number below n, or -1 if it was told to do what is not
	// possible. If staying is set, 0 lets the process go on that runs now;
	// else it is the one that has waited longest.
	pick(n int, staying bool) int
}

// RunToBlock lets a process run until it sleeps, yields or has used up its
// slice, and then the one that has waited longest.
func RunToBlock() Policy { return departures(nil) }

// RoundRobin switches to another process at every call.
func RoundRobin() Policy { return roundRobin{} }

// Random picks by chance, the same for the same seed.
func Random(seed uint64) Policy { return random{rand.New(rand.NewPCG(seed, 0))} }

// Replay repeats a schedule that a Failure has printed: "12:1 47:2" takes the
// process in place 1 at decision 12, that in place 2 at decision 47, and else
// does as RunToBlock.
func Replay(schedule string) Policy {
	var list []departure
	for _, field := range strings.Fields(schedule) {
		at, choice, _ := strings.Cut(field, ":")
		a, err1 := strconv.Atoi(at)
		c, err2 := strconv.Atoi(choice)
		if err1 != nil || err2 != nil {
			panic(fmt.Sprintf("fake: %q in schedule %q is not decision:choice", field, schedule))
		}
		list = append(list, departure{at: a, choice: c})
	}
	return departures(list)
}

type roundRobin struct{}

func (roundRobin) pick(n int, staying bool) int {
	if staying {
		return 1
	}
	return 0
}

type random struct{ *rand.Rand }

func (r random) pick(n int, staying bool) int { return r.IntN(n) }

// departure is a decision that is not the default, which is 0.
type departure struct {
	at     int // number of the decision, from 0
	choice int
	of     int // choices there were; 0 if not known
}

// departures picks the default but for these, which are in order.
func departures(list []departure) Policy { return &departing{rest: list} }

type departing struct {
	rest []departure
	made int
}

func (d *departing) pick(n int, staying bool) int {
	d.made++
	if len(d.rest) == 0 || d.rest[0].at != d.made-1 {
		return 0
	}
	dep := d.rest[0]
	d.rest = d.rest[1:]
	if dep.choice >= n || dep.of != 0 && dep.of != n {
		return -1
	}
	return dep.choice
}

// decision is a choice that was made.
type decision struct {
	n, choice int
	free      bool // Choose: every value is explored
}

func (w *World) decide(n int, staying, free bool) int {
	choice := w.opts.Policy.pick(n, staying)
	if choice < 0 {
		w.Broken("the scenario and the code it runs are deterministic", fmt.Sprintf(
			"decision %d is among %d now, and was not before", len(w.decisions), n))
	}
	w.decisions = append(w.decisions, decision{n, choice, free})
	return choice
}

// Choose returns a number below n. Explore tries them all; RunToBlock takes 0.
func (w *World) Choose(n int) int {
	if n < 2 {
		return 0
	}
	return w.decide(n, false, true)
}

// schedule returns the decisions made so far in Replay's form.
func (w *World) schedule() string {
	var b strings.Builder
	for at, d := range w.decisions {
		if d.choice != 0 {
			fmt.Fprintf(&b, " %d:%d", at, d.choice)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// next picks who runs next among those that wait for the processor and cur,
// which has it and can go on, unless nil; with yield it comes last. It returns
// nil if nobody can run.
func (w *World) next(cur *Process, yield bool) *Process {
	c := w.candidates[:0]
	staying := cur != nil && !cur.stopped
	if staying && !yield {
		c = append(c, cur)
	}
	c = append(c, w.ready...)
	if staying && yield {
		c = append(c, cur)
	}
	w.candidates = c
	if len(c) == 0 {
		return nil
	}
	q := c[0]
	if len(c) > 1 {
		q = c[w.decide(len(c), staying && !yield, false)]
	}
	if q != cur {
		w.unready(q)
		q.used = 0
	}
	q.state = running
	return q
}

// ComeToRest is the rule that processes break of which one can always run.
const ComeToRest = "the processes come to rest"

// point is where another process may get the processor, before a call of p
// takes effect.
func (p *Process) point(c Call, local bool) {
	w := p.w
	if w.calls++; w.calls > w.opts.Steps {
		w.Broken(ComeToRest, fmt.Sprintf("%d kernel calls, and one can still run: "+
			"a loop that never sleeps?", w.opts.Steps))
	}
	if local {
		return
	}
	p.used++
	if p.fresh { // it has just got the processor, and done nothing with it
		p.fresh = false
		return
	}
	yield := c == SchedYield || c == CPUPause || p.used > w.opts.Slice
	q := w.next(p, yield)
	if q != p {
		p.makeReady()
		w.hand(q)
		p.await()
	}
	if yield || q != p {
		p.used = 1
	}
}

// await waits for the processor.
func (p *Process) await() {
	<-p.baton
	if p.doomed.Load() {
		runtime.Goexit()
	}
}

// never is the deadline of a sleep without one.
const never = ^uint64(0)

// sleep gives the processor away until something wakes p, or until deadline.
func (p *Process) sleep(deadline uint64) reason {
	w := p.w
	if w.running.Load() != p {
		panic("fake: " + p.Name + " would sleep here: have it make the call in Do")
	}
	p.state = asleep
	p.Counts.Sleeps++
	if deadline != never {
		w.addTimer(timer{at: deadline, p: p})
	}
	w.check()
	w.hand(w.next(nil, false))
	p.await()
	p.Counts.Wakeups++
	return p.why
}

// sleepOn is sleep in a queue, exclusive waiters last.
func (p *Process) sleepOn(q *waitQueue, me *waiter) reason {
	q.add(p.waiting(q, me))
	return p.sleep(never)
}

// waiting makes me p's place in q: whoever wakes it wakes p.
func (p *Process) waiting(q *waitQueue, me *waiter) *waiter {
	me.f = func(uint32) bool {
		p.wake(happened)
		return true
	}
	p.queue, p.waiter = q, me
	return me
}

// wake ends p's sleep.
func (p *Process) wake(why reason) {
	if p.state != asleep {
		return
	}
	p.why = why
	p.w.cancelTimer(p)
	if p.queue != nil {
		p.queue.remove(p.waiter)
		p.queue = nil
	}
	p.makeReady()
	if p.w.tracing && why == happened {
		p.w.woken = append(p.w.woken, p.Name)
	}
}

// begin starts a kernel call. It returns the errno that the scenario has put
// in the call's place, or 0. A local call is one that no other process could
// notice: it is no point to switch at.
func (p *Process) begin(c Call, local bool) sys.Errno {
	if p.doomed.Load() {
		runtime.Goexit()
	}
	w := p.w
	w.alive.Add(1)
	switch q := w.running.Load(); {
	case q == p:
		p.point(c, local)
	case q != nil:
		panic("fake: the code of " + q.Name + " calls the kernel as " + p.Name)
	case p.state == dead:
		panic("fake: " + p.Name + " is dead and makes no calls")
	}
	p.Counts.Calls++
	p.notes = 0
	return p.fault(c)
}

// end ends a kernel call that has taken effect. The line for the trace is only
// made if there is a trace.
func (p *Process) end(line func() string) {
	p.note(line)
	p.w.check()
}
