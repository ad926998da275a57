package lab04

import (
	"fmt"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
)

type checks struct{ f Functions }

// bench is where the queues are tried on their own: a cycle that has nothing
// else, and what is still to run on it, in this order.
type bench struct {
	*event.Cycle
	f    *Functions
	t    *lab.T
	want []string
}

func (c *checks) bench(t *lab.T) *bench {
	b := &bench{f: &c.f, t: t, Cycle: event.NewCycle(nil, &core.Log{}, &core.Times{})}
	b.PostedAcceptEvents.Init()
	b.PostedNextEvents.Init()
	b.PostedEvents.Init()
	return b
}

// event returns an event that notes its name when it runs, and then does do.
func (b *bench) event(name string, do func()) *event.Event {
	return &event.Event{Log: b.Log, Handler: func(*event.Event) {
		b.t.Step("%s runs", name)
		b.t.Expect(len(b.want) > 0, "nothing is left to run: ProcessPosted comes to an end")
		b.t.Expect(b.want[0] == name, "the next to run is %s", b.want[0])
		b.want = b.want[1:]
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

// process handles all that is posted, which must run in the order of want.
func (b *bench) process(want ...string) {
	b.t.Step("ProcessPosted is called")
	b.want = want
	b.f.ProcessPosted(b.Cycle, &b.PostedEvents)
	b.t.Step("ProcessPosted has returned")
	if n := len(b.want); n > 0 {
		b.t.Wrong("%d that were posted have not run; the next was to be %s", n, b.want[0])
	}
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
