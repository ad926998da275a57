package lab04

import (
	"fmt"
	"slices"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

type checks struct{ f Functions }

// bench is where the queues are tried on their own: a cycle that has nothing
// else, and what ran on it.
type bench struct {
	*event.Cycle
	f   *Functions
	t   *lab.T
	ran []string
}

func (c *checks) bench(t *lab.T) *bench {
	b := &bench{f: &c.f, t: t, Cycle: event.NewCycle(nil, &core.Log{}, &core.Times{})}
	b.PostedAcceptEvents.Init()
	b.PostedNextEvents.Init()
	b.PostedEvents.Init()
	return b
}

// mostRuns is more than any check expects: who comes to it goes round and
// round.
const mostRuns = 1000

// event returns an event that notes its name when it runs, and then does do.
func (b *bench) event(name string, do func()) *event.Event {
	return &event.Event{Log: b.Log, Handler: func(*event.Event) {
		b.ran = append(b.ran, name)
		b.t.Step("%s runs", name)
		b.t.Expect(len(b.ran) < mostRuns, "ProcessPosted comes to an end")
		if do != nil {
			do()
		}
	}}
}

func (b *bench) post(name string, ev *event.Event) {
	b.t.Step("%s is posted", name)
	b.f.PostEvent(ev, &b.PostedEvents)
	b.t.Expect(ev.Posted, "an event in a queue is Posted")
}

// process handles all that is posted and compares what ran with want.
func (b *bench) process(want ...string) {
	b.t.Step("ProcessPosted is called")
	b.f.ProcessPosted(b.Cycle, &b.PostedEvents)
	b.t.Step("ProcessPosted has returned")
	b.t.Expect(slices.Equal(b.ran, want), "it ran %v, and should have run %v", b.ran, want)
	b.t.Expect(b.PostedEvents.Empty(), "the queue is empty afterwards")
}

// firstInFirstOut is CASES E05.
func (c *checks) firstInFirstOut(t *lab.T) {
	b := c.bench(t)
	var want []string
	for i := 1; i <= 100; i++ {
		name := fmt.Sprint("event ", i)
		want = append(want, name)
		b.post(name, b.event(name, nil))
	}
	b.process(want...)
}

func (c *checks) postedTwice(t *lab.T) {
	b := c.bench(t)
	x, y := b.event("x", nil), b.event("y", nil)
	b.post("x", x)
	b.post("y", y)
	b.post("x, again,", x)
	t.Step("x is posted to the other queue")
	b.f.PostEvent(x, &b.PostedAcceptEvents)
	t.Expect(b.PostedAcceptEvents.Empty(), "an event is in one queue at most")
	b.process("x", "y")
	t.Expect(!x.Posted && !y.Posted, "an event in no queue is not Posted")
}

func (c *checks) handlerPosts(t *lab.T) {
	b := c.bench(t)
	last := b.event("last", nil)
	runs := 0
	var x *event.Event
	x = b.event("x", func() {
		t.Expect(!x.Posted, "an event is off its queue when its handler runs")
		if runs++; runs == 1 {
			b.post("last", last)
			b.post("x", x)
		}
	})
	b.post("x", x)
	b.process("x", "last", "x")
}
