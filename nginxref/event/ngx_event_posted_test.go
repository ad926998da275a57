package event

import (
	"slices"
	"testing"

	"herd/nginxref/core"
)

// posted is a cycle that has its queues and nothing else.
func posted() *Cycle {
	cycle := NewCycle(nil, &core.Log{}, &core.Times{})
	cycle.PostedAcceptEvents.Init()
	cycle.PostedNextEvents.Init()
	cycle.PostedEvents.Init()
	return cycle
}

// CASES E05: served in the order they came.
func TestE05PostedEventsRunFirstInFirstOut(t *testing.T) {
	cycle := posted()
	var got, want []int
	for i := 1; i <= 100; i++ {
		want = append(want, i)
		PostEvent(&Event{Log: cycle.Log, Handler: func(*Event) { got = append(got, i) }}, &cycle.PostedEvents)
	}
	cycle.ProcessPosted(&cycle.PostedEvents)
	if !slices.Equal(got, want) {
		t.Errorf("order %v", got)
	}
	if !cycle.PostedEvents.Empty() {
		t.Error("the queue is not empty afterwards")
	}
}

func TestE05EventPostedTwiceIsQueuedOnceAtItsFirstPlace(t *testing.T) {
	cycle := posted()
	var got []string
	event := func(name string) *Event {
		return &Event{Log: cycle.Log, Handler: func(*Event) { got = append(got, name) }}
	}
	a, b := event("a"), event("b")
	PostEvent(a, &cycle.PostedEvents)
	PostEvent(b, &cycle.PostedEvents)
	PostEvent(a, &cycle.PostedEvents)
	PostEvent(a, &cycle.PostedAcceptEvents) // nor does it move to another queue
	if !cycle.PostedAcceptEvents.Empty() {
		t.Error("it is in a second queue")
	}
	cycle.ProcessPosted(&cycle.PostedEvents)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("ran %v, want a, b", got)
	}
}

// The event is off its queue when its handler runs, so that the handler can
// post it again; that run is in the same turn.
func TestHandlerMayPostItsOwnAndOtherEvents(t *testing.T) {
	cycle := posted()
	var got []string
	last := &Event{Log: cycle.Log, Handler: func(*Event) { got = append(got, "last") }}
	runs := 0
	ev := &Event{Log: cycle.Log}
	ev.Handler = func(*Event) {
		got = append(got, "ev")
		if ev.Posted {
			t.Error("it is still posted while its handler runs")
		}
		if runs++; runs == 1 {
			PostEvent(last, &cycle.PostedEvents)
			PostEvent(ev, &cycle.PostedEvents)
		}
	}
	PostEvent(ev, &cycle.PostedEvents)
	cycle.ProcessPosted(&cycle.PostedEvents)
	if !slices.Equal(got, []string{"ev", "last", "ev"}) {
		t.Errorf("ran %v", got)
	}
}

func TestHandlerMayDeleteAnotherPostedEvent(t *testing.T) {
	cycle := posted()
	b := &Event{Log: cycle.Log, Handler: func(*Event) { t.Error("a deleted event ran") }}
	a := &Event{Log: cycle.Log, Handler: func(*Event) { DeletePostedEvent(b) }}
	PostEvent(a, &cycle.PostedEvents)
	PostEvent(b, &cycle.PostedEvents)
	cycle.ProcessPosted(&cycle.PostedEvents)
	if b.Posted || !cycle.PostedEvents.Empty() {
		t.Error("it is still posted")
	}
}

// Put off to the next turn: behind what is posted already, ready and with an
// unknown amount to read.
func TestMovePostedNextAppendsAndMarksReady(t *testing.T) {
	cycle := posted()
	var got []string
	event := func(name string) *Event {
		return &Event{Log: cycle.Log, Handler: func(*Event) { got = append(got, name) }}
	}
	now, n1, n2 := event("now"), event("next 1"), event("next 2")
	PostEvent(n1, &cycle.PostedNextEvents)
	PostEvent(n2, &cycle.PostedNextEvents)
	PostEvent(now, &cycle.PostedEvents)
	cycle.MovePostedNext()
	if !cycle.PostedNextEvents.Empty() {
		t.Error("the queue of the next turn is not empty")
	}
	for _, ev := range []*Event{n1, n2} {
		if !ev.Ready || ev.Available != -1 || !ev.Posted {
			t.Errorf("ready %v, available %d, posted %v", ev.Ready, ev.Available, ev.Posted)
		}
	}
	if now.Ready {
		t.Error("an event of this turn was marked ready")
	}
	cycle.ProcessPosted(&cycle.PostedEvents)
	if !slices.Equal(got, []string{"now", "next 1", "next 2"}) {
		t.Errorf("ran %v", got)
	}
	PostEvent(n1, &cycle.PostedNextEvents) // the queue is usable again
	if cycle.PostedNextEvents.Empty() {
		t.Error("the queue took no event after the move")
	}
}
